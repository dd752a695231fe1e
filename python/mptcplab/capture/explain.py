"""Why two runs differ: the first difference of their captures, and what kind of decision it is.

Packets are compared as `divergence` compares them. What shifts nothing (an option, the window announced) is told with
its first packet, and the comparison goes on; the earliest packet that one run sends and the other does not, or sends
later, elsewhere or otherwise, is where they part: from there on everything differs. What it was is told by the side
that acted earlier: the other did something else, or nothing yet. Runs that only close a connection differently send the
same packets: the applications decide when it is closed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Literal

from mptcplab.capture.divergence import (
    TOLERANCE_NS,
    Divergence,
    Sent,
    difference,
    parting,
    sent,
    streams,
    unclosed,
    unpushed,
)

Kind = Literal[
    "initial window",
    "ACK policy",
    "scheduler's choice",
    "retransmission",
    "option",
    "receive window",
    "segment size",
    "send opportunity",
    "handshake",
    "end of the connection",
    "timing",
]
"""What a difference is of. A send opportunity is a segment that one run sends and the other does not send yet, on the
same subflow after its first round trip: the congestion window, pacing, or a scheduler that waits."""

_SAME_SIZE: Final = 0.01
"""Segments of two stacks whose sizes differ by less than this part differ by an option, not by a choice."""
_SHIFTS_NOTHING: Final[dict[str, Kind]] = {"an option": "option", "the window": "receive window"}


@dataclass(frozen=True)
class Difference:
    """One difference: its kind, where it is, and what each run did."""

    kind: Kind
    divergence: Divergence
    why: str
    """In a sentence, why it is of this kind."""

    @property
    def time_s(self) -> float:
        """When the earlier of the two acted."""
        return min(each.time_ns for each in (self.divergence.first, self.divergence.second) if each is not None) / 1e9


@dataclass(frozen=True)
class Flight:
    """A direction of a subflow when the runs part."""

    subflow: str
    sent_bytes: tuple[int, int]
    """By each run."""
    acknowledged_bytes: tuple[int, int]
    """Of them, by what the peer had sent until then."""


@dataclass(frozen=True)
class Reason:
    """What the end that acted knew and decided when the runs part, as its simulator tells."""

    name: str
    """The run's."""
    lines: tuple[str, ...]
    """Those of `mptcplab trace --at`."""


@dataclass(frozen=True)
class Explanation:
    """Two traces side by side."""

    names: tuple[str, str]
    before: tuple[Difference, ...]
    """What differed first without shifting anything, once for each kind."""
    first: Difference | None
    """Where they part; None when they send the same packets."""
    flights: tuple[Flight, ...] = ()
    reasons: tuple[Reason, ...] = ()
    packets: int = 0
    """How many the first run sends; where only the end differs, how many without what closes the connection."""
    end: Difference | None = None
    """How the connections are closed differently, where that is all."""

    def lines(self) -> list[str]:
        """For people."""
        found = []
        if self.first is None:
            found.append(f"{' and '.join(self.names)} send the same {self.packets:,} packets")
            if self.end is not None:
                found.append(f"Only their ends differ, at {self.end.time_s:.6f} s. {self.end.why}")
        else:
            where = self.first.divergence
            found.append(
                f"They first differ at {self.first.time_s:.6f} s, after {where.number} packets: {self.first.kind}."
            )
            found.append(self.first.why)
            for name, each in zip(self.names, (where.first, where.second), strict=True):
                time = "" if each is None else f"{each.time_ns / 1e9:.6f} s "
                found.append(f"  {name}: {time}{each if each is not None else 'nothing more is sent'}")
            for flight in self.flights:
                both = zip(self.names, flight.sent_bytes, flight.acknowledged_bytes, strict=True)
                told = "; ".join(f"{name} {sent_}, of which {acked} acknowledged" for name, sent_, acked in both)
                found.append(f"  bytes sent, {flight.subflow}: {told}")
        for reason in self.reasons:
            found += [f"  why, {reason.name}: {reason.lines[0]}", *(f"  {line}" for line in reason.lines[1:])]
        found += [
            f"Before that, at {each.time_s:.6f} s, without effect on what is sent: {each.kind}. {each.why}"
            for each in self.before
        ]
        return found

    def to_dict(self) -> dict[str, Any]:
        """For the JSON document."""
        return {
            "names": list(self.names),
            "packets": self.packets,
            "first": None if self.first is None else _document(self.first),
            "before": [_document(each) for each in self.before],
            "end": None if self.end is None else _document(self.end),
            "subflows": [
                {
                    "subflow": each.subflow,
                    "sent_bytes": list(each.sent_bytes),
                    "acknowledged_bytes": list(each.acknowledged_bytes),
                }
                for each in self.flights
            ],
            "reasons": [{"name": each.name, "lines": list(each.lines)} for each in self.reasons],
        }


def _document(found: Difference) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "why": found.why,
        "alike": found.divergence.number,
        "time_s": found.time_s,
        "what": [
            None if each is None else {"time_s": each.time_ns / 1e9, "packet": str(each)}
            for each in (found.divergence.first, found.divergence.second)
        ],
    }


def explain(first: Path, second: Path, names: tuple[str, str]) -> Explanation:
    """Compare the captures in two directories."""
    one, other = (unpushed(sent(directory, plain=True)) for directory in (first, second))
    soft: dict[Kind, Difference] = {}
    ours, their = (max(run, key=lambda each: each.length, default=None) for run in (one, other))
    if ours is not None and their is not None and 0 < abs(ours.length - their.length) <= _SAME_SIZE * ours.length:
        # Counted in segments of one size, or nothing would be alike from the first segment on.
        why = f"Full segments have {ours.length} bytes in the first, {their.length} in the second; counted as one size."
        divergence = Divergence(0, "the length", ours, their)
        soft["segment size"] = Difference("segment size", divergence, why)
        other = [_scaled(each, ours.length / their.length) for each in other]
    end = parting(one, other)
    if not soft and end is not None:
        open_ones = unclosed(one)
        if parting(open_ones, unclosed(other)) is None:
            both = zip(names, (end.first, end.second), strict=True)
            why = "; ".join(f"{name}: {each if each is not None else 'nothing more is sent'}" for name, each in both)
            last = Difference("end of the connection", end, f"{why}.")
            return Explanation(names, (), None, packets=len(open_ones), end=last)
    # Path by path nothing may differ where the order does: then nothing is to be explained.
    mine, theirs = ({}, {}) if end is None else (streams(one), streams(other))
    hard: list[tuple[int, str, Sent | None, Sent | None]] = []
    for stream in sorted(mine.keys() | theirs.keys()):
        for a, b in zip_longest(mine.get(stream, ()), theirs.get(stream, ())):
            what = "the number of packets" if a is None or b is None else difference(a, b)
            if what is None:
                continue
            time_ns = min(each.time_ns for each in (a, b) if each is not None)
            kind = _SHIFTS_NOTHING.get(what)
            if kind is None or a is None or b is None:
                hard.append((time_ns, what, a, b))
                break
            if kind not in soft or time_ns < 1e9 * soft[kind].time_s:
                soft[kind] = Difference(kind, _divergence(one, time_ns, what, a, b), _soft(kind, a, b))
    if hard:
        time_ns, what, a, b = min(hard, key=lambda each: each[0])
        told = tuple(each for each in soft.values() if 1e9 * each.time_s < time_ns)
        at = [_place(run, each, time_ns) for run, each in ((one, a), (other, b))]
        before = [run[:place] for run, place in zip((one, other), at, strict=True)]
        after = [run[place:] for run, place in zip((one, other), at, strict=True)]
        found = _classified(Divergence(at[0], what, a, b), before, after)
        return Explanation(names, told, found, _flights(*before), packets=len(one))
    told = tuple(sorted(soft.values(), key=lambda each: each.time_s))
    return Explanation(names, told[1:], told[0] if told else None, packets=len(one))


def _scaled(packet: Sent, factor: float) -> Sent:
    def scaled(offset: int) -> int:
        return 1 + round((offset - 1) * factor) if offset else 0

    return replace(
        packet,
        sequence=scaled(packet.sequence),
        acknowledgment=scaled(packet.acknowledgment),
        length=round(packet.length * factor),
    )


def _place(run: Sequence[Sent], packet: Sent | None, time_ns: int) -> int:
    """How many a run had sent when the runs part, its own packet there not among them."""
    sent_by_then = sum(each.time_ns <= time_ns for each in run)
    return sent_by_then if packet is None else min(sent_by_then, run.index(packet))


def _divergence(one: Sequence[Sent], time_ns: int, what: str, a: Sent | None, b: Sent | None) -> Divergence:
    return Divergence(sum(each.time_ns < time_ns for each in one), what, a, b)


def _soft(kind: Kind, a: Sent, b: Sent) -> str:
    if kind == "option":
        mine, theirs = set(a.options) - set(b.options), set(b.options) - set(a.options)
        told = [f"only the first has {', '.join(sorted(mine))}"] if mine else []
        told += [f"only the second has {', '.join(sorted(theirs))}"] if theirs else []
        return f"{a.place}: {'; '.join(told) or 'the same options in another order'}."
    return f"{a.place} announces {a.window} and {b.window}."


def _flow(packet: Sent) -> tuple[str, int]:
    """A direction of a subflow."""
    return packet.host, packet.flow


def _opens(packet: Sent) -> bool:
    """Whether it is of a handshake."""
    return "SYN" in packet.flags or (
        not packet.length and {"MP_JOIN", "MP_CAPABLE"}.intersection(packet.options) != set()
    )


def _sends_data(packet: Sent) -> bool:
    return packet.length > 0


def _is_again(packet: Sent, before: Sequence[Sent]) -> bool:
    """Whether it has been sent on its subflow before."""
    end = packet.sequence + packet.length
    return _sends_data(packet) and any(
        _flow(each) == _flow(packet) and _sends_data(each) and each.sequence < end <= each.sequence + each.length
        for each in before
    )


def _is_first_flight(packet: Sent, before: Sequence[Sent]) -> bool:
    """Whether the peer has acknowledged nothing of what was sent on this subflow."""
    data = [each for each in before if _flow(each) == _flow(packet) and _sends_data(each)]
    return not data or _acknowledged(packet, before) <= data[0].sequence


def _acknowledged(packet: Sent, before: Sequence[Sent]) -> int:
    """Up to where the peer has acknowledged this direction of a subflow."""
    return max(
        (each.acknowledgment for each in before if each.flow == packet.flow and each.host != packet.host), default=1
    )


def _classified(
    divergence: Divergence, befores: Sequence[Sequence[Sent]], afters: Sequence[Sequence[Sent]]
) -> Difference:
    a, b = divergence.first, divergence.second
    earlier_is_first = b is None or (a is not None and a.time_ns <= b.time_ns)
    earlier, later = (a, b) if earlier_is_first else (b, a)
    before, rest = (befores[0], afters[1]) if earlier_is_first else (befores[1], afters[0])
    who, whom = ("first", "second") if earlier_is_first else ("second", "first")
    assert earlier is not None, "one of them sent something"

    def made(kind: Kind, why: str) -> Difference:
        return Difference(kind, divergence, why)

    # What the same host does at about the same time in the other run.
    at_once = next(
        (each for each in rest if each.host == earlier.host and each.time_ns <= earlier.time_ns + TOLERANCE_NS), None
    )
    if _opens(earlier) and later is not None and _opens(later):
        return made("timing", f"{earlier.place} goes on with a handshake {_apart(earlier, later)} later in the {whom}.")
    if _opens(earlier) or (at_once is not None and _opens(at_once)):
        return made(
            "handshake", f"The {who} goes on with a handshake at {earlier.place}, the {whom} does not at that time."
        )
    if _sends_data(earlier):
        if _is_again(earlier, before):
            return made(
                "retransmission",
                f"The {who} sends {earlier.sequence} to {earlier.sequence + earlier.length} on {earlier.place} again, "
                f"the {whom} does not at that time.",
            )
        if at_once is not None and _sends_data(at_once):
            if at_once.place != earlier.place:
                return made(
                    "scheduler's choice",
                    f"At the same time the {who} sends on {earlier.place}, the {whom} on {at_once.place}.",
                )
            if at_once.length != earlier.length and at_once.sequence == earlier.sequence:
                return made("segment size", f"{earlier.length} bytes in the {who}, {at_once.length} in the {whom}.")
        if _is_first_flight(earlier, before):
            count = sum(_flow(each) == _flow(earlier) and _sends_data(each) for each in before)
            return made(
                "initial window",
                f"The {who} sends segment {count + 1} on {earlier.place} before any acknowledgment of the first, the "
                f"{whom} stops after {count}.",
            )
        return made(
            "send opportunity",
            f"The {who} sends a new segment on {earlier.place}, the {whom} does not at that time: the congestion "
            "window, pacing, or a scheduler that waits.",
        )
    if "FIN" in earlier.flags or "RST" in earlier.flags:
        return made("end of the connection", f"The {who} ends {earlier.place}, the {whom} does not at that time.")
    if later is not None and later.host == earlier.host and not _sends_data(later):
        return made(
            "ACK policy",
            f"{earlier.place} acknowledges {earlier.acknowledgment} in the {who} and {later.acknowledgment} in the "
            f"{whom}, {_apart(earlier, later)} later.",
        )
    return made(
        "ACK policy", f"The {who} acknowledges {earlier.acknowledgment} at {earlier.place}, the {whom} not yet."
    )


def _apart(earlier: Sent, later: Sent) -> str:
    return f"{(later.time_ns - earlier.time_ns) / 1e6:.3f} ms"


def _flights(one: Sequence[Sent], other: Sequence[Sent]) -> tuple[Flight, ...]:
    runs = (one, other)
    flows = {_flow(each): each for run in runs for each in run if _sends_data(each)}
    found = []
    for flow, packet in sorted(flows.items(), key=lambda item: (item[0][1], item[0][0])):
        totals = [
            max((each.sequence + each.length for each in run if _flow(each) == flow and _sends_data(each)), default=1)
            - 1
            for run in runs
        ]
        acked = [_acknowledged(packet, run) - 1 for run in runs]
        found.append(Flight(packet.place, (totals[0], totals[1]), (acked[0], acked[1])))
    return tuple(found)
