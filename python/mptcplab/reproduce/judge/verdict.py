"""What a check is, its four verdicts, and the tolerances that all papers share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar, Final, Literal, get_args

from scipy import stats

Verdict = Literal["holds", "holds in part", "not known precisely", "differs"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
"""From the best to the worst, the order in which a conjunction takes the worst of its parts."""

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
CONFIDENCE: Final = 0.95

SLACK: Final = 1e-9
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

    @property
    def has_interval(self) -> bool:
        """Whether the check says how precisely the find is known: 0 for a calculation. A random find must say it."""
        return True

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
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


def graded(away: float, holds: float, part: float, half: float = 0.0) -> Verdict:
    """By the distance, and by how well it is known: all in one unit.

    A published value inside an interval that is wider than the tolerance is neither confirmed nor refuted.
    """
    if math.isnan(away):
        return "differs"
    slack = SLACK * max(1.0, holds)
    if half > holds + slack and away <= half:
        return "not known precisely"
    if away <= holds + slack:
        return "holds"
    return "holds in part" if away <= part + slack else "differs"


def figure(value: float, digits: int = 4) -> str:
    """A number with so many digits, without an exponent as long as it has fewer than nine before the point."""
    usual = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+0" in usual else usual


def shown(value: float, half: float | None, *, scale: float = 1.0) -> str:
    """`12.3 ± 0.2`."""
    exact = half is None or math.isnan(half) or half == 0
    return figure(value * scale) + ("" if exact or half is None else f" ± {figure(half * scale, 2)}")


def take(check: Check, find: str, half: str) -> None:
    """Of a find that knows its interval (`found.Found`) the interval, where the check was given none."""
    value = getattr(check, find)
    own = getattr(value, "half", None)
    if own is None:
        return
    object.__setattr__(check, find, float(value))
    if getattr(check, half) is None:
        object.__setattr__(check, half, own)


def width(half: float | None) -> float:
    """Of an interval; one that is not known does not count here: `has_interval` and `problems` see to it."""
    return 0.0 if half is None or math.isnan(half) else abs(half)


@dataclass(frozen=True)
class Known:
    """A mean of independent values, and how precisely it is known."""

    mean: float
    half: float
    """Half of the 95 % confidence interval (Student's t); infinite with a single value, whose spread nobody knows."""
    count: int


def known(values: Iterable[float | None]) -> Known:
    """The mean of one value a seed. Values that are missing are left out; of none the mean is not a number."""
    given = [float(value) for value in values if value is not None and not math.isnan(value)]
    count = len(given)
    if count < 2:
        return Known(given[0] if given else math.nan, math.inf, count)
    mean = math.fsum(given) / count
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in given) / (count - 1))
    return Known(mean, float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * deviation / math.sqrt(count), count)
