"""What runs in the guest: reads the task, plays it, and writes what came of it. It loads as little as it can."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

HOST: Final = "/dev/host"
"""Where the guest sees the directory that it was started in."""


def main() -> None:
    """Play `task`; leave `answer`, or `error` with the name of an exception and its message."""
    task = json.loads(Path(HOST, "task").read_text(encoding="utf-8"))
    from mptcplab import _core
    from mptcplab.engines.linux_virtual.columns import pack
    from mptcplab.errors import EngineUnavailableError

    _settle()
    try:
        _write("answer", pack(_play(task)))
    except (EngineUnavailableError, _core.SimulationError) as error:
        _write("error", json.dumps({"kind": type(error).__name__, "message": str(error)}).encode())


def _settle() -> None:
    """Wait for a whole second of the guest's clock.

    Its timers tick by the clock, and what a run does depends on where between two ticks it begins. That is not to
    depend on how long it took to load this program.
    """
    time.sleep(1 - time.monotonic() % 1)


def _play(task: Mapping[str, Any]) -> Any:  # noqa: ANN401
    from mptcplab.capture.settings import Capture
    from mptcplab.engines.linux.hosts import play

    _load_controls(task["controls"])
    snap_length = task["snap_length"]
    return play(
        task["description"],
        _commands(task["programs"]),
        capture=None if snap_length is None else Capture(Path(HOST, "captures"), snap_length),
        progress=_tell,
        raw=True,
        links=task["links"],
    )


def _commands(programs: Mapping[str, Any]) -> dict[int, Any]:
    if not programs:
        return {}
    from mptcplab.engines.linux.programs.play import Command

    return {int(kind): Command(**command) for kind, command in programs.items()}


def _load_controls(values: Mapping[str, object]) -> None:
    """Set what is the whole machine's, not a host's."""
    for name, value in values.items():
        Path("/proc/sys", name).write_text(f"{value}\n", encoding="ascii")


def _tell(time_s: float) -> None:
    # A file's time goes to the host at once, in whole seconds, of which each is a millisecond here; what is written to
    # a file waits in the guest's memory.
    os.utime(f"{HOST}/progress", (0, int(time_s * 1000)))


def _write(name: str, data: bytes) -> None:
    with Path(HOST, name).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
