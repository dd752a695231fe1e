"""Several stable states: found where there are two, and not claimed where there is one."""

from collections.abc import Callable

import mptcplab
import numpy as np
import pytest
from mptcplab.comparison.tables import lines
from mptcplab.results import states
from mptcplab.scenario import Scenario

Draw = Callable[[np.random.Generator, int], states.Floats]

ONE: dict[str, Draw] = {
    "normal": lambda random, n: random.normal(10, 1, n),
    "uniform": lambda random, n: random.uniform(5, 15, n),
    "exponential": lambda random, n: random.exponential(10, n),
    "log-normal": lambda random, n: random.lognormal(2, 0.5, n),
}
TRIALS = 200


def several(draw: Draw, n: int, trials: int) -> float:
    """The part of samples that are said to have several states."""
    random = np.random.default_rng(11)
    return sum(len(states.of_settings(draw(random, n)[None])[0]) > 1 for _ in range(trials)) / trials


@pytest.mark.parametrize("shape", ONE)
@pytest.mark.parametrize("n", [10, 20])
def test_one_state_is_not_taken_for_several(shape: str, n: int) -> None:
    assert several(ONE[shape], n, TRIALS) <= 0.05


def test_two_clear_states_are_found() -> None:
    def two(random: np.random.Generator, n: int) -> states.Floats:
        return np.where(np.arange(n) < n * 0.4, random.normal(10, 0.3, n), random.normal(20, 0.3, n))

    assert several(two, 20, 50) >= 0.98
    (found,) = states.of_settings(two(np.random.default_rng(3), 20)[None])
    assert [each.runs for each in found] == [8, 12]
    assert [each.mean for each in found] == pytest.approx([10, 20], rel=0.05)
    assert found[0].high < found[1].low


@pytest.mark.parametrize(
    "values",
    [
        [10.0] * 20,
        [10.0] * 18 + [20.0] * 2,
        [10.0, 10.1] * 10,
        [10.0] * 4 + [20.0] * 3,
        [float("nan")] * 20,
        [],
    ],
    ids=["constant", "outliers", "close", "few", "unknown", "none"],
)
def test_what_is_no_state_of_its_own(values: list[float]) -> None:
    (found,) = states.of_settings(np.array([values]))
    assert len(found) <= 1


def test_a_row_among_many_of_one_state_is_found() -> None:
    random = np.random.default_rng(5)
    matrix = np.vstack([random.normal(10, 1, (9, 20)), [10.0, 20.0] * 10])
    assert [len(each) for each in states.of_settings(matrix)] == [1] * 9 + [2]


TWO_OUTCOMES = """
duration = "90 s"
link.a = { rate = "10 Mbit/s", delay = "10 ms" }
[connection.m]
paths = ["a"]
protocol = "tcp"
application = { kind = "file", size = "2 MB" }
start = ["2 s", "4800 ms"]
[[event]]
at = "5 s"
link = "a"
set = { down = true }
[[event]]
at = "20 s"
link = "a"
set = { down = false }
"""
"""The file is whole soon, or the link dies before it is: which, depends on when the connection starts."""


def test_repeated_runs_say_so() -> None:
    result = mptcplab.run(Scenario.from_toml(TWO_OUTCOMES, "two.toml"), repeat=20)
    said = "m: several stable states, completion 3.89 s in 14 and 31.3 s in 6 seeds; the mean describes neither"
    assert said in result.notes
    assert result.to_dict()["notes"] == list(result.notes)
    # Of few seeds nothing is said; nor of a file that takes as long with every seed.
    assert not any("states" in note for note in mptcplab.run(result.scenario, repeat=7).notes)
    assert mptcplab.run(result.scenario.with_("connection.m.start=1 s"), repeat=20).notes == ()


def test_a_comparison_says_so() -> None:
    found = mptcplab.compare(
        Scenario.from_toml(TWO_OUTCOMES, "two.toml"),
        vary={"connection.m.congestion": ["reno", "cubic"]},
        repeat=20,
        jobs=1,
    )
    assert [len(each) for each in found.states] == [2, 2]
    assert [line for line in lines(found) if "several stable states, 3.89 s in 14 and 31.33 s in 6 seeds" in line]
    assert [len(each["states"]) for each in found.to_dict()["settings"]] == [2, 2]
