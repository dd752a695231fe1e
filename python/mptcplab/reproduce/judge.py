"""The rules by which a claim is judged: one for each kind of number, for all papers.

A *check* holds what was published and what was found; its verdict follows from these alone, and no caller can give it
a tolerance. The kinds, and why their tolerances are what they are (docs/decisions/0012-one-judge-for-all-papers.md):

| kind | holds | holds in part |
|---|---|---|
| `Number` | within 10 % of what is published | within 25 % |
| `Ratio`, "so many times" | within a factor of 1.15 | within a factor of 1.35 |
| `Share`, of a whole, or an index | within 5 points; near 0 or all, a quarter of what is left | twice that |
| `Trend` of samples | rank correlation beyond chance, and the outer medians go the same way | the first alone |
| `Order` of two finds | apart by more than 2 % (2 points) and than their intervals | not told apart |
| `Equality` of two finds | within 5 % (5 points) | within 12.5 % (10 points) |
| `Exact`, a calculation or a count | equal in the digits printed | one more or less in the last |

A find whose interval is wider than the tolerance cannot hold, only hold in part: it is not known well enough. A claim
that rests on several checks is as good as the worst of them: it holds if all hold, and differs as soon as one differs.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, Self, get_args

Verdict = Literal["holds", "holds in part", "differs"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

NUMBER: Final = (0.10, 0.25)
RATIO: Final = (1.15, 1.35)
SHARE: Final = (0.05, 0.10)
END: Final = 0.25
"""Of the distance to an end, where that is less than 20 points: a printed 3 % that is found as 7 % is another share."""
LEAST: Final = 0.01
"""But a point at least: shares are printed with about two digits."""
EQUALITY: Final = (0.05, 0.125)
MARGIN: Final = 0.02
"""Two finds that are less apart than this are not told apart: relative, or of the whole for shares."""
FAR: Final = 0.25
"""What "far more", "considerably", "significantly" ask for: more than a number may be off and still agree in part."""
FAR_SHARE: Final = 0.10
CHANCE: Final = 0.01
NO_INFLUENCE: Final = 0.25
"""A rank correlation of 0.25 explains 6 % of the variance of ranks."""

_SLACK: Final = 1e-9
"""A difference that equals the tolerance in decimals may exceed it in binary."""


class Check(ABC):
    """What was published, what was found, and by which rule they are held against one another."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """Computed from the fields, and from nothing else."""

    @property
    def holds(self) -> bool:
        """Whether there is nothing to explain."""
        return self.verdict == VERDICTS[0]

    @abstractmethod
    def text(self) -> str:
        """The comparison in words: the result with its interval, the published value, and the tolerance."""

    @abstractmethod
    def counterexample(self) -> "Check":
        """The same check with a find for which it differs."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        fields = {item.name: getattr(self, item.name) for item in dataclass_fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **{name: _plain(value) for name, value in fields.items() if value is not None}}


def _plain(value: object) -> object:
    """As JSON has it: no infinity, nothing that is not a number; nine digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


def _graded(away: float, holds: float, part: float, half: float = 0.0) -> Verdict:
    """By the distance, and by how well it is known: all three in one unit."""
    if math.isnan(away):
        return "differs"
    slack = _SLACK * max(1.0, holds)
    if away <= holds + slack:
        return "holds" if not half > holds + slack else "holds in part"
    return "holds in part" if away <= part + slack else "differs"


def _known(value: float, half: float | None, *, scale: float = 1.0) -> str:
    return f"{value * scale:.4g}" + ("" if half is None or math.isnan(half) or half == 0 else f" ± {half * scale:.2g}")


def _width(half: float | None) -> float:
    """Of an interval; one that is not known, of a single run, does not count."""
    return 0.0 if half is None or math.isnan(half) else abs(half)


@dataclass(frozen=True)
class Number(Check):
    """A printed quantity with a unit."""

    published: float
    found: float
    half: float | None = None
    """Half of the find's interval, if it has one."""
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        """Refuse what has no relative difference."""
        if self.published == 0:
            raise ValueError("a published 0 has no relative difference: judge it as a share or exactly")

    @property
    def verdict(self) -> Verdict:
        """By the relative difference."""
        unit = abs(self.published)
        return _graded(abs(self.found - self.published) / unit, *NUMBER, _width(self.half) / unit)

    def text(self) -> str:
        """`12.3 ± 0.2 for 12, +2.5 % (10 %)`."""
        off = 100 * (self.found - self.published) / abs(self.published)
        return f"{_known(self.found, self.half)} for {self.published:.4g}, {off:+.1f} % ({NUMBER[0]:.0%})"

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
        if self.published <= 0:
            raise ValueError(f"a ratio is above 0, not {self.published}")

    @property
    def verdict(self) -> Verdict:
        """By the factor between the two."""
        if not self.found > 0:
            return "differs"
        away = abs(math.log(self.found / self.published))
        return _graded(away, math.log(RATIO[0]), math.log(RATIO[1]), _width(self.half) / self.found)

    def text(self) -> str:
        """`2.1 for 2, a factor of 1.05 (1.15)`."""
        factor = max(self.found / self.published, self.published / self.found) if self.found > 0 else math.inf
        return f"{_known(self.found, self.half)} for {self.published:.4g}, a factor of {factor:.2f} ({RATIO[0]})"

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

    @property
    def tolerance(self) -> float:
        """For *holds*. A text's "none" and "all" are no printed shares: hardly any, and nearly all."""
        left = min(abs(self.published), abs(self.whole - self.published)) / self.whole
        return SHARE[0] if self.index or left == 0 else min(SHARE[0], max(LEAST, END * left))

    @property
    def verdict(self) -> Verdict:
        """By the difference in points."""
        away = abs(self.found - self.published) / self.whole
        return _graded(away, self.tolerance, 2 * self.tolerance, _width(self.half) / self.whole)

    def text(self) -> str:
        """`48 % for 50 %, -2 points (5)`."""
        scale = 100 / self.whole
        off = scale * (self.found - self.published)
        return (
            f"{_known(self.found, self.half, scale=scale)} % for {self.published * scale:.4g} %, "
            f"{off:+.1f} points ({100 * self.tolerance:.3g})"
        )

    def counterexample(self) -> Self:
        """The other end of what is possible."""
        return replace(self, found=0.0 if self.published > 0.5 * self.whole else self.whole, half=None)


def jain(published: float, found: float, count: int = 2) -> Share:
    """Jain's index, as the unevenness that it stands for: the rates' coefficient of variation, √(1/J − 1).

    The index itself is 0.95 for two rates of 61 and 39 %: points of it are not points of a share.
    """

    return Share(unevenness(published, count), unevenness(found, count), index=True)


def unevenness(index: float, count: int = 2) -> float:
    """The coefficient of variation that an index of Jain of so many rates stands for."""
    return math.sqrt(max(1 / index - 1, 0.0)) if 1 / count <= index + _SLACK else math.nan


@dataclass(frozen=True)
class Trend(Check):
    """How one quantity goes with another over many samples."""

    sense: Literal["rises", "falls", "flat"]
    rho: float
    """Spearman's rank correlation."""
    p: float
    """Probability of as much by chance."""
    first: float
    """Median of the lowest batch."""
    last: float
    """Median of the highest."""
    kind: ClassVar[str] = "trend"

    @property
    def verdict(self) -> Verdict:
        """By sign and chance; *flat* by how much of the ranks' variance is explained."""
        if math.isnan(self.rho) or math.isnan(self.p):
            return "differs"
        if self.sense == "flat":
            if abs(self.rho) <= NO_INFLUENCE:
                return "holds"
            # Larger, and chance all the same: too few samples to say that there is none.
            return "holds in part" if self.p >= CHANCE else "differs"
        sign = 1 if self.sense == "rises" else -1
        if not (sign * self.rho > 0 and self.p < CHANCE):
            return "differs"
        return "holds" if sign * (self.last - self.first) > 0 else "holds in part"

    def text(self) -> str:
        """`ρ = -0.71 (p < 0.001), medians 0.9 → 0.5`."""
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        rule = f"|ρ| ≤ {NO_INFLUENCE}" if self.sense == "flat" else f"{self.sense} with p < {CHANCE}"
        return f"ρ = {self.rho:+.2f} ({p}), medians {self.first:.3g} → {self.last:.3g} ({rule})"

    def counterexample(self) -> Self:
        """The opposite sense."""
        rho = -0.9 if self.sense == "rises" else 0.9
        return replace(self, rho=rho, p=1e-9, first=0.0, last=rho)


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

    def _margin(self, relative: float, share: float) -> float:
        if self.whole is not None:
            return share * self.whole
        return relative * max(abs(self.smaller), abs(self.larger))

    @property
    def verdict(self) -> Verdict:
        """By the gap between the two."""
        gap = self.larger - self.smaller
        if math.isnan(gap):
            return "differs"
        if math.isinf(gap):
            return "holds" if gap > 0 else "differs"
        margin = self._margin(MARGIN, MARGIN)
        noise = math.hypot(_width(self.smaller_half), _width(self.larger_half))
        wanted = noise if self.limit else max(margin, noise)
        if self.far:
            wanted = max(self._margin(FAR, FAR_SHARE), noise)
        slack = _SLACK * max(abs(self.smaller), abs(self.larger))
        if gap > wanted - slack and (self.limit or gap > 0):
            return "holds"
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
        found = _known(self.smaller, self.smaller_half, scale=scale), _known(self.larger, self.larger_half, scale=scale)
        return f"{found[0]}{unit} {'≤' if self.limit else '<'} {found[1]}{unit} ({by})"

    def counterexample(self) -> Self:
        """The other way round, far apart."""
        low = min(self.smaller, self.larger, 0.0) - 1.0
        return replace(
            self, smaller=max(self.smaller, self.larger, 1.0) + (self.whole or 1.0), larger=low, far=self.far
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

    @property
    def verdict(self) -> Verdict:
        """By the difference, relative to the larger, or in points."""
        half = math.hypot(_width(self.one_half), _width(self.other_half))
        if self.whole is not None:
            return _graded(abs(self.one - self.other) / self.whole, *SHARE, half / self.whole)
        unit = max(abs(self.one), abs(self.other))
        if unit == 0:
            return "holds"
        return _graded(abs(self.one - self.other) / unit, *EQUALITY, half / unit)

    def text(self) -> str:
        """`1.2 and 1.21 (5 %)`."""
        scale = 1.0 if self.whole is None else 100 / self.whole
        unit = "" if self.whole is None else " %"
        by = f"{EQUALITY[0]:.0%}" if self.whole is None else f"{100 * SHARE[0]:.0f} points"
        found = _known(self.one, self.one_half, scale=scale), _known(self.other, self.other_half, scale=scale)
        return f"{found[0]}{unit} and {found[1]}{unit} ({by})"

    def counterexample(self) -> Self:
        """Far apart."""
        return replace(self, other=self.one + 2 * max(abs(self.one), self.whole or 1.0), one_half=None, other_half=None)


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
        return _graded(abs(self.found - self.published) / unit, 0.5, 1.0)

    def text(self) -> str:
        """`38.462 for 38.46 (the digits printed)`."""
        return f"{self.found:.{self.digits + 2}f} for {self.published:.{self.digits}f} (the digits printed)"

    def counterexample(self) -> Self:
        """Three more in the last digit."""
        return replace(self, found=self.published + 3 * 10.0**-self.digits)


@dataclass(frozen=True)
class Several(Check):
    """Several checks that one claim rests on."""

    checks: tuple[Check, ...] = field(default=())
    kind: ClassVar[str] = "several"

    def __post_init__(self) -> None:
        """Refuse a claim that rests on nothing: nothing found is judged as a find that is not a number."""
        if not self.checks:
            raise ValueError("a claim needs at least one check")

    @property
    def verdict(self) -> Verdict:
        """The worst of them: a conjunction of which one part is false is false."""
        verdicts = {check.verdict for check in self.checks}
        return next(verdict for verdict in reversed(VERDICTS) if verdict in verdicts)

    def text(self) -> str:
        """`3 of 4 hold: …`, those that do not hold first."""
        order = {verdict: number for number, verdict in enumerate(reversed(VERDICTS))}
        shown = sorted(self.checks, key=lambda check: order[check.verdict])
        held = sum(check.verdict == "holds" for check in self.checks)
        rest = f"; and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
        return f"{held} of {len(shown)} hold: " + "; ".join(check.text() for check in shown[:_SHOWN]) + rest

    def counterexample(self) -> Self:
        """None of them."""
        return replace(self, checks=tuple(check.counterexample() for check in self.checks))

    def to_dict(self) -> dict[str, Any]:
        """Each of them."""
        return {"kind": self.kind, "checks": [check.to_dict() for check in self.checks]}


_SHOWN: Final = 6


def every(*checks: Check | Iterable[Check]) -> Check:
    """One check of many; of a single one, that."""
    flat: list[Check] = []
    for each in checks:
        flat += [each] if isinstance(each, Check) else list(each)
    return flat[0] if len(flat) == 1 else Several(tuple(flat))


def below(smaller: float, larger: float, *, whole: float | None = None, far: bool = False) -> Order:
    """That one find is smaller than another."""
    return Order(smaller, larger, whole=whole, far=far)


def at_most(found: float, limit: float, half: float | None = None, *, whole: float | None = None) -> Order:
    """That a find does not exceed a printed limit."""
    return Order(found, limit, smaller_half=half, whole=whole, limit=True)


def at_least(found: float, limit: float, half: float | None = None, *, whole: float | None = None) -> Order:
    """That a find reaches a printed limit."""
    return Order(limit, found, larger_half=half, whole=whole, limit=True)


def within(found: float, low: float, high: float, half: float | None = None, *, whole: float | None = None) -> Check:
    """That a find lies in a printed range: it is held against the nearer limit."""
    nearer = at_least if found < (low + high) / 2 else at_most
    return nearer(found, low if nearer is at_least else high, half, whole=whole)


def slightly(smaller: float, larger: float) -> Check:
    """That one find is smaller than another, and not by much: both above 0."""
    return every(below(smaller, larger), Ratio(1.0, larger / smaller))


def fact(seen: bool) -> Exact:
    """That something is so, of which there is no more or less: an option is there, or not."""
    return Exact(1, int(seen))


def steps(values: Iterable[float], sense: Literal["rises", "falls"], *, whole: float | None = None) -> Check:
    """That a few finds in a row rise, or fall, each beyond the one before, and the last beyond the first."""
    given = list(values)
    pairs = [*pairwise(given), *([(given[0], given[-1])] if len(given) > 2 else [])]
    return every(below(*(pair if sense == "rises" else reversed(pair)), whole=whole) for pair in pairs)


_KINDS: Final[Mapping[str, type[Check]]] = {
    kind.kind: kind for kind in (Number, Ratio, Share, Trend, Order, Equality, Exact)
}


def from_dict(data: Mapping[str, Any]) -> Check:
    """What `to_dict` answered. Raises ValueError for a kind that there is not."""
    if data.get("kind") == Several.kind:
        return Several(tuple(from_dict(each) for each in data["checks"]))
    made = _KINDS.get(str(data.get("kind")))
    if made is None:
        raise ValueError(f"found the kind {data.get('kind')!r}; expected one of {', '.join(_KINDS)} or several")
    given: dict[str, Any] = {
        name: float(value) if value in _NOT_FINITE else value for name, value in data.items() if name != "kind"
    }
    return made(**given)


_NOT_FINITE: Final = ("nan", "inf", "-inf")
