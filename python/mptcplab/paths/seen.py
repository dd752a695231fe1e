"""What a client's interfaces saw of a connection, out of captures: subflows, announcements, priorities."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from mptcplab.capture.divergence import packets_of

Host = Literal["client", "server"]

_FIN, _SYN, _RST, _ACK = 1, 2, 4, 16
_MP_CAPABLE, _MP_JOIN, _ADD_ADDR, _REMOVE_ADDR, _MP_PRIO = 0, 1, 3, 4, 5
_MPTCP: Final = 30


@dataclass
class Subflow:
    """One that was tried."""

    place: int
    """The client's address, by its path among those of the connection."""
    server: int
    """The server's address, by number."""
    opener: Host
    at_ns: int
    is_join: bool
    id: int = 0
    """The address id of its SYN."""
    backups: tuple[bool, bool] = (False, False)
    """The flag in the SYN and in the SYN/ACK."""
    is_established: bool = False
    closed_ns: int | None = None
    """When it was refused, or began to end."""
    bytes: int = 0
    """Data both ways, retransmissions among them."""


@dataclass(frozen=True)
class Signal:
    """An option about addresses: ADD_ADDR, REMOVE_ADDR or MP_PRIO."""

    at_ns: int
    host: Host
    kind: Literal["announces", "withdraws", "priority"]
    id: int = 0
    """Of the address; MP_PRIO has none."""
    port: int = 0
    """With which it is announced; 0 without."""
    place: int = 0
    """Of MP_PRIO, the client's address of the subflow."""
    backup: bool = False


@dataclass
class Seen:
    """One connection."""

    subflows: list[Subflow] = field(default_factory=list)
    """In the order in which they were tried."""
    signals: list[Signal] = field(default_factory=list)
    """In their order, each once however often it was repeated."""


def read(captures: Sequence[Path]) -> Seen:
    """What the captures of the client's interfaces hold, one for each path; any engine's."""
    found = Seen()
    flows: dict[tuple[int, bytes], Subflow] = {}
    packets = []
    for place, file in enumerate(captures):
        packets += [(at_ns, place, packet) for at_ns, packet in packets_of(file.read_bytes())]
    packets.sort(key=lambda each: each[0])
    for at_ns, place, packet in packets:
        if packet[0] >> 4 == 4 and packet[9] == 6:
            _read(found, flows, at_ns, place, packet)
    found.subflows = sorted(flows.values(), key=lambda each: each.at_ns)
    return found


def _is_server(address: bytes) -> bool:
    """Of 10.x.255.0/24 (mptcplab.engines.linux.layout), or of 192.0.2.0/24 in the simulator."""
    return address[2] == 0xFF or address[:3] == b"\xc0\x00\x02"


def _read(found: Seen, flows: dict[tuple[int, bytes], Subflow], at_ns: int, place: int, packet: bytes) -> None:
    header = 4 * (packet[0] & 15)
    (total,) = struct.unpack_from(">H", packet, 2)
    tcp = packet[header:]
    offset, bits = 4 * (tcp[12] >> 4), tcp[13]
    from_server = _is_server(packet[12:16])
    host: Host = "server" if from_server else "client"
    server = packet[12:16] if from_server else packet[16:20]
    ports = tcp[2:4] + tcp[0:2] if from_server else tcp[0:4]
    key = (place, server + ports)
    flow = flows.get(key)
    for kind, option in _options(tcp[20:offset]):
        opens = bits & (_SYN | _ACK) == _SYN
        if kind in (_MP_CAPABLE, _MP_JOIN) and opens and flow is None:
            flow = flows[key] = Subflow(place, server[3] - 1, host, at_ns, kind == _MP_JOIN)
            if flow.is_join:
                flow.id, flow.backups = option[3], (bool(option[2] & 1), False)
        elif kind == _MP_JOIN and bits & _SYN and not opens and flow is not None:
            flow.backups = (flow.backups[0], bool(option[2] & 1))
        else:
            _signals(found, kind, option, Signal(at_ns, host, "priority", place=place))
    if flow is None:
        return
    length = total - header - offset
    flow.bytes += length
    if bits & (_FIN | _RST) and flow.closed_ns is None:
        flow.closed_ns = at_ns
    # It is up once the other end sends after its SYN/ACK.
    if not bits & (_SYN | _RST) and from_server == (flow.opener == "client"):
        flow.is_established = True


def _signals(found: Seen, kind: int, option: bytes, at: Signal) -> None:
    new: list[Signal] = []
    if kind == _ADD_ADDR and not option[2] & 1:
        port = struct.unpack_from(">H", option, 8)[0] if len(option) in (10, 18) else 0
        new.append(Signal(at.at_ns, at.host, "announces", option[3], port))
    elif kind == _REMOVE_ADDR:
        new += [Signal(at.at_ns, at.host, "withdraws", number) for number in option[3:]]
    elif kind == _MP_PRIO:
        new.append(Signal(at.at_ns, at.host, "priority", place=at.place, backup=bool(option[2] & 1)))
    for each in new:
        alike = [
            one
            for one in found.signals
            if (one.host, one.id, one.place) == (each.host, each.id, each.place)
            and (one.kind == "priority") == (each.kind == "priority")
        ]
        # What was said last of the same address may be repeated.
        if not alike or (alike[-1].kind, alike[-1].backup, alike[-1].port) != (each.kind, each.backup, each.port):
            found.signals.append(each)


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The subtype and the bytes of each option of Multipath TCP."""
    while data and data[0] != 0:
        if data[0] == 1:
            data = data[1:]
            continue
        length = data[1] if len(data) > 1 else 0
        if length < 2 or len(data) < length:
            return
        if data[0] == _MPTCP and length > 3:
            yield data[2] >> 4, data[:length]
        data = data[length:]
