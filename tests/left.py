"""What processes leave behind."""

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36
_GRACE_S: Final = 20.0
_OF_PYTHON: Final = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""Processes that Python itself keeps until it ends."""


def adopt() -> None:
    """Whoever loses its parent becomes a child of this process, where it is seen."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def family(process: int) -> list[int]:
    """The processes that it began, and those that they began."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
        children = [each for task in threads for each in (task / "children").read_text(encoding="ascii").split()]
    except OSError:
        return []
    return [each for child in children for each in (int(child), *family(int(child)))]


def command_of(process: int) -> str:
    """What it was started with; nothing once it has ended."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return words.replace(b"\0", b" ").decode(errors="replace").strip()


def remaining(since: set[int]) -> dict[int, str]:
    """The processes of this one's family that were not there before and do not end by themselves."""
    until = time.monotonic() + _GRACE_S
    while True:
        found = {each: command_of(each) for each in family(os.getpid()) if each not in since}
        found = {each: words for each, words in found.items() if words and not any(own in words for own in _OF_PYTHON)}
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def end(processes: dict[int, str]) -> None:
    """Kill them."""
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
