"""The engine `model`: columns, what it adds up to, what it refuses, and that nothing is random."""

import json
from collections.abc import Sequence
from pathlib import Path

import mptcplab
import numpy as np
import polars as pl
import pytest
from mptcplab import Scenario, UnsupportedError
from mptcplab.engines import catalogue
from mptcplab.results.columns import FRAMES, polars_schema

from tests.networks import WIFI_AND_LTE

SCENARIOS = Path(__file__).parents[2] / "scenarios"

TWO_PATHS = (
    """
duration = "60 s"
"""
    + WIFI_AND_LTE
    + """
[connection.download]
paths = ["wifi", "lte"]

[connection.neighbour]
paths = ["wifi"]
protocol = "tcp"
count = 2

[measure]
warmup = "10 s"
"""
)


def calculated(changes: Sequence[str] = (), text: str = TWO_PATHS) -> mptcplab.Result:
    return mptcplab.run(Scenario.from_toml(text, overrides=changes), "model")


def refused(changes: Sequence[str], text: str = TWO_PATHS) -> str:
    with pytest.raises(UnsupportedError) as error:
        calculated(changes, text)
    assert error.value.engine == "model"
    return str(error.value)


def goodput(result: mptcplab.Result, name: str) -> float:
    return float(result.connections.filter(pl.col("name") == name)["goodput_bps"][0])


def test_the_columns_are_those_of_every_engine() -> None:
    result = calculated()
    for name in FRAMES:
        assert getattr(result, name).schema == polars_schema(name)
    assert result.connections.height == 3
    assert result.subflows.height == 4
    assert result.links.height == 4
    assert result.samples.height == 0


def test_theory_has_nothing_to_say_about_these() -> None:
    result = calculated()
    silent = {"bytes_delivered", "completion_s", "out_of_order_delay_mean_s", "fallback", "transfers_begun"}
    for column in silent:
        assert result.connections[column].null_count() == result.connections.height, column
    for column in ("segments_sent", "retransmissions", "timeouts", "reinjections"):
        assert result.subflows[column].null_count() == result.subflows.height
    for column in ("drops", "queue_max_packets"):
        assert result.links[column].null_count() == result.links.height
    for frame, columns in (
        (result.connections, ["goodput_bps"]),
        (result.subflows, ["goodput_bps", "share", "loss_rate", "rtt_mean_s", "cwnd_mean_segments"]),
        (result.links, ["utilization", "loss_rate"]),
    ):
        for column in columns:
            assert frame[column].null_count() == 0, column


def test_it_adds_up() -> None:
    """Subflows to connections, connections to the links' capacity less headers, shares to one."""
    result = calculated()
    per = result.subflows.group_by("connection", "index", maintain_order=True).agg(
        pl.col("goodput_bps").sum(), pl.col("share").sum()
    )
    assert per["goodput_bps"].to_list() == pytest.approx(result.connections["goodput_bps"].to_list())
    assert per["share"].to_list() == pytest.approx([1.0] * 3)
    rows = result.subflows.filter(pl.col("path") == "wifi")
    # Of a packet of 1500 bytes 1420 are data with Multipath TCP's options and timestamps, 1448 with timestamps.
    payload = np.where(rows["connection"] == "download", 1420, 1448)
    assert float((rows["goodput_bps"].to_numpy() * 1500 / payload).sum()) == pytest.approx(25e6, rel=1e-3)
    down = result.links.filter(pl.col("direction") == "down")
    assert down["utilization"].to_list() == pytest.approx([1.0, 1.0], abs=0.02)


def test_the_seed_plays_no_part(tmp_path: Path) -> None:
    one, two = calculated(["seed=1"]), calculated(["seed=99"])
    for name in ("connections", "subflows", "links"):
        assert getattr(one, name).drop("seed").equals(getattr(two, name).drop("seed"))
    assert one.to_json() == calculated(["seed=1"]).to_json()
    several = mptcplab.run(Scenario.from_toml(TWO_PATHS), "model", repeat=3, jobs=2)
    assert several.connections["goodput_bps"].n_unique() == 2
    assert "scipy" in one.provenance.packages


def test_notes_are_in_the_document() -> None:
    result = calculated(["connection.download.scheduler=round-robin"])
    assert json.loads(result.to_json())["notes"] == list(result.notes)
    assert any("round-robin" in note for note in result.notes)
    assert calculated(["connection.download.path_manager=default"]).notes == ()
    crowded = calculated(["connection.neighbour.count=40", "link.wifi.queue=20 ms"])
    assert any("below 4 segments" in note and "neighbour on wifi" in note for note in crowded.notes)
    slow = calculated(["duration=12 s", "link.lte.delay=200 ms", "link.lte.queue=20 ms"])
    assert any("download on lte" in note and "longer than the scenario" in note for note in slow.notes)


def test_a_result_is_saved_and_reported(tmp_path: Path) -> None:
    calculated().save(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").stat().st_size > 1000
    assert json.loads((tmp_path / "out" / "result.json").read_text())["engine"] == "model"


def test_random_loss_is_the_square_root_law() -> None:
    """p = 1 %, 100 ms: mean window 1.31/√p = 13.1; an ACK waits for one segment; 1448 bytes each, 1 % of them lost."""
    one = """
duration = "60 s"
[link.l]
rate = "100 Gbit/s"
delay = "50 ms"
loss = "1 %"
queue = "100 packets"
[connection.c]
paths = ["l"]
protocol = "tcp"
"""
    result = calculated(text=one)
    assert result.subflows["cwnd_mean_segments"][0] == pytest.approx(13.1, rel=1e-4)
    assert goodput(result, "c") == pytest.approx((13.1 - 1) / 0.1 * 1448 * 8 * 0.99, rel=1e-3)
    assert result.links["loss_rate"].to_list() == pytest.approx([0.01, 0.01])


def test_larger_segments_carry_less_overhead() -> None:
    plain, jumbo = (calculated([f"connection.neighbour.mss={mss} B"]) for mss in (1460, 8960))
    assert goodput(jumbo, "neighbour") > 1.1 * goodput(plain, "neighbour")
    total = jumbo.subflows.filter(pl.col("path") == "wifi")
    wire = np.where(total["connection"] == "download", 1500 / 1420, 9000 / 8948)
    assert float((total["goodput_bps"].to_numpy() * wire).sum()) == pytest.approx(25e6, rel=1e-3)


def test_paths_of_the_path_manager() -> None:
    first = calculated(["connection.download.path_manager=default"])
    assert first.subflows.filter(pl.col("connection") == "download")["path"].to_list() == ["wifi"]
    ports = calculated(['connection.download.path_manager={ name = "ndiffports", subflows = 3 }'])
    assert ports.subflows.filter(pl.col("connection") == "download")["path"].to_list() == ["wifi"] * 3


def test_uploads_cross_the_links_upwards() -> None:
    up = calculated(["connection.download.direction=up", "connection.neighbour.direction=up"])
    lte = up.links.filter(name="lte")
    assert lte.filter(direction="up")["utilization"][0] == pytest.approx(1.0, abs=0.01)
    assert lte.filter(direction="down")["utilization"][0] < 0.1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["connection.neighbour.congestion=cubic"], 'connection.neighbour.congestion: found "cubic"'),
        (["connection.download.congestion=wvegas"], 'found "wvegas"'),
        (['connection.download.congestion={ name = "lia", variant = "linux" }'], 'found "linux"'),
        (["connection.download.scheduler=redundant"], 'found "redundant"'),
        (["connection.download.path_manager=backup"], 'found "backup"'),
        (['connection.download.application={ kind = "file", size = "2 MB" }'], 'found "file"'),
        (['link.wifi.queue={ kind = "codel" }'], 'found "codel"'),
        (['link.wifi.loss={ kind = "gilbert-elliott", good_to_bad = "1 %", bad_to_good = "50 %" }'], "gilbert-elliott"),
        (
            ['link.wifi.queue={ kind = "red", min = "5 ms", max = "9 ms", limit = "99 ms", ecn = true }'],
            "queue.ecn: found true",
        ),
        (["link.wifi.loss=100 %"], "link.wifi.loss: found 100 %"),
        (['event=[{ at = "2 s", link = "wifi", set = { down = true } }]'], "no events"),
        (["connection.neighbour.start=20 s"], 'connection.neighbour.start: found "20 s"; expected a start within'),
        (["connection.neighbour.stop=50 s"], 'connection.neighbour.stop: found "50 s"'),
        (["connection.neighbour.direction=up"], '"up" over "wifi", which "download" crosses down'),
        (["connection.download.receive_buffer=100 kB"], "connection.download.receive_buffer: found 100000 B"),
        (["link.lte.up.rate=300 kbit/s"], "link.lte.up.rate: found 300000 bit/s; expected more than the"),
        (["connection.neighbour.count=10000"], "fills its capacity"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(changes: list[str], says: str) -> None:
    assert says in refused(changes)


def test_every_refusal_is_told_at_once_and_once() -> None:
    told = refused(["connection.neighbour.congestion=cubic", "connection.neighbour.start=20 s", "link.wifi.loss=100 %"])
    assert len(told.splitlines()) == 3


def test_refusals_name_the_line() -> None:
    text = TWO_PATHS + '\n[[event]]\nat = "2 s"\nlink = "wifi"\nset = { down = true }\n'
    assert refused([], text).startswith("<string>:26: event.0: ")


def test_through_wire_is_refused() -> None:
    with pytest.raises(ValueError, match="segments of the engine sim; model has none"):
        mptcplab.run(Scenario.from_toml(TWO_PATHS), "model", through_wire=True)


def test_check_and_run_agree_on_the_ready_made_scenarios() -> None:
    """What is not refused runs; the steady ones are not refused."""
    able = set()
    for file in sorted(SCENARIOS.glob("*.toml")):
        scenario = Scenario.load(file)
        if catalogue.ENGINES["model"].unsupported(scenario):
            with pytest.raises(UnsupportedError):
                mptcplab.run(scenario, "model")
        else:
            assert mptcplab.run(scenario, "model").connections["goodput_bps"].is_finite().all()
            able.add(file.stem)
    assert {"one-link", "red-queue", "shared-bottleneck", "two-equal-paths", "two-paths", "wifi-lte"} <= able
    assert "wifi-dies" not in able


def test_lia_keeps_its_cap() -> None:
    """On a clean path with a long RTT no window exceeds a lone TCP's, which LIA without its cap would (RFC 6356 §3)."""
    changes = ["link.wifi.down.loss=1 %", "link.lte.down.loss=0.1 %", "link.lte.delay=200 ms"]
    subflows = calculated([*changes, "link.wifi.rate=1 Gbit/s", "link.lte.down.rate=1 Gbit/s"]).subflows
    window = subflows.filter((pl.col("connection") == "download") & (pl.col("path") == "lte"))["cwnd_mean_segments"][0]
    assert window == pytest.approx(1.31 / np.sqrt(0.001), rel=1e-3)


FILES = """
duration = "10 s"
[link.a]
rate = "100 Mbit/s"
delay = "10 ms"
queue = "1000 packets"
[link.b]
rate = "100 Mbit/s"
delay = "40 ms"
queue = "1000 packets"
[connection.c]
paths = ["a", "b"]
application = { kind = "file", size = "100 kB" }
"""


def test_files_are_answered_by_rounds() -> None:
    """As long as simulated, within 3 %; what DMPTCP selects leaves the slow path alone."""
    files = calculated(text=FILES)
    simulated = mptcplab.run(Scenario.from_toml(FILES), "sim")
    assert files.connections["completion_s"][0] == pytest.approx(simulated.connections["completion_s"][0], rel=0.03)
    assert files.links.height == 0
    large = ['connection.c.application.size="1 MB"', "connection.c.tcp.initial_window=2"]
    both = calculated([*large, 'connection.c.scheduler="min-rtt"'], FILES).subflows["segments_sent"].to_list()
    one = calculated([*large, 'connection.c.scheduler="dmptcp"'], FILES).subflows["segments_sent"].to_list()
    assert both[1] > 0
    assert one[1] == 0
    late = calculated(['duration="100 ms"'], FILES)
    assert late.connections["completion_s"][0] is None
    assert any("not complete" in note for note in late.notes)


def test_what_rounds_have_no_rules_for() -> None:
    assert 'found "olia"; expected one of reno, lia for a file' in refused(['connection.c.congestion="olia"'], FILES)
    assert "expected one of min-rtt, dmptcp for a file" in refused(['connection.c.scheduler="blest"'], FILES)
    assert "expected 1 for a file" in refused(["connection.c.count=2"], FILES)
    second = '\n[connection.d]\npaths = ["a"]\nprotocol = "tcp"\napplication = { kind = "file", size = "1 kB" }\n'
    assert '"c" crosses "a", and the round model cannot share links' in refused([], FILES + second)
    assert "there is no model for a mix" in refused(
        ['connection.neighbour.application={ kind = "file", size = "1 kB" }']
    )
