"""What a sender waits for, by one output of ss: the network, the receiver's window, its own buffer, or its program.

Outstanding is what the program has written and the peer has not acknowledged at the data level (`write_seq - snd_una`,
of TCP Send-Q). A path is full when its congestion window is, or when TCP holds data that it may not send yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mptcplab.diagnose.connections import Flow
from mptcplab.diagnose.facts import Socket

_FULL: Final = 0.75
"""Of the congestion window: between acknowledgments it is never full to the last segment."""
_BUFFER_FULL: Final = 0.55
"""Of the send buffer: the kernel wakes a program only when a third is free."""
_WINDOW_FULL: Final = 0.7
_FEW_SEGMENTS: Final = 4
_SLOWER: Final = 2.5
"""Times another's RTT from which a path makes the other wait."""


@dataclass(frozen=True)
class Look:
    """One moment of a sender."""

    verdict: str
    """`network`, `window`, `buffer`, `program`, or `` where the output does not tell."""
    by: Flow | None = None
    """The slow path that the others wait for."""


def look(flows: Sequence[tuple[Flow, Socket]], master: Socket | None) -> Look:
    """What it is at one output; `flows` are those that may send, with what the output says of them."""
    if not flows or any(socket.number("cwnd") is None or socket.number("mss") is None for _, socket in flows):
        return Look("")
    full = [_is_full(socket) for _, socket in flows]
    if all(full):
        return Look("network")
    outstanding = _outstanding(flows, master)
    if outstanding is None:
        return Look("")
    bound = sum(socket.send_q for _, socket in flows)
    mss = max(socket.number("mss") or 0 for _, socket in flows)
    slow = _slow(flows)
    waiting = outstanding - bound > _FEW_SEGMENTS * mss if master is not None else _not_sent(flows) > mss
    buffer = _buffer(flows, master)
    if waiting:
        windows = [value for _, socket in flows if (value := socket.number("snd_wnd")) is not None]
        held = outstanding if master is not None else bound
        if windows and held >= _WINDOW_FULL * max(windows):
            return Look("window", slow)
        if buffer >= _BUFFER_FULL and windows:
            return Look("buffer", slow)
        if not windows:
            return Look("window", slow)
        # What a path has acknowledged and the data level has not yet is under way back.
        room = sum((socket.number("cwnd") or 0) * (socket.number("mss") or 0) for _, socket in flows)
        return Look("program") if master is not None and outstanding - bound <= room else Look("")
    if buffer >= _BUFFER_FULL and outstanding > _FEW_SEGMENTS * mss:
        return Look("buffer", slow if any(full) else None)
    return Look("program")


def _is_full(socket: Socket) -> bool:
    cwnd, in_flight = socket.number("cwnd") or 1, socket.number("unacked") or 0
    if in_flight >= _FULL * cwnd:
        return True
    # BBR holds back by its pace, not by its window, which is twice what the path takes.
    waits = (socket.number("notsent") or 0) > _FEW_SEGMENTS * (socket.number("mss") or 0)
    mss, window = socket.number("mss") or 0, socket.number("snd_wnd")
    paced = (socket.congestion or "").startswith("bbr") or "bbr" in socket.fields
    return paced and waits and (window is None or in_flight * mss < _WINDOW_FULL * window)


def _not_sent(flows: Sequence[tuple[Flow, Socket]]) -> float:
    return sum(socket.number("notsent") or 0 for _, socket in flows)


def _outstanding(flows: Sequence[tuple[Flow, Socket]], master: Socket | None) -> float | None:
    if master is None:
        return flows[0][1].send_q if len(flows) == 1 else None
    return data_level(master)


def data_level(master: Socket) -> int | None:
    """`write_seq - snd_una`, of which ss before 6.9 prints hexadecimal digits and later ones decimal digits."""
    written, acknowledged = (master.fields.get(name, "") for name in ("write_seq", "snd_una"))
    if not written or not acknowledged:
        return None
    # 64 bits have at most 16 hexadecimal digits, and nearly always 19 or 20 decimal ones.
    hexadecimal = max(len(written), len(acknowledged)) <= 16
    try:
        values = [int(text[:20], 16 if hexadecimal else 10) for text in (written, acknowledged)]
    except ValueError:
        return None
    return (values[0] - values[1]) % (1 << 64) if (values[0] - values[1]) % (1 << 64) < 1 << 40 else None


def _buffer(flows: Sequence[tuple[Flow, Socket]], master: Socket | None) -> float:
    """How full the send buffer is."""
    socket = master if master is not None else flows[0][1]
    size, used = socket.memory("tb"), socket.memory("w")
    return used / size if size and used is not None else 0.0


def _slow(flows: Sequence[tuple[Flow, Socket]]) -> Flow | None:
    """The path that the others wait for: much slower, and with data on it."""
    if len(flows) < 2:
        return None
    by_rtt = sorted(flows, key=lambda each: each[1].number("rtt") or 0)
    slowest, fastest = by_rtt[-1], by_rtt[0]
    if (slowest[1].number("rtt") or 0) < _SLOWER * (fastest[1].number("rtt") or 1):
        return None
    return slowest[0] if (slowest[1].number("unacked") or 0) > 0 and slowest[1].send_q >= fastest[1].send_q else None
