"""Intervals, differences and ranks of settings: what scipy calculates, asked in one place.

The rows of an array are settings, its columns blocks: the seeds (or, over many networks, the networks) that all
settings share. A value that is not known is nan. docs/how-to/compare-algorithms.md says why these methods.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
CONFIDENCE: Final = 0.95
_CONSTANT: Final = 1e-12
"""Values that spread less than this part of their size are the same but for rounding."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % confidence interval."""

    mean: float
    low: float | None
    """None with fewer than two values, as `high`."""
    high: float | None
    n: int

    @property
    def half(self) -> float | None:
        """Half of the interval's width."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def interval(self) -> list[float] | None:
        """For a JSON document."""
        return None if self.low is None or self.high is None else [self.low, self.high]


def estimate(values: Floats) -> Estimate | None:
    """The mean of independent values with Student's t interval; None without any. nan are left out."""
    from scipy.stats import ttest_1samp  # loads slowly

    known = values[~np.isnan(values)]
    if not known.size:
        return None
    mean = float(known.mean())
    if known.size < 2:
        return Estimate(mean, None, None, known.size)
    if _constant(known):
        return Estimate(mean, mean, mean, known.size)
    interval = ttest_1samp(known, 0.0).confidence_interval(CONFIDENCE)
    return Estimate(mean, float(interval.low), float(interval.high), known.size)


def paired(values: Floats, reference: Floats) -> Estimate | None:
    """The mean difference of values to those of the same blocks, with the interval of the paired t test."""
    return estimate(values - reference)


def unpaired(values: Floats, reference: Floats) -> Estimate | None:
    """The difference of the means of independent samples, with the interval of Welch's t test.

    Its `n` is that of the smaller sample.
    """
    from scipy.stats import ttest_ind

    ours, theirs = (each[~np.isnan(each)] for each in (values, reference))
    if not ours.size or not theirs.size:
        return None
    mean, n = float(ours.mean() - theirs.mean()), min(ours.size, theirs.size)
    if n < 2:
        return Estimate(mean, None, None, n)
    if _constant(ours) and _constant(theirs):
        return Estimate(mean, mean, mean, n)
    interval = ttest_ind(ours, theirs, equal_var=False).confidence_interval(CONFIDENCE)
    return Estimate(mean, float(interval.low), float(interval.high), n)


def ranks(values: Floats, *, higher_is_better: bool, pair: bool = True) -> list[tuple[int, int]]:
    """Of each setting the best and the worst rank that the data leave open, from 1.

    Every two settings are tested (paired t, or Welch's); of those that are called different at most 5 % are expected to
    be alike (Benjamini and Hochberg's false discovery rate). A setting ranks after all that are better than it, and
    before all that are worse.
    """
    from scipy.stats import false_discovery_control

    count = len(values)
    first, second = np.triu_indices(count, 1)
    if not first.size:
        return [(1, 1)] * count
    chances = np.array([_chance(values[i], values[j], pair) for i, j in zip(first, second, strict=True)])
    differs = false_discovery_control(chances) < 1 - CONFIDENCE
    better, worse = np.zeros(count, int), np.zeros(count, int)
    means = np.array([float(np.nanmean(row)) if not np.isnan(row).all() else math.nan for row in values])
    for i, j, apart in zip(first, second, differs, strict=True):
        if apart:
            ahead, behind = (i, j) if (means[i] > means[j]) == higher_is_better else (j, i)
            better[behind] += 1
            worse[ahead] += 1
    return [(int(1 + better[at]), int(count - worse[at])) for at in range(count)]


def wanted(found: Estimate, part: float) -> int:
    """How many values would make half of the interval this part of the mean, if they spread as these do."""
    if found.half is None or not found.mean or not found.half:
        return found.n
    return math.ceil(found.n * (found.half / abs(found.mean) / part) ** 2)


def _constant(values: Floats) -> bool:
    return float(np.ptp(values)) <= _CONSTANT * float(np.abs(values).max())


def _chance(values: Floats, others: Floats, pair: bool) -> float:
    """The p value of two settings being alike."""
    from scipy import stats

    found: Any
    if pair:
        apart = values - others
        apart = apart[~np.isnan(apart)]
        if apart.size < 2:
            return 1.0
        if _constant(apart):
            return 0.0 if apart[0] else 1.0
        found = stats.ttest_1samp(apart, 0.0)
    else:
        ours, theirs = (each[~np.isnan(each)] for each in (values, others))
        if min(ours.size, theirs.size) < 2:
            return 1.0
        if _constant(ours) and _constant(theirs):
            return 0.0 if ours[0] != theirs[0] else 1.0
        found = stats.ttest_ind(ours, theirs, equal_var=False)
    return float(found.pvalue)
