"""Reads the first packets of a capture that the simulator wrote."""

import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

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
            kind, length = struct.unpack("<II", head)
            body = source.read(length - 8)
            if kind != _ENHANCED:
                continue
            _, high, low, captured, _ = struct.unpack_from("<IIIII", body)
            yield ((high << 32) | low) / 10**_RESOLUTION, body[20 : 20 + captured]
            most -= 1


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
