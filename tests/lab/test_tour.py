"""What the guided tour says of its scenarios is what they show."""

from typing import Any

import pytest
from mptcplab import Scenario, run
from mptcplab.lab.tour import STEPS, steps


def goodput(step: int, side: str, name: str) -> float:
    """Mbit/s of all connections of a name together."""
    rows = result(step, side)["connections"]
    return sum(float(row["goodput_bps"]) for row in rows if row["name"] == name) / 1e6


def result(step: int, side: str) -> dict[str, Any]:
    given = STEPS[step]
    return run(Scenario.from_toml(given.side(given.a if side == "a" else given.b))).to_dict()


def test_there_are_eight_steps_and_each_can_be_run() -> None:
    assert len(steps()) == 8
    for step in steps():
        assert step["a"]["text"] != step["b"]["text"]


def test_two_paths_as_one() -> None:
    assert goodput(0, "a", "download") == pytest.approx(19, abs=0.6)
    assert goodput(0, "b", "download") == pytest.approx(28, abs=0.8)


def test_head_of_line_blocking() -> None:
    assert goodput(1, "a", "download") == pytest.approx(5.3, abs=0.2)
    assert goodput(1, "b", "download") == pytest.approx(9.5, abs=0.2)


def test_a_shared_bottleneck() -> None:
    assert goodput(2, "a", "multipath") == pytest.approx(11.4, abs=0.3)
    assert goodput(2, "a", "tcp") == pytest.approx(7.7, abs=0.3)
    assert goodput(2, "b", "multipath") == pytest.approx(10.2, abs=0.3)
    assert goodput(2, "b", "tcp") == pytest.approx(8.9, abs=0.3)


def test_lia_is_not_pareto_optimal_and_olia_nearer() -> None:
    alone = {name: goodput(3, "a", name) for name in ("type1", "type2")}
    lia = {name: goodput(3, "b", name) for name in ("type1", "type2")}
    olia = {name: goodput(4, "b", name) for name in ("type1", "type2")}
    assert alone["type1"] == pytest.approx(4.7, abs=0.1)
    assert alone["type2"] == pytest.approx(4.7, abs=0.1)
    assert lia["type1"] == pytest.approx(alone["type1"], rel=0.03)
    assert 0.70 < lia["type2"] / alone["type2"] < 0.80
    assert olia["type1"] == pytest.approx(lia["type1"], rel=0.03)
    # Over twelve seeds 0.40 in the mean, with a standard deviation of 0.07.
    assert 0.2 < (olia["type2"] - lia["type2"]) / (alone["type2"] - lia["type2"]) < 0.6


def test_what_dmptcp_chooses() -> None:
    times = [result(5, side)["connections"][0]["transfers"]["mean_s"] for side in ("a", "b")]
    assert times == [pytest.approx(0.91, abs=0.01), pytest.approx(0.78, abs=0.01)]


def test_a_path_dies() -> None:
    scenario = {
        side: Scenario.from_toml(STEPS[6].side(STEPS[6].a if side == "a" else STEPS[6].b)) for side in ("a", "b")
    }
    for side, works in (("a", False), ("b", True)):
        samples = run(scenario[side]).samples.filter(kind="subflow")
        while_down = samples.filter((samples["time_s"] > 10) & (samples["time_s"] < 14))
        assert (float(while_down["goodput_bps"].sum()) > 0) == works


def test_a_middlebox_strips_options() -> None:
    assert goodput(7, "a", "download") == pytest.approx(28, abs=0.8)
    assert goodput(7, "b", "download") == pytest.approx(19, abs=0.6)
    assert result(7, "b")["connections"][0]["fallback"] is True
