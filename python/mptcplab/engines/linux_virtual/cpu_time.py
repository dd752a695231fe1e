"""How long a guest has computed: its kernel is one process of the machine, each of its programs another."""

import os
from pathlib import Path
from typing import Final

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
# Of /proc/PID/stat (proc(5)), counted behind the name, which may contain anything: fields 5 and 14 to 17.
_GROUP: Final = 2
_USER, _SYSTEM, _ENDED_USER, _ENDED_SYSTEM = 11, 12, 13, 14


def cpu_time_s(group: int) -> float:
    """CPU time of a process group, those of its processes included that have ended and were waited for in it."""
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
