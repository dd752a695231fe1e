"""The machine's processor for guests: a core for each, and how long each has computed."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
# Of /proc/PID/stat (proc(5)), counted behind the name, which may contain anything: fields 5 and 14 to 17.
_GROUP: Final = 2
_USER, _SYSTEM, _ENDED_USER, _ENDED_SYSTEM = 11, 12, 13, 14


@contextmanager
def core() -> Iterator[int]:
    """The number of a core that fewest guests of this user are on, whichever process began them.

    A guest that changes cores takes several times as long.
    """
    own = sorted(os.sched_getaffinity(0))
    place = Path(tempfile.gettempdir(), f"mptcplab-cores-{os.getuid()}")
    place.mkdir(mode=0o700, exist_ok=True)
    turn = 0
    while True:
        for number in own:
            descriptor = os.open(place / f"{number}.{turn}", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                # Goes with this process, however it ends.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            try:
                yield number
            finally:
                os.close(descriptor)
            return
        turn += 1


def cpu_time_s(group: int) -> float:
    """CPU time of a process group, those of its processes included that have ended and were waited for in it.

    A guest is one: its kernel is one process of the machine, each of its programs another.
    """
    ticks = 0
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            fields = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[_GROUP]) == group:
            ticks += sum(int(fields[each]) for each in (_USER, _SYSTEM, _ENDED_USER, _ENDED_SYSTEM))
    return ticks * _TICK_S
