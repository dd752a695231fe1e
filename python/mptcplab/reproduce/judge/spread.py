"""How much values scatter, and a single value beside values that scatter.

A standard deviation of three values says little: the ratio of two of them, from equal distributions, lies between
0.16 and 6.2 in 95 of 100 cases. So a printed deviation is not held against a tolerance but against chance.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from scipy import special, stats

from mptcplab.reproduce.judge.numbers import Number, Share
from mptcplab.reproduce.judge.verdict import CHANCE, CONFIDENCE, NUMBER, Check, Verdict, width


def _by_chance(p: float) -> Verdict:
    if math.isnan(p):
        return "differs"
    return "holds" if p >= 1 - CONFIDENCE else "holds in part" if p >= CHANCE else "differs"


@dataclass(frozen=True)
class Deviation(Check):
    """A printed standard deviation of `n` values, and one that was found of `found_of` values: the F test.

    An exact repetition holds in 95 of 100 cases. Source: any text on the F test of equal variances; the values are
    taken to be independent and normal.
    """

    published: float
    found: float
    n: int
    """Of how many values the printed one is; at least 2."""
    found_of: int
    """Of how many values ours is; at least 2."""
    kind: ClassVar[str] = "deviation"

    def __post_init__(self) -> None:
        """Refuse what has no spread."""
        if self.n < 2 or self.found_of < 2:
            raise ValueError("a standard deviation needs two values at least")
        if not self.published > 0:
            raise ValueError(f"a printed standard deviation is above 0, not {self.published}")

    @property
    def p(self) -> float:
        """Probability of a ratio as far from 1, either way, if both scatter alike."""
        if not self.found > 0:
            return math.nan if math.isnan(self.found) else 0.0
        ratio = stats.f(self.found_of - 1, self.n - 1)
        squared = (self.found / self.published) ** 2
        return min(1.0, 2 * min(float(ratio.cdf(squared)), float(ratio.sf(squared))))

    @property
    def verdict(self) -> Verdict:
        """By chance: p of 5 %, in part 1 %."""
        return _by_chance(self.p)

    def text(self) -> str:
        """`0.12 (of 20) for 0.10 (of 3), F test p = 0.83 (5 %)`."""
        return (
            f"{self.found:.4g} (of {self.found_of}) for {self.published:.4g} (of {self.n}), "
            f"F test p = {self.p:.3f} ({1 - CONFIDENCE:.0%})"
        )

    def counterexample(self) -> Self:
        """So much more that chance does not make it."""
        beyond = math.sqrt(float(stats.f(self.found_of - 1, self.n - 1).isf(CHANCE / 4)))
        return replace(self, found=2 * beyond * self.published)


@dataclass(frozen=True)
class Deviations(Check):
    """All the printed standard deviations of a table at once, which single ones cannot tell from others.

    The statistic is the mean of the logarithms of the ratios of variances. The logarithm of a variance of ν degrees of
    freedom has the variance ψ₁(ν/2) and the mean ψ(ν/2) − ln(ν/2) (Bartlett and Kendall 1946), so that the mean over
    the table is nearly normal.
    """

    ratio: float
    """Geometric mean of found over published."""
    count: int
    """Of so many."""
    n: int
    """Of how many values each printed one is."""
    found_of: int
    """Of how many values each of ours is."""
    kind: ClassVar[str] = "deviations"

    @property
    def _expected(self) -> tuple[float, float]:
        """Mean and standard deviation of ln `ratio` by chance."""
        ours, theirs = (self.found_of - 1) / 2, (self.n - 1) / 2
        mean = special.digamma(ours) - math.log(ours) - special.digamma(theirs) + math.log(theirs)
        variance = (special.polygamma(1, ours) + special.polygamma(1, theirs)) / self.count
        return float(mean) / 2, math.sqrt(float(variance)) / 2

    @property
    def p(self) -> float:
        """Probability of a mean as far from what is expected, either way."""
        if not self.ratio > 0:
            return math.nan if math.isnan(self.ratio) else 0.0
        mean, deviation = self._expected
        return float(2 * stats.norm.sf(abs(math.log(self.ratio) - mean) / deviation))

    @property
    def verdict(self) -> Verdict:
        """By chance: p of 5 %, in part 1 %."""
        return _by_chance(self.p)

    def text(self) -> str:
        """`60 deviations, 0.98 times those printed, p = 0.85 (5 %)`."""
        return f"{self.count} deviations, {self.ratio:.3g} times those printed, p = {self.p:.3f} ({1 - CONFIDENCE:.0%})"

    def counterexample(self) -> Self:
        """So much more that chance does not make it."""
        mean, deviation = self._expected
        return replace(self, ratio=math.exp(mean + 6 * deviation))


def deviations(pairs: Iterable[tuple[float, float]], n: int, found_of: int) -> Deviations:
    """Of pairs (published, found); those with a 0 are left out. Raises ValueError if none is left."""
    logs = [math.log(found / published) for published, found in pairs if published > 0 and found > 0]
    if not logs:
        raise ValueError("no pair of deviations above 0")
    return Deviations(math.exp(math.fsum(logs) / len(logs)), len(logs), n, found_of)


@dataclass(frozen=True)
class Single(Check):
    """A published single run beside single runs of ours: where one more run of ours would fall in 95 of 100 cases."""

    of: Number | Share
    """The published value, the mean of our runs, and half of the interval of *one more run* (`single` computes it)."""
    kind: ClassVar[str] = "single"

    @property
    def verdict(self) -> Verdict:
        """Inside the interval it holds, if the interval is no wider than what a number may be off and agree in part."""
        unit = self.of.whole if isinstance(self.of, Share) else abs(self.of.published)
        half, away = width(self.of.half) / unit, abs(self.of.found - self.of.published) / unit
        widest = 2 * self.of.tolerance if isinstance(self.of, Share) else NUMBER[1]
        if away <= half:
            return "holds" if half <= widest else "not known precisely"
        return replace(self.of, half=0.0).verdict

    def text(self) -> str:
        """As the number or share, of one run."""
        return f"one run: {self.of.text()}"

    def counterexample(self) -> Self:
        """That of the number or share."""
        return replace(self, of=self.of.counterexample())

    def to_dict(self) -> dict[str, object]:
        """The number or share in it."""
        return {"kind": self.kind, "of": self.of.to_dict()}


def single(published: float, runs: Iterable[float], *, whole: float | None = None) -> Single:
    """A published single run beside the values of our single runs; `whole` for a share.

    Of a single run of ours nobody knows the spread. Raises ValueError for none.
    """
    values = list(runs)
    if not values:
        raise ValueError("found no runs; expected one at least")
    mean, half = prediction(values)
    return Single(Number(published, mean, half) if whole is None else Share(published, mean, half, whole=whole))


def prediction(values: list[float]) -> tuple[float, float]:
    """The mean, and half of the interval in which one more value lies in 95 of 100 cases (normal, Student's t)."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, math.inf
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    return mean, float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * deviation * math.sqrt(1 + 1 / count)
