"""What limits a setting: links, receive window, send buffer, loss, round trips, or data that waits for earlier data."""

import math
from typing import Final

from mptcplab.advice import formats
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.question import AUTO_WINDOW_BYTES, Question
from mptcplab.advice.race import Race
from mptcplab.advice.subsets import Reach, goodput_bound_bps, reaches, window_of
from mptcplab.advice.traffic import PAGE_BYTES

_FULL: Final = 0.88
"""Of the capacity: a goodput from here on is bound by it. Start and congestion control take the rest."""
_WINDOW_FULL: Final = 0.6
"""Of what a window allows, as it also holds what waits for earlier data."""
_LOSSY: Final = 0.002
_WAITS: Final = 0.15
_ROUND_TRIPS: Final = 0.4
_CARRIES: Final = 0.7
_HEEDLESS: Final = ("bbr",)
"""Controls whose windows random loss does not make small."""
_SEND_BYTES: Final = 4 * 2**20


def limits(race: Race, question: Question, candidate: Candidate) -> list[str]:
    """One sentence, if the cause is known."""
    known = reaches(question)
    if known is None:
        return []
    members = [known[path] for path in candidate.paths]
    unit = next(iter(race.results[candidate].values())).figures[0].unit
    if len(question.targets) > 1:
        return []
    return (
        _of_rate(race, question, candidate, members)
        if unit == "bit/s"
        else _of_time(race, question, candidate, members)
    )


def _mean(race: Race, candidate: Candidate) -> float:
    runs = race.results[candidate].values()
    return math.exp(math.fsum(math.log(run.figures[0].value) for run in runs) / len(runs))


def _of_rate(race: Race, question: Question, candidate: Candidate, members: list[Reach]) -> list[str]:
    got = _mean(race, candidate)
    top = goodput_bound_bps(members, math.inf)
    window = candidate.window_bytes or window_of(question)
    by_window = goodput_bound_bps(members, window)
    if question.traffic.kind == "video" and got > _FULL * 16e6:
        return ["Limited by the video: its best quality is 16 Mbit/s."]
    if got >= _FULL * top:
        links = formats.listed(list(candidate.paths))
        return [f"Limited by the capacity of {links}: {formats.rate(top)} after headers."]
    if by_window < 0.98 * top and got > _WINDOW_FULL * by_window:
        said = f"Limited by the receive window of {formats.size(window)}: it allows {formats.rate(by_window)}"
        if window == AUTO_WINDOW_BYTES:
            said += f" (net.ipv4.tcp_rmem; 6 MiB by default, of which {formats.size(window)} are data)"
        return [f"{said}, the links {formats.rate(top)}."]
    held = [path.name for path in members if path.rate_bps * path.rtt_s / 8 > _SEND_BYTES]
    if held and candidate.scheduler == "linux" and not candidate.window_bytes:
        return [
            f"Limited by the send buffer: Linux's default (net.ipv4.tcp_wmem) of 4 MiB is less than what "
            f"{formats.listed(held)} can have in flight."
        ]
    runs = list(race.results[candidate].values())
    again = math.fsum(run.retransmitted for run in runs) / len(runs)
    lossy = [spec.name for spec in question.specs if spec.name in candidate.paths and spec.loss]
    if lossy and again > _LOSSY and candidate.congestion not in _HEEDLESS:
        return [
            f"Limited by loss: {formats.percent(again)} of the segments are retransmitted, and random loss on "
            f"{formats.listed(lossy)} keeps windows small."
        ]
    return []


def _of_time(race: Race, question: Question, candidate: Candidate, members: list[Reach]) -> list[str]:
    got = _mean(race, candidate)
    runs = list(race.results[candidate].values())
    waits = math.fsum(run.waiting_s for run in runs) / len(runs)
    nearest = min(path.rtt_s for path in members)
    if nearest > 0.5 * got:
        return [f"Limited by distance: the round trip is {formats.time(nearest)} of the {formats.time(got)}."]
    if len(members) > 1 and waits > _WAITS * got:
        return [f"Limited by order: data that has arrived waits {formats.time(waits)} on average for earlier data."]
    if question.traffic.kind != "web":
        return []
    bytes_s = PAGE_BYTES * 8 / math.fsum(path.rate_bps for path in members)
    if bytes_s < _ROUND_TRIPS * got:
        return [
            f"Limited by round trips, of handshakes, requests and slow start: the links could carry the bytes of a "
            f"page in {formats.time(bytes_s)} of the {formats.time(got)}."
        ]
    if bytes_s > _CARRIES * got:
        links = formats.listed([path.name for path in members])
        return [f"Limited by the capacity of {links}: the bytes of a page take {formats.time(bytes_s)}."]
    return []
