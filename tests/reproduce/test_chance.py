"""The rules for chance, by simulation: an exact replica holds in 95 of 100 cases, and a wrong one is found."""

import json
import math

import numpy as np
import pytest
from mptcplab.reproduce import Check, Deviation, Number, bistable, by_rank, deviations, judge, known, single
from mptcplab.reproduce.judge.states import two_states

CASES = 2000
NOISE = 2.6 * math.sqrt(0.05 * 0.95 / CASES)
"""Of a part of 5 % in so many cases: 1.3 points, beyond which chance goes in one of a hundred."""


def part(checks: list[Check], *verdicts: str) -> float:
    return sum(check.verdict in verdicts for check in checks) / len(checks)


def normal(seed: int, *shape: int, spread: float = 1.0, mean: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, spread, size=shape)


@pytest.mark.parametrize(("n", "found_of"), [(3, 3), (3, 20), (5, 10), (30, 30)])
def test_a_replica_of_a_deviation_holds(n: int, found_of: int) -> None:
    theirs, ours = normal(1, CASES, n).std(axis=1, ddof=1), normal(2, CASES, found_of).std(axis=1, ddof=1)
    checks = [Deviation(a, b, n, found_of) for a, b in zip(theirs, ours, strict=True)]
    assert part(checks, "holds") == pytest.approx(0.95, abs=NOISE)


def test_the_f_test_by_hand() -> None:
    """With two degrees of freedom each, P(F > x) = 1 / (1 + x): a ratio of 3 has p = 2 / 10, one of 7 has 2 / 50."""
    assert Deviation(1.0, 3.0, 3, 3).p == pytest.approx(0.2)
    assert Deviation(7.0, 1.0, 3, 3).p == pytest.approx(0.04)
    assert Deviation(1.0, 7.0, 3, 3).verdict == "holds in part"
    assert Deviation(1.0, 15.0, 3, 3).verdict == "differs"
    with pytest.raises(ValueError, match="two values"):
        Deviation(1.0, 1.0, 1, 3)
    with pytest.raises(ValueError, match="above 0"):
        Deviation(0.0, 1.0, 3, 3)


@pytest.mark.parametrize(
    ("factor", "least", "most"),
    [(1.0, 0.0, 0.07), (1.1, 0.05, 0.4), (1.25, 0.5, 0.9), (1.5, 0.97, 1.0)],
)
def test_what_a_table_of_deviations_finds(factor: float, least: float, most: float) -> None:
    """60 deviations of three values, as Chauvenne prints, beside ours of 20: 50 % too much is found, 10 % seldom."""
    cases = 400
    theirs = normal(3, cases, 60, 3).std(axis=2, ddof=1)
    ours = normal(4, cases, 60, 20, spread=factor).std(axis=2, ddof=1)
    checks = [deviations(zip(a, b, strict=True), 3, 20) for a, b in zip(theirs, ours, strict=True)]
    assert least <= part(checks, "holds in part", "differs") <= most


def test_an_interval_has_the_mean_in_it() -> None:
    held = [known(values) for values in normal(5, CASES, 5)]
    assert sum(abs(each.mean) <= each.half for each in held) / CASES == pytest.approx(0.95, abs=NOISE)
    assert known([1.0, None, 3.0]).mean == 2.0
    # t of 0.975 with one degree of freedom is 12.706; the deviation is √2, the error of the mean 1.
    assert known([1.0, 3.0]).half == pytest.approx(12.706, abs=1e-3)
    assert known([1.0]).half == math.inf


@pytest.mark.parametrize(("spread", "runs"), [(0.02, 5), (0.05, 10), (0.08, 30)])
def test_a_replica_of_a_number_differs_next_to_never(spread: float, runs: int) -> None:
    checks = [Number(1.0, each.mean, each.half) for each in map(known, normal(6, CASES, runs, spread=spread, mean=1.0))]
    assert part(checks, "differs") == 0
    assert part(checks, "holds", "not known precisely") >= 0.94


@pytest.mark.parametrize(("spread", "runs"), [(0.02, 5), (0.05, 10), (0.08, 20)])
def test_a_replica_of_a_single_run_holds(spread: float, runs: int) -> None:
    ours, theirs = normal(7, CASES, runs, spread=spread, mean=1.0), normal(8, CASES, spread=spread, mean=1.0)
    checks = [single(float(a), list(b)) for a, b in zip(theirs, ours, strict=True)]
    # Within 10 % it holds as a number too, so at least 95 %.
    assert part(checks, "holds", "not known precisely") >= 0.95 - NOISE
    assert part(checks, "differs") <= 0.01


@pytest.mark.parametrize(
    ("off", "spread", "verdicts"),
    [
        (1.10, 0.02, ("holds", "holds in part")),
        (1.25, 0.02, ("holds in part", "differs")),
        (1.5, 0.02, ("differs",)),
        (1.5, 0.05, ("differs",)),
        (1.5, 0.40, ("not known precisely",)),
    ],
)
def test_what_is_found_of_a_wrong_single_run(off: float, spread: float, verdicts: tuple[str, ...]) -> None:
    checks = [single(off, list(runs)) for runs in normal(9, 400, 10, spread=spread, mean=1.0)]
    assert part(checks, *verdicts) >= 0.9


def mixture(seed: int, *shape: int, high: float = 0.4) -> np.ndarray:
    draws = np.random.default_rng(seed)
    return np.where(draws.random(shape) < high, 5.0, 1.0) * draws.normal(1.0, 0.03, shape)


def test_a_replica_of_a_bistable_run_holds_and_the_mean_of_the_states_does_not() -> None:
    ours, theirs = mixture(10, 500, 30), mixture(11, 500)
    checks = [bistable(float(a), list(b)) for a, b in zip(theirs, ours, strict=True)]
    assert part(checks, "holds") >= 0.95 - 0.03
    # 2.6 is the mean of the mixture: what no run has.
    assert part([bistable(2.6, list(b)) for b in ours], "differs") >= 0.99
    assert part([bistable(1.5, list(b)) for b in ours], "differs") >= 0.99


def test_a_rare_state_is_no_state() -> None:
    """Three of 100 runs are below 5 %: a published value there is refuted by the others."""
    runs = [1.0 + 0.001 * k for k in range(97)] + [5.0, 5.01, 5.02]
    assert bistable(5.01, runs).verdict == "differs"
    assert bistable(1.05, runs).verdict == "holds"


@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential"])
def test_one_group_is_not_two_states(draw: str) -> None:
    generator = np.random.default_rng(12)
    for count, most in ((10, 0.15), (20, 0.03), (100, 0.01)):
        found = [two_states(sorted(getattr(generator, draw)(size=count))) for _ in range(300)]
        assert sum(each is not None for each in found) <= most * 300, count


def test_by_rank_the_leader_is_compared_with_the_leader() -> None:
    """Which of three leads changes from run to run: by label every mean is 2, by rank 3, 2 and 1."""
    runs = [(3.0, 2.0, 1.0), (1.0, 3.0, 2.0), (2.0, 1.0, 3.0)] * 3
    assert by_rank([1.0, 3.0, 2.0], runs).verdict == "holds"
    assert by_rank([2.0, 2.0, 2.0], runs).verdict == "differs"
    with pytest.raises(ValueError, match="argument"):
        by_rank([1.0, 2.0], runs)


@pytest.mark.parametrize(
    "check",
    [
        Deviation(1.0, 2.0, 3, 20),
        deviations([(1.0, 1.1), (2.0, 1.9)], 3, 20),
        single(1.0, [0.9, 1.0, 1.2]),
        single(50.0, [45.0, 50.0, 55.0], whole=100),
        bistable(1.0, [*np.linspace(0.98, 1.02, 10), *np.linspace(4.9, 5.1, 10)]),
        by_rank([1.0, 3.0], [(1.0, 3.1), (2.9, 1.1)]),
    ],
    ids=lambda check: check.kind,
)
def test_the_new_kinds_are_recorded_and_can_differ(check: Check) -> None:
    again = judge.from_dict(json.loads(json.dumps(check.to_dict(), allow_nan=False)))
    assert (again.verdict, again.text()) == (check.verdict, check.text())
    assert check.counterexample().verdict == "differs"
    assert check.has_interval
