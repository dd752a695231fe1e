"""Runs on the cores of this machine: worker processes, each with a thread here that hands it one run after another."""

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final, Self

from mptcplab.errors import Error
from mptcplab.sweeps.planned import Planned

Answer = tuple[Planned, bytes]
_ATTEMPTS: Final = 2
"""How often a run is begun when its process dies; a run that kills two processes would kill a third."""


class WorkerError(Error, RuntimeError):
    """A worker process ended by itself, twice over the same run."""


class Pool:
    """Worker processes; a context manager that leaves none behind."""

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {jobs}")
        self._jobs = jobs
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopped.set()
        with self._lock:
            for process in self._processes:
                process.kill()
        for thread in self._threads:
            thread.join()

    def answers(self, runs: Iterable[Planned]) -> Iterator[Answer]:
        """Carry all runs out; answers as they come. Raises WorkerError."""
        waiting = list(runs)
        todo = iter(waiting)
        done: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, args=(todo, done), daemon=True)
            for _ in range(min(self._jobs, len(waiting)))
        ]
        for thread in self._threads:
            thread.start()
        for _ in waiting:
            answer = done.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer

    def _serve(self, todo: Iterator[Planned], done: "queue.SimpleQueue[Answer | BaseException]") -> None:
        process: subprocess.Popen[bytes] | None = None
        try:
            while not self._stopped.is_set():
                with self._lock:
                    run = next(todo, None)
                if run is None:
                    break
                for attempt in range(_ATTEMPTS):
                    if process is None:
                        process = self._start()
                    answer = _ask(process, run)
                    if answer is not None:
                        done.put((run, answer))
                        break
                    status = self._end(process)
                    process = None
                    if self._stopped.is_set():
                        return
                    if attempt == _ATTEMPTS - 1:
                        raise WorkerError(
                            f"the process of run {run.name[:12]} died twice (status {status}): out of memory?"
                        )
        except BaseException as error:  # raised where answers are waited for
            done.put(error)
        finally:
            if process is not None:
                self._end(process)

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
