"""Which sets of paths compete: a few settings run over each that its bound does not rule out; the best sets stay."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from mptcplab.advice.candidates import Candidate
from mptcplab.advice.question import Question
from mptcplab.advice.race import Race
from mptcplab.advice.simulation import OVERHEAD_HOPS
from mptcplab.advice.subsets import Reach, ordered, window_of

STOCK: Final = (("cubic", "linux"), ("bbr", "linux"))
"""What runs over each set: the kernel's default, and what random loss does not slow down."""
_SHORT_QUEUES: Final = (("mppert", "linux"),)
"""And where a download and a call share the paths, what keeps queues short: other sets of paths suit it."""
FREE: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "bulk": (("bbr", "min-rtt"),),
    "video": (("bbr", "min-rtt"),),
}
"""By traffic, where every scheduler is free."""
_FREE_SHORT: Final = (("bbr", "redundant"), ("lia", "blest"))
"""For short transfers and calls: every path carries everything, or none holds up another."""
_NEAR: Final = math.log(1.25)
"""A set that is farther behind the best is left out."""
_AGAIN: Final = 2
"""Of the sets that may stay, so many times as many run again."""
_PAIRS: Final = (1, 2, 4)
"""How often these run whole, as far as the work allows."""


def probes(kind: str, *, stock: bool) -> tuple[tuple[str, str], ...]:
    """Controls and schedulers that run over each set."""
    if not stock:
        return FREE.get(kind, _FREE_SHORT)
    return (*STOCK, *_SHORT_QUEUES) if kind == "mix" else STOCK


def explore(
    race: Race,
    question: Question,
    known: Mapping[str, Reach] | None,
    window_bytes: int,
    until_hops: float,
    *,
    stock: bool,
    most: int,
    controls: Sequence[str] | None = None,
) -> list[tuple[str, ...]]:
    """The sets of two or more paths that are worth a race, the best first, nearest path first; `most` of them.

    `controls`: those that may be tried, where not all are.
    """
    sets = ordered(question, known, float(window_bytes or window_of(question)))
    if len(sets) <= most:
        return [members for members, _ in sets]
    best = max(result.score for each in race.results.values() for result in each.values())
    kinds = [each for each in probes(question.traffic.kind, stock=stock) if controls is None or each[0] in controls]
    began_hops = race.simulator.work_hops
    part = _part(race, len(sets) * len(kinds), until_hops)
    # A page that has not ended in the part that was simulated looks better than it is.
    counts = part == 1.0 or question.traffic.kind == "bulk"
    scores: dict[tuple[str, ...], float] = {}

    def made_of(members: tuple[str, ...]) -> list[Candidate]:
        return [Candidate(*kind, members, (), stock, window_bytes) for kind in kinds]

    def first(some: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        return sorted(some, key=lambda each: (-round(scores[each], 6), len(each)))

    for members, limit in sets:
        why = None
        if limit < best:
            why = f"calculated: these paths cannot give more than {math.exp(limit - best):.0%} of the best that has run"
        elif race.simulator.work_hops > until_hops and scores:
            why = "not tried: the work went to other sets of paths; a larger --budget tries more"
        if why is not None:
            race.dropped.update(dict.fromkeys(made_of(members), why))
            continue
        scores[members] = max(race.glance(made_of(members), part))
        best = max(best, scores[members]) if counts else best
    near = first(list(scores))[: _AGAIN * most]
    run_hops = (race.simulator.work_hops - began_hops) / max(1, len(scores) * len(kinds)) / part
    for pairs in _PAIRS:
        again = [each for members in near for each in made_of(members)]
        missing = sum(pairs - len(race.results.get(each, ())) for each in again)
        if race.simulator.work_hops + missing * run_hops > until_hops:
            break
        race.extend(again, pairs)
        scores.update({members: max(race.mean(each) for each in made_of(members)) for members in near})
        near = first(near)
    kept = [each for each in near[:most] if scores[each] > scores[near[0]] - _NEAR]
    for members in [*near, *(each for each in scores if each not in near)]:
        if members not in kept:
            behind = max(0.0, 1 - math.exp(scores[members] - scores[near[0]]))
            why = f"{behind:.0%} below {' and '.join(near[0])} with the same settings"
            race.dropped.update(dict.fromkeys(made_of(members), why))
    return kept


def _part(race: Race, runs: int, until_hops: float) -> float:
    """How much of a run a glance at a set of paths has: all of them take half of the work at most."""
    cost = max(result.work_hops for each in race.results.values() for result in each.values())
    part = 1.0
    room_hops = (until_hops - race.simulator.work_hops) / 2
    while part > race.smallest_part and runs * (cost * part + OVERHEAD_HOPS) > room_hops:
        part = max(race.smallest_part, part / 2)
    return part


def nearest_first(paths: Sequence[str], known: Mapping[str, Reach] | None) -> tuple[str, ...]:
    """The paths in the order of their round trips."""
    return tuple(paths if known is None else sorted(paths, key=lambda path: (known[path].rtt_s, path)))
