"""Quantities whose value depends on which of several equal things leads, or in which of two states a run ended."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

from mptcplab.reproduce.judge.numbers import Number
from mptcplab.reproduce.judge.several import every
from mptcplab.reproduce.judge.spread import Single, single
from mptcplab.reproduce.judge.verdict import VERDICTS, Check, Known, Verdict, known

_LEAST_GROUP: Final = 3
_RARE: Final = 0.05
"""A state in fewer runs than this is not one that a single run shows by chance: as everywhere, 5 %."""


def by_rank(
    published: Sequence[float],
    runs: Iterable[Sequence[float]],
    check: Callable[[float, Known], Check] = lambda printed, found: Number(printed, found.mean, found.half),
) -> Check:
    """Printed values of exchangeable things, the largest beside the largest of each of our runs, and so on down.

    Which of five alike subflows leads is chance; how much the leader has is not. `check` makes the check of one rank
    from the printed value and ours. Raises ValueError if a run has another number of values.
    """
    ranked = [sorted(run, reverse=True) for run in runs]
    return every(
        check(printed, known(values))
        for printed, values in zip(sorted(published, reverse=True), zip(*ranked, strict=True), strict=True)
    )


@dataclass(frozen=True)
class State:
    """One of the states in which runs end."""

    part: float
    """Of the runs, 0 to 1."""
    check: Single
    """The published value beside the runs of this state."""


@dataclass(frozen=True)
class Bistable(Check):
    """A published single run of a quantity that has several stable values: it is held against the nearest of them."""

    states: tuple[State, ...]
    kind: ClassVar[str] = "bistable"

    @property
    def verdict(self) -> Verdict:
        """The best of the states that are not rare."""
        verdicts = {state.check.verdict for state in self.states if state.part >= _RARE}
        for verdict in VERDICTS:
            if verdict in verdicts:
                return verdict
        return "differs"

    def text(self) -> str:
        """Every state with its part of the runs."""
        return "; ".join(f"in {state.part:.0%} of the runs {state.check.text()}" for state in self.states)

    def counterexample(self) -> Self:
        """Every state elsewhere."""
        return replace(self, states=tuple(replace(state, check=state.check.counterexample()) for state in self.states))

    def to_dict(self) -> dict[str, Any]:
        """Each state."""
        return {
            "kind": self.kind,
            "states": [{"part": state.part, "check": state.check.to_dict()} for state in self.states],
        }


def bistable(published: float, runs: Iterable[float], *, whole: float | None = None) -> Check:
    """A published single run beside ours: by state where ours fall into two groups, otherwise as `single`.

    Raises ValueError for none.
    """
    values = sorted(runs)
    groups = two_states(values)
    if groups is None:
        return single(published, values, whole=whole)
    return Bistable(tuple(State(len(group) / len(values), single(published, group, whole=whole)) for group in groups))


def two_states(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]] | None:
    """The two groups of sorted values on the sides of the widest gap; None unless it is wider than either group.

    Each group has three values at least. With ten values of one distribution chance makes such a gap in 2 (normal) to
    10 (uniform) of a hundred cases, with twenty in 1.
    """
    count = len(values)
    if count < 2 * _LEAST_GROUP:
        return None
    at = max(range(_LEAST_GROUP, count - _LEAST_GROUP + 1), key=lambda k: values[k] - values[k - 1])
    low, high = values[:at], values[at:]
    widest = max(low[-1] - low[0], high[-1] - high[0])
    return (low, high) if high[0] - low[-1] > widest else None
