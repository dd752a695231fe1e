"""What need not be simulated, by calculation: the round model for transfers, times and rates for long downloads."""

from collections.abc import Sequence
from typing import Final

from mptcplab.advice.candidates import Candidate
from mptcplab.advice.paths import PathSpec
from mptcplab.models.rounds import ready_times_s

_NEGLIGIBLE: Final = 0.03
"""Of a run: a choice that cannot change more of it than this is not tried before the others are settled."""
_LONG: Final = ("bulk",)
_BUSY: Final = ("bulk", "video", "mix", "scenario")
_ENDLESS: Final = (
    "not tried: sttf weighs when a transfer ends, which takes it long and says nothing of one that goes on"
)
"""Its forecast costs forty times the rest of the run."""
UNMARKED: Final = "not tried: DCTCP answers to packets that queues mark (ECN), and not every path has a queue that does"


def prune(
    candidates: Sequence[Candidate],
    specs: Sequence[PathSpec],
    kind: str,
    duration_s: float,
    direction: str,
    *,
    marked: bool,
) -> tuple[list[Candidate], dict[Candidate, str]]:
    """Who runs, and why the others need not. Those that only differ by their first path come back for the finalists.

    `marked`: a queue on each of the paths marks packets (ECN).
    """
    dropped = {each: _ENDLESS for each in candidates if each.scheduler == "sttf" and kind in _BUSY}
    dropped |= {each: UNMARKED for each in candidates if each.congestion == "dctcp" and not marked}
    candidates = [each for each in candidates if each not in dropped]
    if not specs or kind not in _LONG:
        return candidates, dropped
    by_name = {spec.name: spec for spec in specs}
    rates = {spec.name: spec.down_bps if direction == "down" else spec.up_bps for spec in specs}
    best_first = min(by_name, key=lambda name: (by_name[name].rtt_s.middle, -rates[name], name))
    kept = []
    for candidate in candidates:
        reason = None
        if not candidate.is_tcp and not candidate.backup:
            reason = _order(candidate, by_name, best_first, duration_s) or _redundant(candidate, rates)
        if reason is None:
            kept.append(candidate)
        else:
            dropped[candidate] = reason
    return kept, dropped


def _order(candidate: Candidate, specs: dict[str, PathSpec], best: str, duration_s: float) -> str | None:
    """The first path decides when each subflow is ready, which is all that it decides of a long download."""
    first = candidate.paths[0]
    if first == best:
        return None
    others = [best, *(name for name in specs if name != best)]
    here = ready_times_s([specs[name].rtt_s.high for name in candidate.paths], sender_opens=False)
    there = ready_times_s([specs[name].rtt_s.high for name in others], sender_opens=False)
    later_s = max(
        abs(dict(zip(candidate.paths, here, strict=True))[name] - time)
        for name, time in zip(others, there, strict=True)
    )
    if later_s > _NEGLIGIBLE * duration_s:
        return None
    return (
        f"calculated: opening on {first} or on {best} moves when a path is ready by {later_s * 1e3:.0f} ms at most, "
        f"{later_s / duration_s:.1%} of the {duration_s:g} s; tried for the best settings only"
    )


def _redundant(candidate: Candidate, rates: dict[str, float]) -> str | None:
    """Every path carries everything: together they are no faster than the fastest."""
    if candidate.scheduler != "redundant":
        return None
    bound, total = max(rates.values()), sum(rates.values())
    if bound > 0.8 * total:
        return None
    return (
        f"calculated: every path carries everything, so {bound / 1e6:.4g} Mbit/s is the most it gives, "
        f"of {total / 1e6:.4g} Mbit/s in all"
    )
