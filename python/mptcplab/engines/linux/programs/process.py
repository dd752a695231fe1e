"""One program on a host: begun, watched, ended with all that it began, and what it wrote kept."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

KEPT_BYTES: Final = 1 << 20
"""Of each output; what comes after is not kept."""

_GRACE_S: Final = 2.0
_FIRST_SIGNAL: Final = 128

# setpriv: the kernel kills it when the thread that began it ends, which the host's thread does with this process,
# however that ends. unshare: a process namespace, which the kernel empties when its first process ends. sh: is that
# first process, as a first process would not hear signals that it does not handle.
_CONTAINED: Final = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--pid", "--fork", "--kill-child=KILL"),
    *("sh", "-c", '"$@"; exit $?', "sh"),
)
CONTAINERS: Final = {"setpriv": "util-linux", "unshare": "util-linux", "sh": "dash"}
"""What programs are run by, with the package that has it."""
_MPTCPIZE: Final = ("mptcpize", "run")


class Host(Protocol):
    """Where a program runs: a namespace, or this machine."""

    def run(self, work: Callable[[], T]) -> T:
        """What `work` returns there, on a thread that lasts as long as the host."""
        ...


@dataclass(frozen=True)
class Ended:
    """What came of a program."""

    began_ns: int
    ended_ns: int | None
    """None when it was still running at the end of the scenario, or was ended."""
    status: int | None
    signal: str | None
    """The signal that it died of, when it was not ended here."""


class Process:
    """A program that runs. Times are those of CLOCK_MONOTONIC."""

    def __init__(self, host: Host, command: Sequence[str], directory: Path, *, mptcpize: bool, name: str) -> None:
        """Begin it on `host`, in `directory`, which takes its outputs too. Raises OSError when it cannot be begun."""
        self.command = tuple(command)
        self._outputs = {stream: directory.parent / f"{name}.{stream}" for stream in ("stdout", "stderr")}
        self._stopped = False
        self._ended_ns: int | None = None
        words = (*_CONTAINED, *(_MPTCPIZE if mptcpize else ()), *command)
        with self._outputs["stdout"].open("wb") as out, self._outputs["stderr"].open("wb") as err:
            # In the host's thread: it is in the namespace, and lives as long as the host does.
            self._popen = host.run(
                lambda: subprocess.Popen(
                    words,
                    cwd=directory,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            )
            self.began_ns = time.monotonic_ns()
        self._waiting = threading.Thread(target=self._wait, name=name, daemon=True)
        self._waiting.start()

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._ended_ns is None

    def ended_ns(self) -> int | None:
        """When it ended by itself; None while it runs, or when it was ended."""
        return None if self._stopped else self._ended_ns

    def stop(self) -> None:
        """Ask it to end, and after a while do not ask; return when it is gone with all that it began."""
        if self.running:
            self._stopped = True
            self._signal(signal.SIGTERM)
            self._waiting.join(_GRACE_S)
        self.kill()

    def ask_to_stop(self) -> None:
        """Ask it to end, and do not wait."""
        if self.running:
            self._stopped = True
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it, and return when it is gone with all that it began."""
        if self.running:
            self._stopped = True
            self._popen.kill()
        self._waiting.join()

    def outcome(self) -> Ended:
        """What came of it so far."""
        ended = self.ended_ns()
        code = self._popen.returncode if ended is not None else None
        number = None if code is None else -code if code < 0 else code - _FIRST_SIGNAL if code > _FIRST_SIGNAL else None
        name = None if number is None else _signal_name(number)
        return Ended(self.began_ns, ended, None if name else code, name)

    def output(self, stream: str) -> str:
        """What it wrote to `stdout` or `stderr`, as far as it is kept."""
        with self._outputs[stream].open("rb") as file:
            data = file.read(KEPT_BYTES + 1)
        text = data[:KEPT_BYTES].decode("utf-8", "replace")
        return text + "\n[further output was not kept]\n" if len(data) > KEPT_BYTES else text

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._popen.pid, number)

    def _wait(self) -> None:
        self._popen.wait()
        self._ended_ns = time.monotonic_ns()


def _signal_name(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None


def words(command: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """The command with {server} and the like in place; other braces stay as they are."""
    filled = []
    for word in command:
        for name, value in {"python": sys.executable, **values}.items():
            word = word.replace(f"{{{name}}}", value)
        filled.append(word)
    return tuple(filled)
