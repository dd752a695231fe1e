"""The rules by which a claim is judged: one for each kind of number, for all papers.

A *check* holds what was published and what was found; its verdict follows from these alone, and no caller can give it
a tolerance. The kinds, and why their tolerances are what they are (docs/decisions/0012-one-judge-for-all-papers.md and
0020-chance-has-a-rule.md):

| kind | holds | holds in part |
|---|---|---|
| `Number` | within 10 % of what is published | within 25 % |
| `Ratio`, "so many times" | within a factor of 1.15 | within a factor of 1.35 |
| `Share`, of a whole, or an index | within 5 points; near 0 or all, a quarter of what is left | twice that |
| `Trend` of samples | rank correlation beyond chance, and the outer medians go the same way | the first alone |
| `Order` of two finds | apart by more than 2 % (2 points) and than their intervals | not told apart |
| `Equality` of two finds | within 5 % (5 points) | within 12.5 % (10 points) |
| `Exact`, a calculation or a count | equal in the digits printed | one more or less in the last |
| `Deviation`, `deviations`: printed standard deviations | chance makes as much with p ≥ 5 % | with p ≥ 1 % |
| `single`: a published single run | within the interval of one more run of ours | as a number or share |
| `bistable`: a single run of several stable values | within that of a state that is not rare | as a number or share |
| `by_rank`: exchangeable things | each rank, as a number or share | the same |

A published value inside our interval, where that is wider than the tolerance, is *not known precisely*: more runs are
due, and neither agreement nor disagreement has been shown. A claim that rests on several checks is as good as the worst
of them: it holds if all hold, and differs as soon as one differs.
"""

from collections.abc import Mapping
from typing import Any, Final

from mptcplab.reproduce.judge.found import (
    Found,
    correlation_of,
    mean_of,
    median_of,
    part_of,
    quantile_of,
    resampled,
)
from mptcplab.reproduce.judge.numbers import Exact, Number, Ratio, Share, fact, jain, unevenness
from mptcplab.reproduce.judge.order import Equality, Order, at_least, at_most, below, within
from mptcplab.reproduce.judge.several import Several, every, slightly, steps
from mptcplab.reproduce.judge.spread import Deviation, Deviations, Single, deviations, single
from mptcplab.reproduce.judge.states import Bistable, State, bistable, by_rank
from mptcplab.reproduce.judge.trend import Trend
from mptcplab.reproduce.judge.verdict import EQUALITY, MARGIN, VERDICTS, Check, Known, Verdict, figure, known

__all__ = [
    "EQUALITY",
    "MARGIN",
    "VERDICTS",
    "Bistable",
    "Check",
    "Deviation",
    "Deviations",
    "Equality",
    "Exact",
    "Found",
    "Known",
    "Number",
    "Order",
    "Ratio",
    "Several",
    "Share",
    "Single",
    "State",
    "Trend",
    "Verdict",
    "at_least",
    "at_most",
    "below",
    "bistable",
    "by_rank",
    "correlation_of",
    "deviations",
    "every",
    "fact",
    "figure",
    "from_dict",
    "jain",
    "known",
    "mean_of",
    "median_of",
    "part_of",
    "quantile_of",
    "resampled",
    "single",
    "slightly",
    "steps",
    "unevenness",
    "within",
]

_KINDS: Final[Mapping[str, type[Check]]] = {
    kind.kind: kind for kind in (Number, Ratio, Share, Trend, Order, Equality, Exact, Deviation, Deviations)
}
_NOT_FINITE: Final = ("nan", "inf", "-inf")


def from_dict(data: Mapping[str, Any]) -> Check:
    """What `to_dict` answered. Raises ValueError for a kind that there is not."""
    kind = data.get("kind")
    if kind == Several.kind:
        return Several(tuple(from_dict(each) for each in data["checks"]))
    if kind == Single.kind:
        return _single(data)
    if kind == Bistable.kind:
        return Bistable(tuple(State(float(each["part"]), _single(each["check"])) for each in data["states"]))
    made = _KINDS.get(str(kind))
    if made is None:
        others = f"{Several.kind}, {Single.kind} or {Bistable.kind}"
        raise ValueError(f"found the kind {kind!r}; expected one of {', '.join(_KINDS)}, {others}")
    return made(**{name: _number(value) for name, value in data.items() if name != "kind"})


def _single(data: Mapping[str, Any]) -> Single:
    of = from_dict(data["of"])
    if not isinstance(of, Number | Share):
        raise ValueError(f"found a {of.kind} as a single run; expected a number or a share")
    return Single(of)


def _number(value: object) -> Any:  # noqa: ANN401 - a field of any check
    return float(value) if isinstance(value, str) and value in _NOT_FINITE else value
