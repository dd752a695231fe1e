"""Settings of the captures that an engine writes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SNAP_LENGTH: Final = 128
"""Bytes kept of each packet: IPv6, TCP and its options need 100 at most."""
INTERFACES: Final = 256
"""The most interfaces that are captured, each of which is an open file."""


@dataclass(frozen=True)
class Capture:
    """Where captures go."""

    directory: Path
    """Exists, and is empty."""
    snap_length: int = SNAP_LENGTH
    """Bytes kept of each packet; 0 keeps all."""


def of_ports(ports: Sequence[dict[str, Any]], names: Sequence[str], capture: Capture) -> None:
    """Ask for a capture of each of an emulator's ports, in the plan that the core reads."""
    for number, (port, name) in enumerate(zip(ports, names, strict=True)):
        # A name that every file system takes, and still another for another port.
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
        file = str(capture.directory / (f"{name}.pcapng" if plain == name else f"{plain}-{number}.pcapng"))
        port["capture"] = {"file": file, "name": name, "snap_length": capture.snap_length}
