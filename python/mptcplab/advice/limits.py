"""What binds: the links, the receive window, loss, distance, or data that waits for earlier data."""

import math
from typing import Final

from mptcplab.advice import formats
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.question import Question
from mptcplab.advice.race import Race
from mptcplab.advice.subsets import Reach, goodput_bound_bps, reaches, window_of

_FULL: Final = 0.88
"""Of the capacity: a goodput from here on is bound by it. Start and congestion control take the rest."""
_WINDOW_FULL: Final = 0.6
"""Of what a window allows, as it also holds what waits for earlier data."""
_LOSSY: Final = 0.002
_WAITS: Final = 0.15


def limits(race: Race, question: Question, candidate: Candidate) -> list[str]:
    """One sentence, if the cause is known."""
    known = reaches(question)
    if known is None:
        return []
    members = [known[path] for path in candidate.paths]
    unit = next(iter(race.results[candidate].values())).figures[0].unit
    if len(question.targets) > 1:
        return []
    return _of_rate(race, question, candidate, members) if unit == "bit/s" else _of_time(race, candidate, members)


def _mean(race: Race, candidate: Candidate) -> float:
    runs = race.results[candidate].values()
    return math.exp(math.fsum(math.log(run.figures[0].value) for run in runs) / len(runs))


def _of_rate(race: Race, question: Question, candidate: Candidate, members: list[Reach]) -> list[str]:
    got = _mean(race, candidate)
    top = goodput_bound_bps(members, math.inf)
    window = candidate.window_bytes or window_of(question)
    by_window = goodput_bound_bps(members, window)
    if question.traffic.kind == "video" and got > _FULL * 16e6:
        return ["What binds is the video: its best quality is 16 Mbit/s."]
    if got >= _FULL * top:
        links = formats.listed(list(candidate.paths))
        return [f"What binds is the capacity of {links}: the headers leave {formats.rate(top)} to data."]
    if by_window < 0.98 * top and got > _WINDOW_FULL * by_window:
        said = f"What binds is the receive window of {formats.size(window)}: it allows {formats.rate(by_window)}"
        if not candidate.window_bytes and window == window_of(question):
            said += f" (net.ipv4.tcp_rmem; 6 MiB by default, of which {formats.size(window)} are data)"
        return [f"{said}, the links {formats.rate(top)}."]
    runs = list(race.results[candidate].values())
    again = math.fsum(run.retransmitted for run in runs) / len(runs)
    lossy = [spec.name for spec in question.specs if spec.name in candidate.paths and spec.loss]
    if lossy and again > _LOSSY:
        return [
            f"What binds is loss: {formats.percent(again)} of the segments are sent again, and random loss on "
            f"{formats.listed(lossy)} keeps windows small."
        ]
    return []


def _of_time(race: Race, candidate: Candidate, members: list[Reach]) -> list[str]:
    got = _mean(race, candidate)
    runs = list(race.results[candidate].values())
    waits = math.fsum(run.waiting_s for run in runs) / len(runs)
    nearest = min(path.rtt_s for path in members)
    if nearest > 0.5 * got:
        return [f"What binds is distance: {formats.time(nearest)} of the {formats.time(got)} are the round trip."]
    if len(members) > 1 and waits > _WAITS * got:
        return [f"What binds is order: data that has arrived waits {formats.time(waits)} on average for earlier data."]
    return []
