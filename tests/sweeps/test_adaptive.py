"""Sweeps with an adaptive design: where their points go, resuming, and what is refused."""

from pathlib import Path

import mptcplab
import pytest
from mptcplab import Scenario, ScenarioError, Sweep, cli

SCENARIO = """
duration = "3 s"
[link.one]
rate = "8 Mbit/s"
delay = "5 ms"
queue = "50 ms"
[connection.m]
paths = ["one"]
protocol = "tcp"
application = { kind = "rate", rate = "3 Mbit/s" }
[measure]
warmup = "1 s"
"""
SWEEP = """
scenario = "scenario.toml"
[design]
kind = "adaptive"
points = 24
start = 8
response = "m.goodput"
[factor]
"link.one.rate" = ["1 Mbit/s", "20 Mbit/s"]
"link.one.delay" = ["5 ms", "10 ms"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


def test_points_go_where_the_response_changes_and_the_same_ones_each_time(file: Path, tmp_path: Path) -> None:
    """Above 3.1 Mbit/s the goodput is that of the application; below, a ninth of the range, it rises with the rate."""
    found = mptcplab.sweep(file, tmp_path / "out", jobs=1)
    rates = found.connections.sort("point")["link.one.rate"]
    assert len(rates) == 24
    low = [(rate < 5e6) for rate in rates]
    assert sum(low[8:]) >= 2 * (16 * 4 / 19)
    design = (tmp_path / "out" / "design.csv").read_bytes()
    assert cli.invoke(["sweep", str(file), "--out", str(tmp_path / "out"), "--resume", "--jobs", "1"]) == 0
    assert (tmp_path / "out" / "design.csv").read_bytes() == design
    assert cli.invoke(["sweep", str(file), "--out", str(tmp_path / "again"), "--jobs", "2"]) == 0
    assert (tmp_path / "again" / "design.csv").read_bytes() == design


def test_a_response_that_is_not_known_is_named(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(SWEEP.replace("m.goodput", "m.completion"), encoding="utf-8")
    assert cli.invoke(["sweep", str(file), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 2
    assert "m.completion_s is not known at point 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ('response = "m.goodput"', "", "design.response"),
        ('"m.goodput"', '"m.speed"', "design.response"),
        ("start = 8", "start = 24", "design.start"),
        ("start = 8", "rounds = 17", "design.rounds"),
        ('"adaptive"', '"wsp"', "design.response"),
    ],
)
def test_what_no_adaptive_design_has_is_refused(file: Path, before: str, after: str, key: str) -> None:
    file.write_text(SWEEP.replace(before, after), encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        Sweep.load(file)
    assert key in [problem.key for problem in error.value.problems]


def test_parts_are_as_equal_as_can_be() -> None:
    base = Scenario.from_toml(SCENARIO)
    design = {"kind": "adaptive", "points": 21, "start": 6, "response": "goodput"}
    sweep = Sweep.build(base, factors={"link.one.delay": ["1 ms", "9 ms"]}, design=design)
    assert sweep.design.parts() == [4, 4, 4, 3]
    assert len(sweep.points()) == 6
