"""The first packet at which two runs part, out of the captures of both.

What hosts send is compared, packet by packet in the order of time; what they receive follows from it. Ports, keys and
initial sequence numbers are random and left out: sequence numbers count from the first of their flow.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from itertools import zip_longest
from pathlib import Path
from typing import Final

TOLERANCE_NS: Final = 1_000_000
"""Times may differ by so much, a tick of a kernel's clock, before they count as different."""

_SECTION: Final = 0x0A0D0D0A
_PACKET: Final = 6
_FLAGS: Final = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
_SUBTYPES: Final = (
    *("MP_CAPABLE", "MP_JOIN", "DSS", "ADD_ADDR", "REMOVE_ADDR", "MP_PRIO", "MP_FAIL", "MP_FASTCLOSE"),
    "MP_TCPRST",
)
_KINDS: Final = {2: "MSS", 3: "window scale", 4: "SACK permitted", 5: "SACK", 8: "timestamps", 34: "fast open"}
_MPTCP: Final = 30


@dataclass(frozen=True)
class Sent:
    """A packet as its sender let it go."""

    time_ns: int
    host: str
    place: str
    """Where it left, or for a server, which has one interface, the client's address."""
    flags: str
    sequence: int
    acknowledgment: int
    length: int
    window: int
    options: tuple[str, ...]
    flow: int
    """Which subflow, in the order in which they first send; both directions have the same."""

    def __str__(self) -> str:
        """In a line."""
        parts = [f"{self.place}: {self.flags} seq {self.sequence} ack {self.acknowledgment} length {self.length}"]
        return ", ".join([*parts, f"window {self.window}", *self.options])


@dataclass(frozen=True)
class Divergence:
    """Where two runs part."""

    number: int
    """Packets that were sent alike before."""
    what: str
    """What differs first: subflow, time, length, …"""
    first: Sent | None
    second: Sent | None

    def lines(self, names: tuple[str, str]) -> list[str]:
        """For people."""
        heads = [f"after {self.number} identical packets, the first difference is {self.what}:"]
        for name, sent in zip(names, (self.first, self.second), strict=True):
            time = "" if sent is None else f"{sent.time_ns / 1e9:.6f} s "
            heads.append(f"  {name}: {time}{sent if sent is not None else 'nothing more is sent'}")
        return heads


def divergence(first: Path, second: Path) -> Divergence | None:
    """Where the captures in two directories part; None when they do not."""
    return parting(sent(first), sent(second))


def parting(one: Sequence[Sent], other: Sequence[Sent]) -> Divergence | None:
    """Where two runs part; None when they do not."""
    mine, theirs = by_path(one), by_path(other)
    found: list[tuple[int, str, Sent | None, Sent | None]] = []
    for stream in sorted(mine.keys() | theirs.keys()):
        for a, b in zip_longest(mine.get(stream, ()), theirs.get(stream, ())):
            what = "the number of packets" if a is None or b is None else difference(a, b)
            if what is not None:
                found.append((min(each.time_ns for each in (a, b) if each is not None), what, a, b))
                break
    if not found:
        return None
    time_ns, what, a, b = min(found, key=lambda each: each[0])
    if b is None and a is not None and (elsewhere := _elsewhere(a, other)) is not None:
        what, b = "the subflow", elsewhere
    elif a is None and b is not None and (elsewhere := _elsewhere(b, one)) is not None:
        what, a = "the subflow", elsewhere
    return Divergence(sum(each.time_ns < time_ns for each in one), what, a, b)


def _elsewhere(packet: Sent, packets: Iterable[Sent]) -> Sent | None:
    """What the same host sends instead at that time on another subflow."""
    return next(
        (
            each
            for each in packets
            if (each.host, each.length) == (packet.host, packet.length)
            and each.place != packet.place
            and abs(each.time_ns - packet.time_ns) <= TOLERANCE_NS
        ),
        None,
    )


def unpushed(packets: Iterable[Sent]) -> list[Sent]:
    """Without PSH, which marks the end of what an application wrote or of a burst: nothing follows from it."""
    return [replace(each, flags=_without(each.flags, "PSH")) for each in packets]


def unclosed(packets: Sequence[Sent]) -> list[Sent]:
    """Without what closes subflows over which one host sends data: up to the last of it, and its acknowledgment.

    When a connection is closed its applications decide. A subflow with data of both hosts is left as it is. One without
    data has no say once that of the others has ended.
    """
    ends: dict[int, dict[str, int]] = {}
    for each in packets:
        if each.length:
            of_flow = ends.setdefault(each.flow, {})
            of_flow[each.host] = max(of_flow.get(each.host, 0), each.sequence + each.length)
    found, over = [], set[int]()
    for each in packets:
        if each.flow not in ends and ends and over.issuperset(ends):
            continue
        if len(ends.get(each.flow, ())) != 1:
            found.append(each)
            continue
        ((sender, end),) = ends[each.flow].items()
        if each.flow in over or (each.host == sender and not each.length and each.sequence >= end):
            continue
        if each.host != sender and each.acknowledgment >= end:
            over.add(each.flow)
            found.append(replace(each, flags="ACK", acknowledgment=end, window=0))
        else:
            found.append(replace(each, flags=_without(each.flags, "FIN")))
    return found


def _without(flags: str, flag: str) -> str:
    return "+".join(each for each in flags.split("+") if each != flag)


def streams(packets: Iterable[Sent]) -> dict[tuple[str, str], list[Sent]]:
    """What is compared in its order: what a host sends, but each subflow's acknowledgments by themselves.

    Acknowledgments that leave on two subflows at one time have no order that would mean anything.
    """
    found: dict[tuple[str, str], list[Sent]] = {}
    for each in packets:
        bare = each.length == 0 and each.flags == "ACK"
        found.setdefault((each.host, each.place if bare else ""), []).append(each)
    return found


def by_path(packets: Iterable[Sent]) -> dict[tuple[str, str], list[Sent]]:
    """What is compared in its order: what a host sends on a path.

    What leaves on two paths at one time goes over different links: no order of theirs would mean anything.
    """
    found: dict[tuple[str, str], list[Sent]] = {}
    for each in packets:
        found.setdefault((each.host, each.place), []).append(each)
    return found


def difference(one: Sent, other: Sent) -> str | None:
    """What differs first between two packets; None when they are alike."""
    if one.host == other.host and one.place != other.place:
        return "the subflow"
    for what, attribute in (
        ("the sender", "host"),
        ("the flags", "flags"),
        ("the sequence number", "sequence"),
        ("the length", "length"),
        ("the acknowledgment", "acknowledgment"),
        ("an option", "options"),
        ("the window", "window"),
    ):
        if getattr(one, attribute) != getattr(other, attribute):
            return what
    return "the time (a timer, or pacing)" if abs(one.time_ns - other.time_ns) > TOLERANCE_NS else None


def sent(directory: Path, *, plain: bool = False) -> list[Sent]:
    """What the hosts of a run sent, by time.

    `plain` calls hosts client and server, and places by their paths, whatever engine wrote the files: only so are two
    engines alike.
    """
    found: list[tuple[int, int, int, str, bytes]] = []
    paths: dict[bytes, str] = {}
    for number, file in enumerate(sorted(directory.glob("*.pcapng"))):
        at_server = file.stem.startswith("server-") or file.stem.endswith("-server")
        for place, (time_ns, packet) in enumerate(packets_of(file.read_bytes())):
            if packet[0] >> 4 == 4 and _from_server(packet) == at_server:
                found.append((time_ns, number, place, file.stem, packet))
                if not at_server:
                    paths.setdefault(packet[12:16], file.stem.partition("client-")[2])
    found.sort()
    start: dict[bytes, int] = {}
    flows: dict[frozenset[bytes], int] = {}
    return [
        _read(time_ns, place, packet, start, flows, paths if plain else None) for time_ns, _, _, place, packet in found
    ]


def _from_server(packet: bytes) -> bool:
    """A server's addresses are of 10.x.255.0/24 (mptcplab.engines.linux.layout), of 192.0.2.0/24 in the simulator."""
    return packet[14] == 0xFF or packet[12:15] == b"\xc0\x00\x02"


def _read(
    time_ns: int,
    place: str,
    packet: bytes,
    start: dict[bytes, int],
    flows: dict[frozenset[bytes], int],
    paths: dict[bytes, str] | None,
) -> Sent:
    header = 4 * (packet[0] & 15)
    (total,) = struct.unpack_from(">H", packet, 2)
    tcp = packet[header:]
    sequence, acknowledgment = struct.unpack_from(">II", tcp, 4)
    offset, bits = 4 * (tcp[12] >> 4), tcp[13]
    (window,) = struct.unpack_from(">H", tcp, 14)
    forth = packet[12:20] + tcp[:4]
    back = packet[16:20] + packet[12:16] + tcp[2:4] + tcp[:2]
    if bits & 2:
        start[forth] = sequence
    own, peer = start.setdefault(forth, sequence), start.get(back, acknowledgment)
    server = _from_server(packet)
    if paths is not None:
        host = "server" if server else "client"
        where = f"{host} ({paths.get(packet[16:20] if server else packet[12:16], '?')})"
    elif place.endswith("-server"):
        # A server has one interface for all paths; which one it means is the client's address.
        host, where = place, f"{place} to {IPv4Address(packet[16:20])}"
    else:
        host, where = place.partition("-client-")[0] + "-client", place
    return Sent(
        time_ns,
        host,
        where,
        "+".join(name for number, name in enumerate(_FLAGS) if bits >> number & 1),
        (sequence - own) % 2**32,
        (acknowledgment - peer) % 2**32 if bits & 16 else 0,
        total - header - offset,
        window,
        tuple(_options(tcp[20:offset])),
        flows.setdefault(frozenset((forth, back)), len(flows)),
    )


def _options(data: bytes) -> Iterator[str]:
    while data and data[0] != 0:
        if data[0] == 1:
            data = data[1:]
            continue
        kind, length = data[0], data[1] if len(data) > 1 else 0
        if length < 2:
            return
        if kind == _MPTCP and length > 2:
            subtype = data[2] >> 4
            yield _SUBTYPES[subtype] if subtype < len(_SUBTYPES) else f"MPTCP {subtype}"
        else:
            yield _KINDS.get(kind, f"option {kind}")
        data = data[length:]


def packets_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Time and bytes of each packet of a file that mptcplab wrote: one section, little-endian, nanoseconds."""
    if struct.unpack_from("<I", data)[0] != _SECTION:
        raise ValueError("not a pcapng file")
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == _PACKET:
            high, low, kept = struct.unpack_from("<III", data, at + 12)
            yield high << 32 | low, data[at + 28 : at + 28 + kept]
        at += length
