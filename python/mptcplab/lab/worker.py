"""The process that computes: tasks come on its standard input, a line each; answers go to its standard output.

It belongs to the server: it ends with its standard input, and is killed with its parent. A line `stop` ends the task.
"""

import ctypes
import gc
import json
import os
import queue
import resource
import signal
import struct
import sys
import threading
import time
import traceback
from typing import Any, Final

from mptcplab.lab import tasks
from mptcplab.lab.limits import Limits

HEAD: Final = struct.Struct("<II")
"""Before each answer: the lengths of its head, which is JSON, and of its content."""
_PR_SET_PDEATHSIG: Final = 1
_TELL_EVERY_S: Final = 0.1
_GIVE_BACK_AFTER_S: Final = 1.0
"""A worker that has had nothing to do for so long gives back what it does not use; not between two moves of a slider,
as the next run would have to ask for the memory again."""
_GIVE_BACK_EVERY_S: Final = 10.0
"""One that always has something to do gives it back so often."""


class _Stopped(Exception):  # noqa: N818
    """Nobody waits for the answer any more."""


class _Channel:
    """Reads tasks while one is carried out: a task that is no longer wanted is stopped."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.tasks: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._answers = os.fdopen(os.dup(1), "wb", buffering=0)
        self._gave_back_s = time.monotonic()
        os.dup2(2, 1)  # whatever prints must not come between the answers

    def listen(self) -> None:
        for line in sys.stdin.buffer:
            if line == b"stop\n":
                self.stop.set()
            else:
                self.tasks.put(json.loads(line))
        self.stop.set()
        self.tasks.put(None)

    def next(self) -> dict[str, Any] | None:
        """The next task, None when there will be no more; memory is given back while there is none."""
        if time.monotonic() - self._gave_back_s > _GIVE_BACK_EVERY_S:
            self._give_back()
        try:
            return self.tasks.get(timeout=_GIVE_BACK_AFTER_S)
        except queue.Empty:
            self._give_back()
            task = self.tasks.get()
            self._gave_back_s = time.monotonic()
            return task

    def _give_back(self) -> None:
        give_back()
        self._gave_back_s = time.monotonic()

    def answer(self, event: str, head: dict[str, Any], content: bytes) -> None:
        encoded = json.dumps({"event": event, **head}).encode()
        message = memoryview(HEAD.pack(len(encoded), len(content)) + encoded + content)
        while message:
            message = message[self._answers.write(message) or 0 :]


def main() -> None:
    """Answer until there is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the server decides
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(sys.argv[1]):  # it was killed before we asked
            sys.exit(0)
    limits = Limits()
    resource.setrlimit(resource.RLIMIT_DATA, (limits.memory_bytes, limits.memory_bytes))
    _load()
    channel = _Channel()
    threading.Thread(target=channel.listen, daemon=True).start()
    channel.answer("ready", {}, b"")
    while (task := channel.next()) is not None:
        channel.stop.clear()
        last = 0.0

        def tell(part: float) -> None:
            nonlocal last
            if channel.stop.is_set():
                raise _Stopped
            if time.monotonic() - last > _TELL_EVERY_S:
                last = time.monotonic()
                channel.answer("progress", {}, json.dumps({"progress": round(part, 4)}).encode())

        try:
            channel.answer(
                *tasks.carry_out(task, limits, tell, lambda content: channel.answer("progress", {}, content))
            )
        except _Stopped:
            channel.answer("stopped", {}, b"")
        except Exception as error:  # ours; the next task may go well
            traceback.print_exc()
            channel.answer("failed", {}, f"{type(error).__name__}: {error}".encode(errors="replace"))


def give_back() -> None:
    """Return to the system what earlier tasks have freed.

    The C library keeps freed memory below whatever is still in use: after a few runs a worker held twice what it used,
    and held more with each larger run. Libraries other than glibc have no such call, and return memory themselves.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _load() -> None:
    """What every run needs, so that the first is as quick as the others."""
    from mptcplab import Scenario, run
    from mptcplab.lab import exports, lines  # noqa: F401

    scenario = Scenario.from_dict(
        {
            "duration": "1 s",
            "link": {"a": {"rate": "1 Mbit/s", "delay": "1 ms"}},
            "connection": {"c": {"paths": ["a"]}},
        }
    )
    result = run(scenario)
    lines.of_run(result.runs[0][1], Limits())
    result.to_dict()


if __name__ == "__main__":
    main()
