"""What need not be simulated, by calculation: who opens a long download, and what cannot be told or used."""

from collections.abc import Mapping, Sequence
from typing import Final

from mptcplab.advice.candidates import Candidate
from mptcplab.advice.subsets import Reach

_LONG: Final = ("bulk",)
_BUSY: Final = ("bulk", "video", "mix", "scenario")
_ENDLESS: Final = (
    "not tried: sttf weighs when a transfer ends, which takes it long and says nothing of one that goes on"
)
"""Its forecast costs forty times the rest of the run."""
UNMARKED: Final = "not tried: DCTCP answers to packets that queues mark (ECN), and not every path has a queue that does"
LATE: Final = "tried with the best settings only: another first path"
_UNSCALED: Final = "not tried at these rates: its window grows by a segment in each round trip, which does not scale"


def prune(
    candidates: Sequence[Candidate],
    known: Mapping[str, Reach] | None,
    kind: str,
    *,
    marked: bool,
    controls: Sequence[str] | None = None,
) -> tuple[list[Candidate], dict[Candidate, str]]:
    """Who runs, and why the others need not. Those that only differ by their first path come back for the finalists.

    `marked`: a queue on each of the paths marks packets (ECN). `controls`: those that may be tried, where not all are.
    """
    kept, dropped = [], {}
    for each in candidates:
        why = None
        if each.scheduler == "sttf" and kind in _BUSY:
            why = _ENDLESS
        elif each.congestion == "dctcp" and not marked:
            why = UNMARKED
        elif controls is not None and each.congestion not in controls:
            why = _UNSCALED
        elif known is not None and kind in _LONG and len(each.paths) > 1 and each.scheduler == "redundant":
            why = _redundant(each, known)
        if why is None and known is not None and len(each.paths) > 1 and not _opens_well(each, known):
            why = LATE
        if why is None:
            kept.append(each)
        else:
            dropped[each] = why
    return kept, dropped


def _opens_well(candidate: Candidate, known: Mapping[str, Reach]) -> bool:
    """Whether it opens on the nearest path, or on the fastest: who else opens matters less than control and paths."""
    nearest = min(candidate.paths, key=lambda path: (known[path].rtt_s, -known[path].rate_bps, path))
    fastest = max(candidate.paths, key=lambda path: (known[path].rate_bps, -known[path].rtt_s, path))
    return candidate.paths[0] in (nearest, fastest)


def _redundant(candidate: Candidate, known: Mapping[str, Reach]) -> str | None:
    """Every path carries everything: together they are no faster than the fastest."""
    rates = [known[path].rate_bps for path in candidate.paths]
    bound, total = max(rates), sum(rates)
    if bound > 0.8 * total:
        return None
    return (
        f"calculated: every path carries everything, so {bound / 1e6:.4g} Mbit/s is the most it gives, "
        f"of {total / 1e6:.4g} Mbit/s in all"
    )
