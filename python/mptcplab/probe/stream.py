"""Datagrams of a probe, and streams of them at a rate."""

import secrets
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

PORT: Final = 5310
HEADERS_BYTES: Final = 28
"""IPv4 and UDP."""
PAYLOAD_BYTES: Final = 1200
PING_BYTES: Final = 64
MOST_BYTES: Final = 64_000_000
"""What a session may send in one direction."""
MOST_BPS: Final = 1e9
LONGEST_S: Final = 120.0
"""How long a session may last."""

ECHO: Final = b"E"
"""A datagram that the server sends back."""
DATA: Final = b"D"
"""One of a stream."""

_HEAD: Final = struct.Struct("!2s16scIQ")
_MAGIC: Final = b"MP"
_TICK_S: Final = 0.001


@dataclass(frozen=True, slots=True)
class Arrival:
    """A datagram of a stream; the two clocks are those of two machines."""

    number: int
    sent_ns: int
    arrived_ns: int


@dataclass(frozen=True, slots=True)
class Datagram:
    """What one says."""

    session: bytes
    kind: bytes
    number: int
    time_ns: int


def new_session() -> bytes:
    """A name that nobody guesses."""
    return secrets.token_bytes(16)


def write(session: bytes, kind: bytes, number: int, size: int) -> bytes:
    """A datagram of so many bytes, with the time of now."""
    return _HEAD.pack(_MAGIC, session, kind, number, time.monotonic_ns()).ljust(size, b"\0")


def read(data: bytes) -> Datagram | None:
    """None for what is no datagram of a probe."""
    if len(data) < _HEAD.size:
        return None
    magic, session, kind, number, time_ns = _HEAD.unpack_from(data)
    return Datagram(session, kind, number, time_ns) if magic == _MAGIC and kind in (ECHO, DATA) else None


def send(
    udp: socket.socket, to: tuple[str, int], session: bytes, rate_bps: float, seconds: float, stop: Callable[[], bool]
) -> int:
    """Send a stream at a rate of IP packets; how many were sent. `stop` is asked every millisecond."""
    each_bits = 8 * (PAYLOAD_BYTES + HEADERS_BYTES)
    began = time.monotonic()
    number = 0
    while (passed := time.monotonic() - began) < seconds and not stop():
        due = int(passed * rate_bps / each_bits) + 1
        # After a pause of this process the stream goes on; what was missed is not made up for in one burst.
        due = min(due, number + max(1, int(20 * _TICK_S * rate_bps / each_bits)))
        while number < due:
            try:
                udp.sendto(write(session, DATA, number, PAYLOAD_BYTES), to)
            except (BlockingIOError, OSError):
                break  # the interface's own queue is full: as good as lost
            finally:
                number += 1
        time.sleep(_TICK_S)
    return number
