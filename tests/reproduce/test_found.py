"""Finds that know their intervals: each kind covers the truth in 95 of 100 cases, and a check asks for it."""

import math

import numpy as np
import pytest
from mptcplab.reproduce import (
    Equality,
    Found,
    Number,
    Order,
    Share,
    below,
    correlation_of,
    jain,
    mean_of,
    median_of,
    part_of,
    quantile_of,
    resampled,
)

CASES = 1000
NOISE = 2.6 * math.sqrt(0.05 * 0.95 / CASES)


def covered(found: list[Found], truth: float) -> float:
    return sum(abs(each - truth) <= each.half for each in found) / len(found)


@pytest.mark.parametrize("count", [5, 12, 98])
def test_intervals_hold_the_truth(count: int) -> None:
    """At least 95 %; the farther end counts, so those that are not symmetric hold more."""
    draws = np.random.default_rng(1)
    normal = draws.normal(size=(CASES, count))
    for found, truth in (
        ([mean_of(row.tolist()) for row in normal], 0.0),
        ([median_of(row.tolist()) for row in normal], 0.0),
        ([part_of((row > 0).tolist()) for row in normal], 0.5),
    ):
        assert covered(found, truth) >= 0.95 - NOISE


def test_a_quantile_of_98_networks() -> None:
    draws = np.random.default_rng(2).exponential(size=(CASES, 98))
    quarter = [quantile_of(row.tolist(), 0.25) for row in draws]
    assert covered(quarter, -math.log(0.75)) >= 0.95 - NOISE
    assert np.mean([each.half for each in quarter]) < 0.25


def test_a_correlation_of_pairs() -> None:
    draws = np.random.default_rng(3)
    found = []
    for _ in range(CASES):
        x = draws.normal(size=30)
        y = 0.6 * x + 0.8 * draws.normal(size=30)
        found.append(correlation_of(float(np.corrcoef(x, y)[0, 1]), 30))
    assert covered(found, 0.6) >= 0.95 - NOISE
    assert correlation_of(0.9, 3).half == math.inf


def test_by_hand() -> None:
    # Nine values: binomial(9, 1/2) has 2.0 % at or below 1, so the interval is from the 2nd to the 8th.
    assert median_of(range(9)).half == 3
    # Wilson for 0 of 10: the upper end is z²/(n + z²) = 3.8415/13.8415.
    assert part_of([False] * 10).half == pytest.approx(0.27753, abs=1e-5)
    one, other = Found(3.0, 0.3), Found(4.0, 0.4)
    assert (one + other).half == pytest.approx(0.5)
    assert (one * 2 - 1).half == pytest.approx(0.6)
    # Relative errors of 10 % each: √2 · 10 %.
    assert (one / other).half == pytest.approx(0.75 * 0.1 * math.sqrt(2))
    assert (Found(1) / one).half == pytest.approx(0.1 / 3)
    assert (one / 0).half == math.inf
    assert (Found(1.0, math.inf) * 0).half == 0


def test_what_compares_the_same_cases_is_known_better_than_apart() -> None:
    """Two columns that move together: their difference is known though neither median is."""
    draws = np.random.default_rng(4)
    base = draws.normal(size=60)
    other = base + 0.1 + 0.01 * draws.normal(size=60)
    together = resampled(lambda rows: float(np.median(other[rows]) - np.median(base[rows])), 60)
    apart = median_of(other.tolist()) - median_of(base.tolist())
    assert together.half < 0.3 * apart.half
    assert resampled(lambda rows: float(np.mean(base[rows])), 60).half == pytest.approx(
        1.96 * base.std() / math.sqrt(60), rel=0.15
    )
    assert resampled(lambda _: 1.0, 1).half == math.inf


def test_a_check_asks_a_find_for_its_interval() -> None:
    assert Number(10, Found(10.5, 2.0)) == Number(10, 10.5, 2.0)
    assert Number(10, Found(10.5, 2.0), half=0.1).half == 0.1
    assert Share(50, Found(51.0, 1.0), whole=100).has_interval
    assert not Number(10, 10.5).has_interval
    assert below(Found(1.0, 0.1), Found(2.0, 0.2)) == Order(1.0, 2.0, 0.1, 0.2)
    assert Equality(Found(1.0, 0.1), Found(2.0, 0.2)) == Equality(1.0, 2.0, 0.1, 0.2)
    for check in (Number(10, Found(10.5, 200.0)), Equality(Found(1.0, 9.0), Found(2.0, 9.0)), jain(0.9, Found(0.9, 9))):
        assert check.counterexample().verdict == "differs"
    # Rates of 61 and 39 % are an index of 0.954 and a variation of 0.22; 0.01 of the index is 0.026 of that.
    assert jain(0.954, Found(0.954, 0.01)).half == pytest.approx(0.02634, abs=5e-5)
