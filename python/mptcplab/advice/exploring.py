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
FREE: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "bulk": (("bbr", "min-rtt"),),
    "video": (("bbr", "min-rtt"),),
}
"""By traffic, where every scheduler is free."""
_FREE_SHORT: Final = (("bbr", "redundant"), ("lia", "blest"))
"""For short transfers and calls: every path carries everything, or none holds up another."""
_NEAR: Final = math.log(1.25)
"""A set that is farther behind the best is left out."""
_SMALLEST_PART: Final = 1 / 8


def probes(kind: str, *, stock: bool) -> tuple[tuple[str, str], ...]:
    """Controls and schedulers that run over each set."""
    return STOCK if stock else FREE.get(kind, _FREE_SHORT)


def explore(
    race: Race,
    question: Question,
    known: Mapping[str, Reach] | None,
    window_bytes: int,
    until_hops: float,
    *,
    stock: bool,
    most: int,
) -> list[tuple[str, ...]]:
    """The sets of two or more paths that are worth a race, the best first, nearest path first; `most` of them."""
    sets = ordered(question, known, float(window_bytes or window_of(question)))
    if len(sets) <= most:
        return [members for members, _ in sets]
    best = max(result.score for each in race.results.values() for result in each.values())
    kinds = probes(question.traffic.kind, stock=stock)
    part = _part(race, len(sets) * len(kinds), until_hops)
    scores: dict[tuple[str, ...], float] = {}
    for members, limit in sets:
        made = [Candidate(*kind, members, (), stock, window_bytes) for kind in kinds]
        why = None
        if limit < best:
            why = f"calculated: these paths cannot give more than {math.exp(limit - best):.0%} of the best that has run"
        elif race.simulator.work_hops > until_hops and scores:
            why = "not tried: the work went to other sets of paths; a larger --budget tries more"
        if why is not None:
            race.dropped.update(dict.fromkeys(made, why))
            continue
        scores[members] = max(race.glance(made, part))
        best = max(best, scores[members])
    ranked = sorted(scores, key=lambda each: (-round(scores[each], 6), len(each)))
    kept = [each for each in ranked[:most] if scores[each] > scores[ranked[0]] - _NEAR]
    for members in ranked:
        if members not in kept:
            behind = 1 - math.exp(scores[members] - scores[ranked[0]])
            why = f"{behind:.0%} below {' and '.join(ranked[0])} with the same settings"
            race.dropped.update({Candidate(*kind, members, (), stock, window_bytes): why for kind in kinds})
    return kept


def _part(race: Race, runs: int, until_hops: float) -> float:
    """How much of a run a glance at a set of paths has: where every set runs, the work must last."""
    cost = max(result.work_hops for each in race.results.values() for result in each.values())
    part = 1.0
    while part > _SMALLEST_PART and runs * (2 * cost * part + OVERHEAD_HOPS) > until_hops - race.simulator.work_hops:
        part /= 2
    return part


def nearest_first(paths: Sequence[str], known: Mapping[str, Reach] | None) -> tuple[str, ...]:
    """The paths in the order of their round trips."""
    return tuple(paths if known is None else sorted(paths, key=lambda path: (known[path].rtt_s, path)))
