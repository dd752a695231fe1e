"""The moments at which a command is killed: any time, or right before a system call that changes files.

All that others can find of a command that was killed lies between two such calls. strace counts them, and kills there.
"""

import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CALLS: Final = (
    *("write", "pwrite64", "writev", "ftruncate", "fallocate", "copy_file_range", "sendfile"),
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
    *("unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "chmod", "fchmod", "fchmodat", "fsync", "fdatasync"),
)
_LINE: Final = re.compile(r"^(?P<thread>\d+) +(?P<name>\w+)\((?P<rest>.*)")
_ATTACHED_S: Final = 30.0


@dataclass(frozen=True)
class Moment:
    """Before a thread's `ordinal`-th call of `name`."""

    name: str
    ordinal: int


def available() -> bool:
    """Whether there is a strace."""
    return shutil.which("strace") is not None


def watch(child: int, log: Path) -> "subprocess.Popen[bytes]":
    """Note the calls of a process that waits to be let go, and of all that it begins."""
    return _strace(child, ["--output", str(log), "--decode-fds=path", f"--trace={','.join(_CALLS)}"])


def kill_at(child: int, moment: Moment) -> "subprocess.Popen[bytes]":
    """Kill what waits to be let go, or what it begins, at this moment."""
    inject = f"--inject={moment.name}:signal=SIGKILL:when={moment.ordinal}"
    return _strace(child, [f"--trace={moment.name}", inject, "--output=/dev/null"])


def _strace(child: int, words: list[str]) -> "subprocess.Popen[bytes]":
    tracer = subprocess.Popen(["strace", "-f", "-qq", "--signal=none", *words, f"--attach={child}"])
    until = time.monotonic() + _ATTACHED_S
    while re.search(r"^TracerPid:\t0$", Path(f"/proc/{child}/status").read_text(encoding="ascii"), re.MULTILINE):
        if tracer.poll() is not None or time.monotonic() > until:
            raise RuntimeError("strace does not attach to a process")
        time.sleep(0.001)
    return tracer


def moments(log: Path, place: Path) -> list[Moment]:
    """Of the calls noted in `log` those that change something under `place`."""
    counted: dict[tuple[str, str], int] = {}
    found = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        call = _LINE.match(line)
        if call is None:
            continue
        key = (call["thread"], call["name"])
        counted[key] = counted.get(key, 0) + 1
        if f"{place}/" in call["rest"]:
            found.append(Moment(call["name"], counted[key]))
    return list(dict.fromkeys(found))


def shuffled(found: list[Moment], dice: random.Random) -> Iterator[Moment]:
    """All in any order, and again."""
    while True:
        yield from dice.sample(found, len(found))


class Gate:
    """A process stands before it until it is opened."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def pass_through(self) -> None:
        """Wait, in the process that was begun."""
        os.close(self._write)
        os.read(self._read, 1)
        os.close(self._read)

    def open(self) -> None:
        """Let it go."""
        os.close(self._read)
        os.close(self._write)
