"""What short flows need: bursts, completion at the sender, timeouts with their times, fixed timeouts."""

from itertools import pairwise

import polars as pl
import pytest
from mptcplab import Scenario, UnsupportedError, run

ONE = """
duration = "30 s"
[link.a]
rate = "100 Mbit/s"
delay = "20 ms"
queue = "1000 packets"
[link.b]
rate = "100 Mbit/s"
delay = "80 ms"
queue = "1000 packets"
[connection.c]
paths = ["a", "b"]
direction = "up"
application = { kind = "file", size = "50 kB" }
[measure]
sample = "never"
"""

DEAD = (("100 ms", "true"), ("5 s", "false"))


def scenario(*changes: str) -> Scenario:
    return Scenario.from_toml(ONE, overrides=changes)


def test_the_sender_knows_half_a_round_trip_later() -> None:
    row = run(scenario(), "sim").connections.row(0, named=True)
    assert row["sender_completion_s"] - row["completion_s"] == pytest.approx(0.02, abs=0.001)
    never = run(scenario('duration="100 ms"'), "sim").connections
    assert never["sender_completion_s"][0] is None


def test_timeouts_have_their_times_and_double_unless_told_otherwise() -> None:
    dies, returns = (f'{{ at = "{at}", link = "a", set = {{ down = {down} }} }}' for at, down in DEAD)
    lost = [f"event=[{dies}, {returns}]"]
    single = ['connection.c.paths=["a"]', 'connection.c.protocol="tcp"', 'connection.c.application.size="1 MB"', *lost]
    doubling = run(scenario(*single), "sim").subflows.row(0, named=True)
    assert len(doubling["timeout_times_s"]) == doubling["timeouts"] > 2
    first, second, third = doubling["timeout_times_s"][:3]
    assert third - second == pytest.approx(2 * (second - first), rel=0.01)
    fixed = ['connection.c.tcp={ rto_min = "200 ms", rto_max = "200 ms", rto_backoff = false }']
    times = run(scenario(*single, *fixed), "sim").subflows["timeout_times_s"][0].to_list()
    assert len(times) > 10
    assert [b - a for a, b in pairwise(times)][:10] == pytest.approx([0.2] * 10)


def test_a_burst_of_flows_of_drawn_sizes() -> None:
    arrivals = '{ distribution = "at-once", count = 30 }'
    size = '{ distribution = "pareto", mean = "57 kB", shape = 1.5 }'
    burst = scenario(f'connection.c.application={{ kind = "flows", size = {size}, arrivals = {arrivals} }}')
    row = run(burst, "sim").connections.row(0, named=True)
    assert row["transfers_begun"] == row["transfers_complete"] == 30
    assert set(row["transfer_starts_s"]) == {0.0}
    assert min(row["transfer_sizes_bytes"]) >= 19_000
    assert len(set(row["transfer_sizes_bytes"])) == 30
    with pytest.raises(UnsupportedError, match="flows"):
        run(burst, "model")


@pytest.mark.parametrize(("at_once", "ready_s"), [("true", (0.04, 0.16)), ("false", (0.04, 0.4))])
def test_subflows_may_be_opened_at_once(at_once: str, ready_s: tuple[float, float]) -> None:
    """Outside RFC 8684: data after a round trip of each path; with joins, after two of the first and two of its own."""
    changes = (
        f'connection.c.path_manager={{ name = "fullmesh", at_once = {at_once} }}',
        'connection.c.application.size="20 MB"',
        'measure.sample="2 ms"',
    )
    samples = run(scenario(*changes), "sim").samples.filter(pl.col("in_flight_segments") > 0)
    first = {path: samples.filter(pl.col("path") == path)["time_s"].min() for path in ("a", "b")}
    assert (first["a"], first["b"]) == pytest.approx(ready_s, abs=0.003)
    with pytest.raises(UnsupportedError, match="at_once"):
        run(scenario(changes[0].replace("false", "true")), "linux")


CONSTANT = (
    'path_manager={ name = "fullmesh", at_once = true }',
    "tcp={ initial_window = 20, initial_ssthresh = 20 }",
    'application.size="1 MB"',
)
"""Windows that hardly grow while 1 MB is sent, subflows that are ready at once."""


def test_daps_brings_data_in_order() -> None:
    """20 and 100 ms, no loss: bytes hardly wait for earlier ones, where min-rtt makes them wait."""
    delays = ('link.a.delay="10 ms"', 'link.b.delay="50 ms"')
    late = {
        name: run(scenario(*delays, *(f"connection.c.{key}" for key in (*CONSTANT, f'scheduler="{name}"'))), "sim")
        for name in ("daps", "min-rtt")
    }
    mean_s = {name: result.connections["out_of_order_delay_mean_s"][0] for name, result in late.items()}
    assert mean_s["daps"] < 0.25 * mean_s["min-rtt"], mean_s  # LIA still adds a segment a round trip
    sent = late["daps"].subflows["segments_sent"].to_list()
    assert sent[1] >= 20, "it uses both: a window's worth at least on the slow path"


def test_dmptcp_leaves_the_slow_path_to_what_is_worth_it() -> None:
    """Without loss and with the second path ready: 2 MB use it, 300 kB do not."""
    share = {
        size: run(scenario('connection.c.scheduler="dmptcp"', f'connection.c.application.size="{size}"'), "sim")
        .subflows.filter(pl.col("path") == "b")["segments_sent"]
        .to_list()
        for size in ("300 kB", "20 MB")
    }
    assert sum(share["300 kB"]) == 0
    assert sum(share["20 MB"]) > 0
