"""Model and simulator within 10 % of each other where the model's assumptions hold (docs/models/engine.md).

Bounds are of each kind of connection's mean goodput over three seeds; where the page names a cause for more, that is
tested too: the cause, not the number.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from mptcplab import Scenario, run
from mptcplab.comparison import Comparison

SCENARIOS = Path(__file__).parents[2] / "scenarios"

LOSSY = """
duration = "120 s"

[link.one]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "100 packets"
down.loss = "1 %"

[link.two]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "100 packets"
down.loss = "2 %"

[connection.m]
paths = ["one", "two"]

[measure]
warmup = "10 s"
"""


def compared(scenario: Scenario) -> Comparison:
    quiet = scenario.with_overrides(["measure.sample=never"])
    return Comparison({"sim": run(quiet, "sim", repeat=3, jobs=2), "model": run(quiet, "model")})


def differences(comparison: Comparison) -> dict[str, float]:
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
    red = base.with_overrides(
        ['link.wifi.queue={ kind = "red", min = "10 ms", max = "30 ms", max_probability = 0.1, limit = "200 ms" }']
    )
    drop_tail, early = (abs(differences(compared(scenario))["neighbour"]) for scenario in (base, red))
    assert early < 0.1 < drop_tail
