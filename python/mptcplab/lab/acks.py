"""Pure acknowledgments on their way: packets without data, as they left one end and arrived at the other."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mptcplab.lab import capture_files

KIND: Final = 3
"""What tells them from data: 0 is new, 1 a retransmission, 2 a reinjection."""
_LISTENED: Final = 49152
"""Ports below are those that servers listen on."""
_ACK_ALONE: Final = 0x10
_FLAGS: Final = 0x17
"""FIN, SYN, RST and ACK."""
_LATEST_S: Final = 10.0
"""How long after the window an arrival is looked for."""


def moving(
    files: Mapping[str, tuple[Path, Path]],
    names: Mapping[int, str],
    window: tuple[float, float],
    rewritten: frozenset[str],
    most: int,
) -> dict[str, list[Any]]:
    """Each acknowledgment that was sent in the window, with its arrival; None where it was lost.

    `files` are the captures at both ends of each path, `names` the connections by the port that they are listened for
    on. On the paths in `rewritten` middleboxes change headers: there, what does not arrive as it was sent is left out.
    """
    found: list[tuple[float, float | None, str, str, bool]] = []
    for path, (client, server) in files.items():
        for down, leaving, arriving in ((False, client, server), (True, server, client)):
            arrivals: dict[bytes, deque[float]] = defaultdict(deque)
            for time_s, key, _ in _read(arriving, (window[0], window[1] + _LATEST_S), listened_first=down):
                arrivals[key].append(time_s)
            for time_s, key, port in _read(leaving, window, listened_first=down):
                at = arrivals[key].popleft() if arrivals[key] else None
                if port in names and not (at is None and path in rewritten):
                    found.append((time_s, at, names[port], path, down))
    found.sort(key=lambda each: each[0])
    columns = ("sent", "arrived", "connection", "path", "down")
    kept = found[:most]
    return {name: [each[at] for each in kept] for at, name in enumerate(columns)} | {"kind": [KIND] * len(kept)}


def _read(file: Path, window: tuple[float, float], *, listened_first: bool) -> Iterator[tuple[float, bytes, int]]:
    """Time, what tells an acknowledgment from others, and the listened port, of those in one direction.

    A packet is known by its sequence and acknowledgment numbers and its options; addresses and the client's port are
    left out, which a NAT changes.
    """
    for time_s, data in capture_files.between(file, *window):
        header = (data[0] & 15) * 4
        tcp = data[header:]
        if data[0] >> 4 != 4 or data[9] != 6 or len(tcp) < 20 or tcp[13] & _FLAGS != _ACK_ALONE:
            continue
        length = (tcp[12] >> 4) * 4
        if int.from_bytes(data[2:4]) > header + length:
            continue
        ports = int.from_bytes(tcp[0:2]), int.from_bytes(tcp[2:4])
        if (ports[0] < _LISTENED) == listened_first:
            port = ports[0] if listened_first else ports[1]
            yield time_s, port.to_bytes(2) + tcp[4:16] + tcp[20:length], port
