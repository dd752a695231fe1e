"""A guest on this machine: started, watched, ended. It is an ordinary process of the user's."""

import contextlib
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import mptcplab
from mptcplab import _core
from mptcplab.engines.linux_virtual.processor import core, cpu_time_s
from mptcplab.kernels.store import Kernel
from mptcplab.kernels.tools import tools

MEMORY_MB: Final = 1024
"""What a guest has; of the host it takes what it touches. The kernel's limits of TCP's memory follow from it."""
SILENT_CPU_S: Final = 120.0
"""A guest whose virtual time has not moved while it computed for so long is ended, however busy the machine is."""
SILENT_WALL_S: Final = 3600.0
"""So is one that has not moved for so long by the wall clock, whether it computed or not."""

_EPOCH_NS: Final = 1_700_000_000_000_000_000
"""The guest's date when it starts."""
_LOOK_S: Final = 0.1
_LOOK_AT_CPU_S: Final = 1.0
_LAST_LINES: Final = 12
_CODE: Final = "import sys; sys.path[:] = {path!r}; from mptcplab.engines.linux_virtual.inside import main; main()"


class GuestError(_core.SimulationError):
    """A guest ended before it had an answer; the message has the last lines of its console."""


def command(*, programs: bool = False) -> list[str]:
    """What a guest runs: this Python, which finds Python's own modules and this package; for `programs` numpy too.

    Nothing else, such as the directory of the program that asks for the run: each place in which a module is looked for
    in vain takes some of the guest's time, and the same run would be another one from another program.
    """
    own = str(Path(mptcplab.__file__).parents[1])
    standard = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    dynamic = [entry for entry in sys.path if Path(entry).name == "lib-dynload"]
    # Without `site`, whose work is done.
    path = list(dict.fromkeys([*standard, *dynamic, own, *([_home_of_numpy()] if programs else [])]))
    return [sys.executable, "-S", "-E", "-B", "-c", _CODE.format(path=path)]


def _home_of_numpy() -> str:
    """Where it is installed, which is not where this package is when that is run from its sources."""
    found = find_spec("numpy")
    assert found is not None, "this package needs it"
    assert found.origin is not None, "it is a package with code"
    return str(Path(found.origin).parents[1])


def boot(
    kernel: Kernel,
    place: Path,
    *,
    seed: int,
    progress: Callable[[float], None] | None,
    words: list[str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Boot a guest in the directory `place`, run what `words` say (by default `inside.main`), and wait for its end.

    Raises GuestError when it does not end by itself, or not well.
    """
    own = tools()
    (place / "command").write_bytes(_zeros(words or command()))
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/dev/tmp",
        "TMPDIR": "/dev/tmp",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        **(variables or {}),
    }
    (place / "environment").write_bytes(_zeros([f"{name}={value}" for name, value in environment.items()]))
    (place / "progress").touch()
    os.utime(place / "progress", (0, 0))
    (place / "init").symlink_to(own / "init")
    (place / "home").mkdir()
    arguments = [
        str(kernel.image),
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"),
        f"mem={MEMORY_MB}M",
        *("time-travel=inf-cpu", f"time-travel-start={_EPOCH_NS}"),
        *("umid=guest", "con=null", "con0=null,fd:1", "con1=null", "ssl=null", "norandmaps", "quiet", "loglevel=4"),
        # What stands here enters the guest's random numbers: nothing of this machine's.
        "init=/proc/self/cwd/init",
    ]
    with core() as number, (place / "console").open("wb") as console:
        process = subprocess.Popen(
            arguments,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                "PATH": os.defpath,
                "HOME": str(place / "home"),
                "TMPDIR": _memory(place),
                "LD_PRELOAD": str(own / "seed.so"),
                "GUEST_SEED": str(seed),
                "GUEST_CORE": str(number),
            },
        )
        try:
            stuck = _watch(process, place, progress)
        finally:
            _end(process)
    if stuck:
        raise GuestError(_words(place, f"{stuck} and was killed"))
    status = _status(place)
    if process.returncode or status is None:
        why = "ran out of memory" if b"Out of memory" in (place / "console").read_bytes() else "broke down"
        raise GuestError(_words(place, why))
    if status != 0:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        how = (
            f"was killed by {signal.Signals(number).name}" if number else f"ended with status {os.WEXITSTATUS(status)}"
        )
        memory = " when the guest ran out of memory" if b"Out of memory" in (place / "console").read_bytes() else ""
        raise GuestError(_words(place, f"reported that its program {how}{memory}"))


def _watch(process: "subprocess.Popen[bytes]", place: Path, progress: Callable[[float], None] | None) -> str:
    """Wait for the end; answers why it never came, or nothing. `progress` raises to end it."""
    at_ms, since_s = 0, time.monotonic()
    # The CPU time at the first look after it advanced: looking costs more than asking how far it is.
    cpu_s: float | None = None
    looked_s = since_s
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_S)
            return ""
        now_s = time.monotonic()
        now_ms = int((place / "progress").stat().st_mtime)
        if now_ms != at_ms:
            at_ms, since_s, cpu_s = now_ms, now_s, None
        elif now_s - looked_s > _LOOK_AT_CPU_S:
            looked_s = now_s
            used_s = cpu_time_s(process.pid)
            cpu_s = used_s if cpu_s is None else cpu_s
            if used_s - cpu_s > SILENT_CPU_S:
                return f"did not advance in {SILENT_CPU_S:g} s of CPU time"
            if now_s - since_s > SILENT_WALL_S:
                return f"did not advance in {SILENT_WALL_S:g} s"
        if progress is not None:
            progress(at_ms / 1000)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End it with all processes that are its programs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _status(place: Path) -> int | None:
    try:
        return int((place / "status").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _words(place: Path, why: str) -> str:
    lines = (place / "console").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "\n".join([f"the guest {why}; the last lines of its console:", *(lines[-_LAST_LINES:] or ["(none)"])])


def _memory(place: Path) -> str:
    """Where the guest's memory is: in the machine's memory, where a container's few megabytes do not forbid it."""
    shared = "/dev/shm"
    with contextlib.suppress(OSError):
        room = os.statvfs(shared)
        if (
            room.f_bavail * room.f_frsize > MEMORY_MB << 20
            and not room.f_flag & os.ST_NOEXEC
            and os.access(shared, os.W_OK)
        ):
            return shared
    return str(place)


def _zeros(words: list[str]) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in words)
