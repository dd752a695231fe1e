"""Intervals, differences and ranks on data whose answer is known: by hand, by simulation, by another method."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from mptcplab.analysis import statistics
from mptcplab.comparison.metric import Metric
from mptcplab.comparison.settings import Comparison
from scipy import stats

Floats = npt.NDArray[np.float64]
COMPARISONS = 2000
EFFECT = 0.5


def comparison(matrix: Floats, *, paired: bool = True) -> Comparison:
    """Settings of these values by block, the first the baseline."""
    return Comparison(
        title="synthetic",
        engine="none",
        metric=Metric("goodput_bps", "c"),
        factors={"setting": tuple(range(len(matrix)))},
        combinations=tuple({"setting": at} for at in range(len(matrix))),
        baseline=0,
        matrix=matrix,
        blocks=tuple(range(matrix.shape[1])),
        block="seed",
        alike=((),) * len(matrix),
        paired=paired,
    )


def covered(make: "object", truth: float, *, paired: bool) -> float:
    """The part of comparisons whose interval of the difference has the truth in it."""
    random = np.random.default_rng(39)
    inside = 0
    for _ in range(COMPARISONS):
        found = comparison(make(random), paired=paired).settings[1].difference  # type: ignore[operator]
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= truth <= found.high
    return inside / COMPARISONS


def on_shared_seeds(random: np.random.Generator) -> Floats:
    """Twenty seeds: each makes a run good or bad, ten times more than the settings do."""
    seeds = random.normal(100, 10, 20)
    return np.array([seeds + random.normal(0, 1, 20), seeds + EFFECT + random.normal(0, 2, 20)])


def independent(random: np.random.Generator) -> Floats:
    """Two samples that share nothing and spread differently."""
    return np.array([random.normal(10, 1, 20), random.normal(10 + EFFECT, 3, 20)])


def skewed(random: np.random.Generator) -> Floats:
    """Completion times: log-normal, the second setting longer by a factor of its own on each seed."""
    first = random.lognormal(0, 0.5, 20)
    return np.array([first, first * random.lognormal(math.log(1.1), 0.2, 20)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "truth", "paired"),
    [
        (on_shared_seeds, EFFECT, True),
        (independent, EFFECT, False),
        (skewed, math.exp(0.125) * (1.1 * math.exp(0.02) - 1), True),
    ],
)
def test_of_2000_comparisons_95_per_cent_of_the_intervals_have_the_truth_in_them(
    make: "object", truth: float, paired: bool
) -> None:
    assert 0.93 <= covered(make, truth, paired=paired) <= 0.97


def test_pairs_take_the_seeds_out_of_the_difference() -> None:
    matrix = on_shared_seeds(np.random.default_rng(1))
    together, apart = comparison(matrix).settings[1].difference, comparison(matrix, paired=False).settings[1].difference
    assert together is not None
    assert apart is not None
    assert together.mean == pytest.approx(apart.mean)
    assert together.half is not None
    assert apart.half is not None
    assert together.half < apart.half / 3


def test_an_interval_worked_by_hand() -> None:
    # 1, 2, 3: deviation 1, t of two degrees of freedom 4.3027; half of the interval 4.3027/√3.
    found = statistics.estimate(np.array([1.0, 2.0, 3.0]))
    assert found is not None
    assert (found.mean, found.n) == (2.0, 3)
    assert found.half == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    # Differences 1, 1, 4: mean 2, deviation √3, half 4.3027.
    apart = statistics.paired(np.array([2.0, 3.0, 7.0]), np.array([1.0, 2.0, 3.0]))
    assert apart is not None
    assert apart.mean == 2.0
    assert apart.half == pytest.approx(4.302653, rel=1e-6)


def test_another_method_finds_nearly_the_same() -> None:
    values = np.random.default_rng(5).normal(3, 1, 60)
    found = statistics.estimate(values)
    assert found is not None
    drawn = stats.bootstrap((values,), np.mean, rng=np.random.default_rng(6)).confidence_interval
    assert found.low == pytest.approx(drawn.low, abs=0.05)
    assert found.high == pytest.approx(drawn.high, abs=0.05)


def test_what_is_known_of_little() -> None:
    assert statistics.estimate(np.array([math.nan, math.nan])) is None
    one = statistics.estimate(np.array([4.0, math.nan]))
    assert one == statistics.Estimate(4.0, None, None, 1)
    assert statistics.estimate(np.array([4.0, 4.0, 4.0])) == statistics.Estimate(4.0, 4.0, 4.0, 3)
    pairs = statistics.paired(np.array([1.0, math.nan, 3.0]), np.array([1.0, 2.0, math.nan]))
    assert pairs == statistics.Estimate(0.0, None, None, 1)


def test_ranks_of_settings_that_are_alike_are_open_and_of_one_that_is_not_is_closed() -> None:
    random = np.random.default_rng(8)
    wrong = 0
    for _ in range(200):
        seeds = random.normal(50, 5, 20)
        alike = np.array([seeds + random.normal(0, 1, 20) for _ in range(6)])
        wrong += any(rank != (1, 6) for rank in statistics.ranks(alike, higher_is_better=True))
    # At most 5 % where all are alike; three deviations more for 200 trials.
    assert wrong / 200 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    worse = np.vstack([alike, seeds - 10 + random.normal(0, 1, 20)])
    assert statistics.ranks(worse, higher_is_better=True)[-1] == (7, 7)
    assert statistics.ranks(worse, higher_is_better=False)[-1] == (1, 1)


def test_ranks_of_results_without_chance_follow_their_order() -> None:
    constant = np.array([[2.0] * 3, [1.0] * 3, [2.0] * 3])
    assert statistics.ranks(constant, higher_is_better=True) == [(1, 2), (3, 3), (1, 2)]


def test_how_many_seeds_a_narrow_interval_takes() -> None:
    found = statistics.Estimate(100.0, 96.0, 104.0, 10)
    assert statistics.wanted(found, 0.02) == 40
    assert statistics.wanted(found, 0.04) == 10
