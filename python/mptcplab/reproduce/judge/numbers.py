"""Printed numbers: quantities, ratios, shares, and results of calculations."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from mptcplab.reproduce.judge.verdict import (
    END,
    LEAST,
    NUMBER,
    RATIO,
    SHARE,
    SLACK,
    Check,
    Verdict,
    figure,
    graded,
    shown,
    take,
    width,
)


@dataclass(frozen=True)
class Number(Check):
    """A printed quantity with a unit."""

    published: float
    found: float
    half: float | None = None
    """Half of the find's 95 % interval; 0 for a calculation."""
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        """Refuse what has no relative difference."""
        take(self, "found", "half")
        if self.published == 0:
            raise ValueError("a published 0 has no relative difference: judge it as a share or exactly")

    @property
    def has_interval(self) -> bool:
        """Whether it is stated."""
        return self.half is not None

    @property
    def verdict(self) -> Verdict:
        """By the relative difference."""
        unit = abs(self.published)
        return graded(abs(self.found - self.published) / unit, *NUMBER, width(self.half) / unit)

    def text(self) -> str:
        """`12.3 ± 0.2 for 12, +2.5 % (10 %)`."""
        off = 100 * (self.found - self.published) / abs(self.published)
        return f"{shown(self.found, self.half)} for {figure(self.published)}, {off:+.1f} % ({NUMBER[0]:.0%})"

    def counterexample(self) -> Self:
        """Twice as much."""
        return replace(self, found=2 * self.published, half=None)


@dataclass(frozen=True)
class Ratio(Check):
    """One quantity over another, above 0: "so many times"."""

    published: float
    found: float
    half: float | None = None
    kind: ClassVar[str] = "ratio"

    def __post_init__(self) -> None:
        """Refuse what is no ratio."""
        take(self, "found", "half")
        if self.published <= 0:
            raise ValueError(f"a ratio is above 0, not {self.published}")

    @property
    def has_interval(self) -> bool:
        """Whether it is stated."""
        return self.half is not None

    @property
    def verdict(self) -> Verdict:
        """By the factor between the two."""
        if not self.found > 0:
            return "differs"
        away = abs(math.log(self.found / self.published))
        return graded(away, math.log(RATIO[0]), math.log(RATIO[1]), width(self.half) / self.found)

    def text(self) -> str:
        """`2.1 for 2, a factor of 1.05 (1.15)`."""
        factor = max(self.found / self.published, self.published / self.found) if self.found > 0 else math.inf
        return f"{shown(self.found, self.half)} for {figure(self.published)}, a factor of {factor:.2f} ({RATIO[0]})"

    def counterexample(self) -> Self:
        """Twice as much."""
        return replace(self, found=2 * self.published, half=None)


@dataclass(frozen=True)
class Share(Check):
    """A part of a whole, or an index; the benefit of a second path, which goes from -1 to 1, is one."""

    published: float
    found: float
    half: float | None = None
    whole: float = 1.0
    """What is all of it: 1, or 100 where it is in percent."""
    index: bool = False
    """Whether it is an index, whose ends are not those of a share."""
    kind: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        """Ask the find for its interval."""
        take(self, "found", "half")

    @property
    def has_interval(self) -> bool:
        """Whether it is stated."""
        return self.half is not None

    @property
    def tolerance(self) -> float:
        """For *holds*. A text's "none" and "all" are no printed shares: hardly any, and nearly all."""
        left = min(abs(self.published), abs(self.whole - self.published)) / self.whole
        return SHARE[0] if self.index or left == 0 else min(SHARE[0], max(LEAST, END * left))

    @property
    def verdict(self) -> Verdict:
        """By the difference in points."""
        away = abs(self.found - self.published) / self.whole
        return graded(away, self.tolerance, 2 * self.tolerance, width(self.half) / self.whole)

    def text(self) -> str:
        """`48 % for 50 %, -2 points (5)`."""
        scale = 100 / self.whole
        off = scale * (self.found - self.published)
        return (
            f"{shown(self.found, self.half, scale=scale)} % for {figure(self.published * scale)} %, "
            f"{off:+.1f} points ({100 * self.tolerance:.3g})"
        )

    def counterexample(self) -> Self:
        """The other end of what is possible."""
        return replace(self, found=0.0 if self.published > 0.5 * self.whole else self.whole, half=None)


def jain(published: float, found: float, count: int = 2, *, half: float | None = None) -> Share:
    """Jain's index, as the unevenness that it stands for: the rates' coefficient of variation, √(1/J − 1).

    The index itself is 0.95 for two rates of 61 and 39 %: points of it are not points of a share. `half` is that of
    the coefficient of variation; a `Found` index brings its own.
    """
    own = getattr(found, "half", None)
    if half is None and own is not None:
        ends = [unevenness(min(1.0, max(1 / count, end)), count) for end in (found - own, found + own)]
        half = max(abs(end - unevenness(found, count)) for end in ends) if math.isfinite(own) else math.inf
    return Share(unevenness(published, count), unevenness(found, count), half, index=True)


def unevenness(index: float, count: int = 2) -> float:
    """The coefficient of variation that an index of Jain of so many rates stands for."""
    return math.sqrt(max(1 / index - 1, 0.0)) if 1 / count <= index + SLACK else math.nan


@dataclass(frozen=True)
class Exact(Check):
    """A printed result of a calculation, or a count, which has no noise."""

    published: float
    found: float
    digits: int = 0
    """Behind the point, as printed."""
    kind: ClassVar[str] = "exact"

    @property
    def verdict(self) -> Verdict:
        """By the last digit printed."""
        unit = 10.0**-self.digits
        return graded(abs(self.found - self.published) / unit, 0.5, 1.0)

    def text(self) -> str:
        """`38.462 for 38.46 (the digits printed)`."""
        return f"{self.found:.{self.digits + 2}f} for {self.published:.{self.digits}f} (the digits printed)"

    def counterexample(self) -> Self:
        """Three more in the last digit."""
        return replace(self, found=self.published + 3 * 10.0**-self.digits)


def fact(seen: bool) -> Exact:
    """That something is so, of which there is no more or less: an option is there, or not."""
    return Exact(1, int(seen))
