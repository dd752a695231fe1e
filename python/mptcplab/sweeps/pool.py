"""Runs on the cores of this machine: worker processes, each with a thread here that hands it one run after another.

The threads take runs as an iterable gives them: who plans runs there plans while others are carried out.
"""

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from mptcplab.errors import Error
from mptcplab.sweeps.planned import Planned

Answer = tuple[Planned, bytes]
_ATTEMPTS: Final = 2
"""How often a run is begun when its process dies; a run that kills two processes would kill a third."""


class WorkerError(Error, RuntimeError):
    """A worker process ended by itself, twice over the same run."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of `Pool.answers`, as the threads see it."""

    runs: Iterator[Planned]
    taking: threading.Lock
    done: "queue.SimpleQueue[Answer | BaseException | None]"
    """Ends with None, one from each thread."""
    ended: threading.Event
    """Nobody waits for answers any more."""


class Pool:
    """Worker processes, kept from one call of `answers` to the next; a context manager that leaves none behind."""

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {jobs}")
        self._jobs = jobs
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._calls: list[queue.SimpleQueue[_Call | None]] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopped.set()
        if kind is not None:
            with self._lock:
                for process in self._processes:
                    process.kill()
        for calls in self._calls:
            calls.put(None)
        for thread in self._threads:
            thread.join()

    def answers(self, runs: Iterable[Planned]) -> Iterator[Answer]:
        """Carry all runs out; answers as they come. Raises WorkerError, and what `runs` raises.

        One thread at a time takes from `runs`, when a process is free.
        """
        call = _Call(iter(runs), threading.Lock(), queue.SimpleQueue(), threading.Event())
        if not self._threads:
            self._calls = [queue.SimpleQueue() for _ in range(self._jobs)]
            self._threads = [threading.Thread(target=self._serve, args=(calls,), daemon=True) for calls in self._calls]
            for thread in self._threads:
                thread.start()
        for calls in self._calls:
            calls.put(call)
        serving = self._jobs
        try:
            while serving:
                answer = call.done.get()
                if answer is None:
                    serving -= 1
                elif isinstance(answer, BaseException):
                    raise answer
                else:
                    yield answer
        finally:
            call.ended.set()

    def _serve(self, calls: "queue.SimpleQueue[_Call | None]") -> None:
        """One thread, and the process it hands runs to.

        It lives as long as the pool: the kernel kills a worker when the thread that started it ends.
        """
        process: subprocess.Popen[bytes] | None = None
        while (call := calls.get()) is not None:
            try:
                while not (self._stopped.is_set() or call.ended.is_set()):
                    with call.taking:
                        run = next(call.runs, None)
                    if run is None:
                        break
                    held, process = process, None
                    process, answer = self._carry_out(run, held)
                    if answer is None:
                        break
                    call.done.put((run, answer))
            except BaseException as error:  # raised where answers are waited for
                call.done.put(error)
            finally:
                call.done.put(None)
        if process is not None:
            self._end(process)

    def _carry_out(
        self, run: Planned, process: subprocess.Popen[bytes] | None
    ) -> tuple[subprocess.Popen[bytes] | None, bytes | None]:
        """The process to go on with and the answer; no answer when the pool is being left."""
        status = 0
        for _ in range(_ATTEMPTS):
            asked = process or self._start()
            answer = _ask(asked, run)
            if answer is not None:
                return asked, answer
            status = self._end(asked)
            process = None
            if self._stopped.is_set():
                return None, None
        raise WorkerError(f"the process of run {run.name[:12]} died twice (status {status}): out of memory?")

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            process = subprocess.Popen(
                [sys.executable, "-m", "mptcplab.sweeps.worker", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                process_group=0,  # Ctrl-C is for the parent to decide upon
            )
            self._processes.add(process)
            if self._stopped.is_set():
                process.kill()
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Close its standard input, which ends it, and wait."""
        try:
            process.communicate()
        except (BrokenPipeError, ValueError):
            process.kill()
        status = process.wait()
        with self._lock:
            self._processes.discard(process)
        return status


def _ask(process: subprocess.Popen[bytes], run: Planned) -> bytes | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(run.task.encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return None
    answer = process.stdout.readline()
    return answer[:-1] if answer.endswith(b"\n") else None
