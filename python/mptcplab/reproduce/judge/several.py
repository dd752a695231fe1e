"""Claims that rest on several checks."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, Self

from mptcplab.reproduce.judge.numbers import Ratio
from mptcplab.reproduce.judge.order import below
from mptcplab.reproduce.judge.verdict import VERDICTS, Check, Verdict

_SHOWN: Final = 6


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
    def has_interval(self) -> bool:
        """Whether each of them states it."""
        return all(check.has_interval for check in self.checks)

    @property
    def verdict(self) -> Verdict:
        """The worst of them: a conjunction of which one part is false is false, and unknown if one is unknown."""
        verdicts = {check.verdict for check in self.checks}
        return next(verdict for verdict in reversed(VERDICTS) if verdict in verdicts)

    def text(self) -> str:
        """`3 of 4 hold: …`, those that do not hold first."""
        order = {verdict: number for number, verdict in enumerate(reversed(VERDICTS))}
        sorted_checks = sorted(self.checks, key=lambda check: order[check.verdict])
        held = sum(check.verdict == "holds" for check in self.checks)
        rest = f"; and {len(sorted_checks) - _SHOWN} more" if len(sorted_checks) > _SHOWN else ""
        told = "; ".join(check.text() for check in sorted_checks[:_SHOWN])
        return f"{held} of {len(sorted_checks)} hold: {told}{rest}"

    def counterexample(self) -> Self:
        """None of them."""
        return replace(self, checks=tuple(check.counterexample() for check in self.checks))

    def to_dict(self) -> dict[str, Any]:
        """Each of them."""
        return {"kind": self.kind, "checks": [check.to_dict() for check in self.checks]}


def every(*checks: Check | Iterable[Check]) -> Check:
    """One check of many; of a single one, that."""
    flat: list[Check] = []
    for each in checks:
        flat += [each] if isinstance(each, Check) else list(each)
    return flat[0] if len(flat) == 1 else Several(tuple(flat))


def slightly(
    smaller: float, larger: float, smaller_half: float | None = None, larger_half: float | None = None
) -> Check:
    """That one find is smaller than another, and not by much: both above 0."""
    half = None
    if smaller_half is None and larger_half is None:
        return every(below(smaller, larger), Ratio(1.0, larger / smaller))
    if smaller_half is not None and larger_half is not None:
        half = larger / smaller * ((smaller_half / smaller) ** 2 + (larger_half / larger) ** 2) ** 0.5
    return every(below(smaller, larger, smaller_half, larger_half), Ratio(1.0, larger / smaller, half))


def steps(
    values: Iterable[float],
    sense: Literal["rises", "falls"],
    *,
    halves: Iterable[float] | None = None,
    whole: float | None = None,
) -> Check:
    """That a few finds in a row rise, or fall, each beyond the one before, and the last beyond the first."""
    given = [(value, None) for value in values] if halves is None else list(zip(values, halves, strict=True))
    pairs = [*pairwise(given), *([(given[0], given[-1])] if len(given) > 2 else [])]
    ordered = [pair if sense == "rises" else (pair[1], pair[0]) for pair in pairs]
    return every(below(low, high, low_half, high_half, whole=whole) for (low, low_half), (high, high_half) in ordered)
