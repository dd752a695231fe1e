"""A find that knows its interval: a float which the checks ask for it, so that no study has to hand both on.

Sums, differences, products and quotients of finds propagate the intervals to first order, as of independent errors.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Self

import numpy as np
from scipy import stats

from mptcplab.reproduce.judge.verdict import CONFIDENCE, known

_Z: Final = float(stats.norm.ppf((1 + CONFIDENCE) / 2))
_LEAST_ORDERED: Final = 6
"""Below this the whole range of values holds the median with less than 95 %."""
_MEDIANS: Final = math.sqrt(math.pi / 2)
"""The standard error of the median of normal values over that of their mean."""
_RESAMPLES: Final = 1000


class Found(float):
    """A number that was found, with half of its 95 % interval; 0 for a calculation."""

    half: float

    def __new__(cls, value: float, half: float = 0.0) -> Self:
        """`half` is infinite where nobody knows the spread."""
        made = super().__new__(cls, value)
        made.half = abs(half)
        return made

    def __add__(self, other: float) -> "Found":
        """The halves as the sides of a right angle."""
        return Found(float(self) + float(other), math.hypot(self.half, _half(other)))

    __radd__ = __add__

    def __sub__(self, other: float) -> "Found":
        """As a sum."""
        return Found(float(self) - float(other), math.hypot(self.half, _half(other)))

    def __rsub__(self, other: float) -> "Found":
        """As a sum."""
        return Found(float(other) - float(self), self.half)

    def __mul__(self, other: float) -> "Found":
        """Relative errors add as the sides of a right angle."""
        a, b = float(self), float(other)
        return Found(a * b, math.hypot(_times(b, self.half), _times(a, _half(other))))

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> "Found":
        """As a product; by 0 it is infinite, and nobody knows how precisely."""
        a, b = float(self), float(other)
        if b == 0:
            return Found(math.copysign(math.inf, a) if a else math.nan, math.inf)
        return Found(a / b, math.hypot(_times(1 / b, self.half), _times(a / b / b, _half(other))))

    def __rtruediv__(self, other: float) -> "Found":
        """As a product."""
        return Found(float(other)) / self

    def __neg__(self) -> "Found":
        """The same half."""
        return Found(-float(self), self.half)

    def __abs__(self) -> "Found":
        """The same half."""
        return Found(abs(float(self)), self.half)


def _half(value: float) -> float:
    return value.half if isinstance(value, Found) else 0.0


def _times(factor: float, half: float) -> float:
    """Nothing times an unknown interval is nothing."""
    return abs(factor) * half if factor and half else 0.0


def mean_of(values: Iterable[float | None]) -> Found:
    """The mean of one value a seed, with Student's t. Missing values are left out."""
    found = known(values)
    return Found(found.mean, found.half)


def median_of(values: Iterable[float | None]) -> Found:
    """The median, with the interval between two of the sorted values (binomial); of few values as of normal ones."""
    return quantile_of(values, 0.5)


def quantile_of(values: Iterable[float | None], part: float) -> Found:
    """A quantile with its distribution-free interval: the farther end counts. Missing values are left out."""
    given = sorted(float(value) for value in values if value is not None and not math.isnan(value))
    count = len(given)
    if not count:
        return Found(math.nan, math.inf)
    at = float(np.quantile(given, part))
    if count < _LEAST_ORDERED:
        return Found(at, _MEDIANS * known(given).half)
    ranks = stats.binom(count, part)
    low = int(ranks.ppf((1 - CONFIDENCE) / 2)) - 1
    high = int(ranks.ppf((1 + CONFIDENCE) / 2))
    ends = given[max(low, 0)], given[min(high, count - 1)]
    return Found(at, max(at - ends[0], ends[1] - at))


def part_of(condition: Iterable[bool | None]) -> Found:
    """The part of the cases in which it is so, with Wilson's interval: the farther end counts."""
    given = [bool(each) for each in condition if each is not None]
    count = len(given)
    if not count:
        return Found(math.nan, math.inf)
    part, squared = sum(given) / count, _Z**2
    middle = (part + squared / (2 * count)) / (1 + squared / count)
    wide = _Z / (1 + squared / count) * math.sqrt(part * (1 - part) / count + squared / (4 * count**2))
    return Found(part, max(part - (middle - wide), middle + wide - part))


def correlation_of(coefficient: float, count: int) -> Found:
    """A correlation coefficient of so many pairs, with Fisher's interval: the farther end counts."""
    if count <= 3:
        return Found(coefficient, math.inf)
    z = math.atanh(max(-0.999999, min(0.999999, coefficient)))
    wide = _Z / math.sqrt(count - 3)
    return Found(coefficient, max(coefficient - math.tanh(z - wide), math.tanh(z + wide) - coefficient))


def resampled(
    statistic: Callable[[Sequence[int]], float], count: int, *, times: int = _RESAMPLES, seed: int = 1
) -> Found:
    """A statistic of `count` cases that are drawn again with repetition (bootstrap); it is given the cases' numbers.

    For what compares the same cases with one another, whose intervals are not independent.
    """
    if count < 2:
        return Found(statistic(range(count)) if count else math.nan, math.inf)
    draws = np.random.default_rng(seed)
    found = [statistic(draws.integers(0, count, count).tolist()) for _ in range(times)]
    value = float(statistic(range(count)))
    low, high = np.nanquantile(found, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return Found(value, max(value - float(low), float(high) - value, 0.0))
