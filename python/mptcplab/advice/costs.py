"""What each megabyte over a path that costs money buys."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mptcplab.advice import formats
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.question import Question
from mptcplab.advice.race import Race

_MOST: Final = 5
_NOTHING: Final = 0.005
_LESS: Final = 0.02


@dataclass(frozen=True)
class Cost:
    """A setting by what it sends over paths that cost money."""

    label: str
    paid_share: float
    """Of its bytes."""
    value: str
    """What it gives, in words."""
    gain: float
    """Logarithm of the ratio to the best that costs nothing."""
    unit: str | None
    """Of the figure; None for several kinds of traffic."""
    bought: str
    """What each megabyte over the paid paths adds, in words."""

    def cells(self) -> list[str]:
        """Of a table."""
        gain = "—" if self.paid_share < _NOTHING else formats.better(self.gain, self.unit)
        return [self.label, formats.share(self.paid_share), self.value, gain, self.bought]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "label": self.label,
            "paid_share": self.paid_share,
            "gain": math.exp(self.gain) - 1,
            "each_paid_megabyte": self.bought,
        }


HEADERS: Final = ("setting", "over paid paths", "gives", "against the best that costs nothing", "bought")


def costs(race: Race, question: Question, paid: Sequence[str], chosen: Sequence[Candidate]) -> tuple[Cost, ...]:
    """The settings of which none is both cheaper and better, the cheapest first, and those that were chosen."""
    if not paid:
        return ()
    ran = [each for each in race.results if each.stock or question.purpose == "any" or each in chosen]
    shares = {each: _share(race, question, each, paid) for each in ran}
    ranked = race.ranked(ran)
    nothing = [each for each in ranked if shares[each] < _NOTHING]
    if not nothing:
        return ()
    front: list[Candidate] = []
    for each in ranked:
        if all(shares[each] < shares[other] - _LESS for other in front):
            front.append(each)
    # Of two that cost the same and give the same, the one that was chosen.
    front = [
        each
        for each in front
        if not any(
            abs(shares[each] - shares[one]) < _LESS and abs(race.difference(each, one).mean) < _LESS for one in chosen
        )
    ]
    front = [nothing[0], *[each for each in front[: _MOST - 1] if each != nothing[0]]]
    rows = sorted(dict.fromkeys([*front, *chosen]), key=lambda each: (shares[each] >= _NOTHING, shares[each]))
    return tuple(_cost(race, question, each, nothing[0], shares[each]) for each in rows)


def _share(race: Race, question: Question, candidate: Candidate, paid: Sequence[str]) -> float:
    places = [question.paths.index(path) for path in paid]
    runs = race.results[candidate].values()
    total = math.fsum(math.fsum(run.carried_bytes) for run in runs) or 1.0
    return math.fsum(run.carried_bytes[place] for run in runs for place in places) / total


def _cost(race: Race, question: Question, candidate: Candidate, nothing: Candidate, share: float) -> Cost:
    pairs = sorted(set(race.results[candidate]) & set(race.results[nothing]))
    mine, free = ([race.results[each][pair] for pair in pairs] for each in (candidate, nothing))
    one = len(question.targets) == 1
    unit = mine[0].figures[0].unit if one else None
    mean, before = (_mean([run.figures[0].value for run in runs]) for runs in (mine, free))
    paid_mb = math.fsum(math.fsum(run.carried_bytes) for run in mine) / len(mine) * share / 1e6
    duration_s = question.traffic.duration_s * question.length
    gain = race.difference(candidate, nothing).mean
    if share < _NOTHING:
        bought = "—"
    elif unit == "bit/s" and question.traffic.kind != "video":
        more = (mean - before) / 8e6 * duration_s / paid_mb
        bought = f"{more:.2f} MB more for each paid MB" if more > 0 else "nothing"
    else:
        better = formats.percent(math.exp(gain) - 1)
        bought = f"{better} better for {formats.size(paid_mb * 1e6)} paid" if gain > 0 else "nothing"
    value = formats.quantity(mean, mine[0].figures[0].unit) if one else formats.better(gain, None)
    return Cost(candidate.label, share, value, gain, unit, bought)


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))
