"""Reads packets of a capture that the simulator wrote."""

import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

_HEAD: Final = struct.Struct("<II")
_PACKET: Final = struct.Struct("<IIIII")
_ENHANCED: Final = 6
_RESOLUTION: Final = 9
"""The simulator's captures count nanoseconds."""


def packets(file: Path, most: int) -> Iterator[tuple[float, bytes]]:
    """Time in seconds and bytes, cut as captured, of the first packets of a pcapng file."""
    with file.open("rb") as source:
        while most > 0:
            head = source.read(8)
            if len(head) < 8:
                return
            kind, length = _HEAD.unpack(head)
            body = source.read(length - 8)
            if kind != _ENHANCED:
                continue
            _, high, low, captured, _ = _PACKET.unpack_from(body)
            yield ((high << 32) | low) / 10**_RESOLUTION, body[20 : 20 + captured]
            most -= 1


def between(file: Path, from_s: float, to_s: float) -> Iterator[tuple[float, bytes]]:
    """Time in seconds and bytes, cut as captured, of the packets of a pcapng file in an interval of time."""
    content = file.read_bytes()
    at, first, last = 0, from_s * 10**_RESOLUTION, to_s * 10**_RESOLUTION
    while at + 8 <= len(content):
        kind, length = _HEAD.unpack_from(content, at)
        if kind == _ENHANCED:
            _, high, low, captured, _ = _PACKET.unpack_from(content, at + 8)
            time_ns = (high << 32) | low
            if time_ns > last:
                return
            if time_ns >= first:
                yield time_ns / 10**_RESOLUTION, content[at + 28 : at + 28 + captured]
        at += length


def ends(folder: Path, paths: Sequence[str]) -> dict[str, tuple[Path, Path]]:
    """The captures of each path: of the client's interface and of the server's."""
    found = {}
    for number, path in enumerate(paths):
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", path)
        # A name that not every file system takes is another in the file system, with the path's number.
        name = path if plain == path else f"{plain}-{number}"
        client, server = folder / f"client-{name}.pcapng", folder / f"server-{name}.pcapng"
        if client.exists() and server.exists():
            found[path] = (client, server)
    return found
