"""What processes leave behind."""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

MARK: Final = "MPTCPLAB_TESTS_OF"
"""A variable that all processes inherit which a test begins, whoever their parent is by now."""
_GRACE_S: Final = 20.0
_OF_PYTHON: Final = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""Processes that Python itself keeps until it ends."""


def family(process: int) -> list[int]:
    """The processes that it began, and those that they began."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
        children = [each for task in threads for each in (task / "children").read_text(encoding="ascii").split()]
    except OSError:
        return []
    return [each for child in children for each in (int(child), *family(int(child)))]


def marked(value: str) -> dict[int, str]:
    """The processes that have inherited `MARK` with this value, and what each was started with."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={value}\0".encode() in (place / "environ").read_bytes() and int(place.name) != os.getpid():
                words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                if words and not any(own in words for own in _OF_PYTHON):
                    found[int(place.name)] = words
    return found


def remaining(value: str) -> dict[int, str]:
    """Those of `marked` that do not end by themselves."""
    until = time.monotonic() + _GRACE_S
    while (found := marked(value)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def end(processes: dict[int, str]) -> None:
    """Kill them."""
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
