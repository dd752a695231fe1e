"""How much an answer costs, and what is done where a run of the network as it is would cost too much of it.

Work is counted in packet hops. A run at R bit/s takes about R × time / (8 × 1,500) data packets and half as many
acknowledgments. Where that is more than a part of the budget, two things make it less:

* Scale: rates, queues, windows, send buffers and files are divided by a whole number; times, the size of packets and
  the number of paths stay. What counts in the dynamics of CUBIC and BBR, the number of round trips and how full queues
  and windows are, stays too, as long as many packets are in flight. It is not allowed with random loss, whose effect
  depends on the window in packets, nor for controls whose window grows by a segment in each round trip; those are not
  tried then.
* Length: a part of the run is simulated, half of it at least where scaling would do.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mptcplab.advice.question import Question
from mptcplab.advice.subsets import Reach

BUDGET_HOPS: Final = 25_000_000
"""What an answer may cost: about ten seconds of CPU time."""
SCALING: Final = ("cubic", "bbr")
"""Controls whose window follows time or rate, not round trips: they scale."""
_HOPS_PER_S: Final = 2_500_000
"""On a core of 2020, with the schedulers and controls mixed as in an answer."""
_RUNS: Final = 50
"""So many runs of the most expensive kind have room in an answer."""
_IN_FLIGHT: Final = 50
"""Packets, on each path, that a scaled one has in flight at least."""
_HALF: Final = 0.5
"""Of a run: what is simulated at least before it is scaled."""
_ROUND_TRIPS: Final = 20
"""Of the longest path: what a run has at least."""
_DEAREST: Final = 1.5
"""Of a run that fits: what one may cost for the sake of its round trips."""
_BUSY: Final = ("bulk", "mix")
_PACKET_BITS: Final = 8 * 1500


@dataclass(frozen=True, slots=True)
class Effort:
    """What a run costs, and what it was made smaller by."""

    run_hops: float
    scale: int
    length: float
    budget_hops: int

    @property
    def cpu_s(self) -> float:
        """What the answer takes at most."""
        return self.budget_hops / _HOPS_PER_S

    @property
    def controls(self) -> tuple[str, ...] | None:
        """Those that may be tried; None for all."""
        return SCALING if self.scale > 1 else None

    def words(self, duration_s: float) -> str | None:
        """What an answer must say of it; None where every run is whole."""
        said = []
        if self.scale > 1:
            said.append(
                f"Simulated at 1/{self.scale} of the rates, queues and windows, with CUBIC and BBR only: the others do "
                "not scale."
            )
        if self.length < 1:
            said.append(f"Simulated for {self.length * duration_s:.3g} s instead of {duration_s:g} s.")
        return " ".join(said) or None


def plan(question: Question, known: Mapping[str, Reach] | None, budget_hops: int) -> Effort:
    """How runs are made to fit."""
    kind = question.traffic.kind
    busy = kind in _BUSY or kind == "scenario"
    if known is None or not busy:
        return Effort(0.0, 1, 1.0, budget_hops)
    duration_s = question.traffic.duration_s
    rate_bps = sum(path.rate_bps for path in known.values())
    hops = 1.5 * rate_bps * duration_s / _PACKET_BITS * _links(question)
    target = budget_hops / _RUNS
    scale, length = 1, min(1.0, target / hops)
    if length < _HALF and question.specs and kind in _BUSY and not any(spec.loss for spec in question.specs):
        in_flight = min(path.rate_bps * path.rtt_s / _PACKET_BITS for path in known.values())
        scale = max(1, min(math.ceil(hops / target), int(in_flight / _IN_FLIGHT)))
    shortest = min(1.0, _ROUND_TRIPS * max(path.rtt_s for path in known.values()) / duration_s)
    fits = target * scale / hops
    length = min(1.0, max(fits, min(shortest, _DEAREST * fits)))
    return Effort(hops / scale * length, scale, length, budget_hops)


def _links(question: Question) -> float:
    return sum(len(question.links_of(path)) for path in question.paths) / len(question.paths)
