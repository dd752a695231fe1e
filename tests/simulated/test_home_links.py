"""Shapers, random capacity, jitter, reordering and duplicates from the scenario file to the rates; buffers by rule."""

import math
import statistics
from itertools import pairwise

import mptcplab
import pytest
from mptcplab.scenario import Scenario, ScenarioError

TEXT = """
duration = "20 s"
[link.l]
rate = "40 Mbit/s"
delay = "10 ms"
{link}
[connection.c]
paths = ["l"]
protocol = "tcp"
congestion = "cubic"
{connection}
[measure]
warmup = "5 s"
sample = "never"
"""


def scenario(link: str = "", connection: str = "") -> Scenario:
    return Scenario.from_toml(TEXT.format(link=link, connection=connection))


def goodput_mbps(link: str, **keys: str) -> float:
    return float(mptcplab.run(scenario(link, **keys), engine="sim").connections["goodput_bps"][0]) / 1e6


def test_a_shaper_sets_the_rate() -> None:
    """10 Mbit/s of packets of 1500 bytes with 1448 of data; a policer gives Cubic less, but no more."""
    assert goodput_mbps('shaper = { rate = "10 Mbit/s" }') == pytest.approx(10 * 1448 / 1500, rel=0.02)
    policed = goodput_mbps('shaper = { rate = "10 Mbit/s", policing = true }')
    assert 4 < policed <= 10 * 1448 / 1500 + 32_000 * 8 / 15e6
    result = mptcplab.run(scenario('shaper = { rate = "10 Mbit/s" }'), engine="sim")
    down = result.links.filter(direction="down").row(0, named=True)
    assert down["drops"] > 0, "those of the shaper's queue are the link's"
    assert down["queue_max_packets"] >= 80, "100 ms at 10 Mbit/s are 83 packets"


def test_jitter_keeps_order_and_reordering_does_not() -> None:
    assert goodput_mbps('jitter = "5 ms"') > 0.9 * 40 * 1448 / 1500
    assert goodput_mbps('reorder = { probability = "1 %", by = "2 ms" }') > 20, "RACK waits for it"
    assert goodput_mbps('duplicate = "2 %"') > 0.9 * 40 * 1448 / 1500


def rates(link: str, seed: int = 1) -> list[tuple[float, float]]:
    events = scenario(link).description(seed=seed)["events"]
    return [(event["at_ns"] / 1e9, event["set"]["rate_bps"] / 1e6) for event in events if event["down"]]


def test_autocorrelated_capacity_has_its_mean_and_correlation() -> None:
    """A thousand seconds of steps of 0.1 s in twenty runs: mean 40 Mbit/s, deviation of the logarithm 0.3, correlation
    exp(-0.1/0.5) from step to step."""
    link = 'variation = { kind = "autocorrelated", time = "500 ms" }'
    runs = [[rate for _, rate in rates(link, seed)] for seed in range(50)]
    values = [rate for run in runs for rate in run]
    assert len(values) == 50 * 200
    assert statistics.mean(values) == pytest.approx(40, rel=0.03)
    logs = [[math.log(rate) for rate in run] for run in runs]
    assert statistics.pstdev([each for run in logs for each in run]) == pytest.approx(0.3, rel=0.05)
    pairs = [pair for run in logs for pair in pairwise(run)]
    found = statistics.correlation([one for one, _ in pairs], [other for _, other in pairs])
    assert found == pytest.approx(math.exp(-0.2), abs=0.02)
    assert rates(link) == rates(link)
    assert rates(link) != rates(link, seed=2)


def test_two_states_have_their_stays() -> None:
    link = 'variation = { kind = "two-state", low = "5 Mbit/s", high_for = "300 ms", low_for = "100 ms" }'
    stays: dict[float, list[float]] = {40.0: [], 5.0: []}
    for seed in range(30):
        at_s, rate = 0.0, 40.0
        for moment_s, new in rates(link, seed):
            assert new != rate
            stays[rate].append(moment_s - at_s)
            at_s, rate = moment_s, new
    assert statistics.mean(stays[40.0]) == pytest.approx(0.3, rel=0.1)
    assert statistics.mean(stays[5.0]) == pytest.approx(0.1, rel=0.1)
    # (0.3 * 40 + 0.1 * 5) / 0.4 = 31.25 Mbit/s of capacity at most.
    assert 10 < goodput_mbps(link + '\nqueue = "100 ms"') < 40


def test_buffers_by_rule() -> None:
    """40 Mbit/s and 20 ms: 100 kB, twice that by the default; half of 6 MiB by Linux."""

    def size(rule: str) -> int | None:
        document = scenario(connection=f"receive_buffer = {{ {rule} }}").document
        found = document.connections["c"].receive_buffer
        assert isinstance(found, int)
        return found

    assert size('rule = "paths"') == 200_000
    assert size('rule = "paths", factor = 1') == 100_000
    assert size('rule = "linux"') == 3_145_728
    two = scenario(connection='receive_buffer = { rule = "paths" }')
    assert Scenario.from_toml(two.to_toml()) == two
    with pytest.raises(ScenarioError, match=r"receive_buffer\.rule"):
        scenario(connection='receive_buffer = { rule = "rfc" }')


def test_what_is_written_is_read_again() -> None:
    text = """variation = { kind = "two-state", low = "1 Mbit/s", high_for = "1 s", low_for = "1 s" }
down.shaper = { rate = "5 Mbit/s", queue = { kind = "fq-codel" } }
jitter = "1 ms"
reorder = { probability = "1 %", by = "3 ms" }
up.duplicate = "1 %"
"""
    one = scenario(text)
    assert Scenario.from_toml(one.to_toml()) == one
    assert one.description()["links"][0]["down"]["shaper"]["queue"]["kind"] == "fq-codel"
    with pytest.raises(mptcplab.Error, match="shaper"):
        mptcplab.run(scenario('shaper = { rate = "5 Mbit/s" }'), engine="model")


CAKE = """
duration = "40 s"
[link.modem]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "500 ms"
shaper = {{ rate = "19 Mbit/s", burst = "3 kB", queue = {{ kind = "{queue}" }} }}
[connection.one]
paths = ["modem"]
protocol = "tcp"
congestion = "cubic"
[connection.other]
paths = ["modem"]
protocol = "tcp"
congestion = "cubic"
count = 8
[measure]
warmup = "10 s"
sample = "never"
"""


@pytest.mark.parametrize(("queue", "expected"), [("cake", 1 / 2), ("fq-codel", 1 / 9)])
def test_cake_gives_hosts_equal_shares(queue: str, expected: float) -> None:
    """One connection of one host against eight of another."""
    connections = mptcplab.run(Scenario.from_toml(CAKE.format(queue=queue)), engine="sim").connections
    one = connections.filter(name="one")["goodput_bps"].sum()
    assert one / connections["goodput_bps"].sum() == pytest.approx(expected, rel=0.06)


def test_with_one_flow_cake_is_fq_codel() -> None:
    """To the byte: nothing is left to divide."""
    head, _, rest = CAKE.partition("[connection.one]")
    text = head + rest[rest.index("[connection.other]") :].replace("count = 8", "")
    cake, fq_codel = (
        mptcplab.run(Scenario.from_toml(text.format(queue=queue)), engine="sim").connections["bytes_delivered"]
        for queue in ("cake", "fq-codel")
    )
    assert cake.to_list() == fq_codel.to_list()
