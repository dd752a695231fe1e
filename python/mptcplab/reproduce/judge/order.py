"""Two finds, or a find and a printed limit: which is larger, or that they are the same."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from mptcplab.reproduce.judge.verdict import (
    EQUALITY,
    FAR,
    FAR_SHARE,
    MARGIN,
    SHARE,
    SLACK,
    Check,
    Verdict,
    graded,
    shown,
    take,
    width,
)


@dataclass(frozen=True)
class Order(Check):
    """That one find is smaller than another, or a find smaller or larger than a printed limit."""

    smaller: float
    larger: float
    smaller_half: float | None = None
    larger_half: float | None = None
    whole: float | None = None
    """For shares: what is all of it; margins are points of it."""
    far: bool = False
    """Whether the text says far, considerably, significantly."""
    limit: bool = False
    """Whether one of the two is printed: nothing has to be told apart from an exact number but the find's interval."""
    kind: ClassVar[str] = "order"

    def __post_init__(self) -> None:
        """Ask the finds for their intervals."""
        take(self, "smaller", "smaller_half")
        take(self, "larger", "larger_half")

    @property
    def has_interval(self) -> bool:
        """Of both; of a find and a printed limit, the find's."""
        stated = self.smaller_half is not None, self.larger_half is not None
        return any(stated) if self.limit else all(stated)

    def _margin(self, relative: float, share: float) -> float:
        if self.whole is not None:
            return share * self.whole
        return relative * max(abs(self.smaller), abs(self.larger))

    @property
    def verdict(self) -> Verdict:
        """By the gap between the two. It is not known if its interval has both signs and is wider than the margin."""
        gap = self.larger - self.smaller
        if math.isnan(gap):
            return "differs"
        if math.isinf(gap):
            return "holds" if gap > 0 else "differs"
        margin = self._margin(MARGIN, MARGIN)
        noise = math.hypot(width(self.smaller_half), width(self.larger_half))
        wanted = noise if self.limit else max(margin, noise)
        if self.far:
            wanted = max(self._margin(FAR, FAR_SHARE), noise)
        slack = SLACK * max(abs(self.smaller), abs(self.larger))
        if gap > wanted - slack and (self.limit or gap > 0):
            return "holds"
        if noise > margin + slack and abs(gap) <= noise:
            return "not known precisely"
        return "holds in part" if gap >= -margin - slack else "differs"

    def text(self) -> str:
        """`1.2 ± 0.1 < 1.5 (by 2 % at least)`."""
        scale = 1.0 if self.whole is None else 100 / self.whole
        unit = "" if self.whole is None else " %"
        by = (
            (f"by {FAR:.0%}" if self.whole is None else f"by {100 * FAR_SHARE:.0f} points")
            if self.far
            else "a printed limit"
            if self.limit
            else (f"by {MARGIN:.0%}" if self.whole is None else f"by {100 * MARGIN:.0f} points")
        )
        found = shown(self.smaller, self.smaller_half, scale=scale), shown(self.larger, self.larger_half, scale=scale)
        return f"{found[0]}{unit} {'≤' if self.limit else '<'} {found[1]}{unit} ({by})"

    def counterexample(self) -> Self:
        """The other way round, far apart."""
        low = min(self.smaller, self.larger, 0.0) - 1.0
        return replace(
            self,
            smaller=max(self.smaller, self.larger, 1.0) + (self.whole or 1.0),
            larger=low,
            smaller_half=None,
            larger_half=None,
        )


@dataclass(frozen=True)
class Equality(Check):
    """That two finds are the same."""

    one: float
    other: float
    one_half: float | None = None
    other_half: float | None = None
    whole: float | None = None
    """For shares: what is all of it; the tolerance is that of shares."""
    kind: ClassVar[str] = "equality"

    def __post_init__(self) -> None:
        """Ask the finds for their intervals."""
        take(self, "one", "one_half")
        take(self, "other", "other_half")

    @property
    def has_interval(self) -> bool:
        """Of both."""
        return self.one_half is not None and self.other_half is not None

    @property
    def verdict(self) -> Verdict:
        """By the difference, relative to the larger, or in points."""
        half = math.hypot(width(self.one_half), width(self.other_half))
        if self.whole is not None:
            return graded(abs(self.one - self.other) / self.whole, *SHARE, half / self.whole)
        unit = max(abs(self.one), abs(self.other))
        if unit == 0:
            return "holds"
        return graded(abs(self.one - self.other) / unit, *EQUALITY, half / unit)

    def text(self) -> str:
        """`1.2 and 1.21 (5 %)`."""
        scale = 1.0 if self.whole is None else 100 / self.whole
        unit = "" if self.whole is None else " %"
        by = f"{EQUALITY[0]:.0%}" if self.whole is None else f"{100 * SHARE[0]:.0f} points"
        found = shown(self.one, self.one_half, scale=scale), shown(self.other, self.other_half, scale=scale)
        return f"{found[0]}{unit} and {found[1]}{unit} ({by})"

    def counterexample(self) -> Self:
        """Far apart."""
        return replace(self, other=self.one + 2 * max(abs(self.one), self.whole or 1.0), one_half=None, other_half=None)


def below(
    smaller: float,
    larger: float,
    smaller_half: float | None = None,
    larger_half: float | None = None,
    *,
    whole: float | None = None,
    far: bool = False,
) -> Order:
    """That one find is smaller than another."""
    return Order(smaller, larger, smaller_half, larger_half, whole=whole, far=far)


def at_most(found: float, limit: float, half: float | None = None, *, whole: float | None = None) -> Order:
    """That a find does not exceed a printed limit."""
    return Order(found, limit, smaller_half=half, whole=whole, limit=True)


def at_least(found: float, limit: float, half: float | None = None, *, whole: float | None = None) -> Order:
    """That a find reaches a printed limit."""
    return Order(limit, found, larger_half=half, whole=whole, limit=True)


def within(found: float, low: float, high: float, half: float | None = None, *, whole: float | None = None) -> Order:
    """That a find lies in a printed range: it is held against the nearer limit."""
    nearer = at_least if found < (low + high) / 2 else at_most
    return nearer(found, low if nearer is at_least else high, half, whole=whole)
