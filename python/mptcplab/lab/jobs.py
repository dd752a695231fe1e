"""Takes the work in and hands it to worker processes: pages take turns, and each has only so much at a time."""

import asyncio
import json
import os
import sys
from collections import Counter, deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mptcplab.lab.limits import Limits
from mptcplab.lab.worker import HEAD

_GRACE_S: Final = 2.0
"""How long a worker may take to notice that its task is not wanted any more."""
_START_S: Final = 60.0


class BusyError(Exception):
    """There is no room for more work."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A part of an answer: `progress`, or at last `done`, `wrong` or `failed`."""

    event: str
    head: Mapping[str, Any]
    content: bytes


@dataclass(eq=False)
class Job:
    """Work of a page."""

    page: str
    task: bytes
    limit_s: float
    command: str
    """What to use on the command line where the page's limits do not suffice."""
    frames: asyncio.Queue[Frame] = field(default_factory=asyncio.Queue)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)


class JobQueue:
    """The queue, and the workers."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._waiting: deque[Job] = deque()
        self._running: Counter[str] = Counter()
        self._idle: list[asyncio.subprocess.Process] = []
        self._processes: set[asyncio.subprocess.Process] = set()
        self._busy = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def prepare(self) -> None:
        """Start a worker before there is work: starting takes longer than most runs."""

        async def start() -> None:
            try:
                process = await self._start()
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                return  # who needs one will be told
            self._idle.append(process)

        task = asyncio.create_task(start())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def frames(self, page: str, task: Mapping[str, Any], limit_s: float) -> AsyncGenerator[Frame]:
        """The answer to a task, part by part. Who stops reading stops the task. Raises BusyError."""
        if len(self._waiting) >= self._limits.waiting:
            raise BusyError(f"{len(self._waiting)} requests are waiting already")
        if sum(job.page == page for job in self._waiting) >= self._limits.waiting_of_page:
            raise BusyError("this page has too many requests waiting")
        command = "mptcplab advise" if task["kind"] == "advise" else "mptcplab run"
        job = Job(page, json.dumps(task).encode() + b"\n", limit_s, command)
        self._waiting.append(job)
        self._begin()
        try:
            while True:
                frame = await job.frames.get()
                yield frame
                if frame.event != "progress":
                    return
        finally:
            job.stopped.set()
            if job in self._waiting:
                self._waiting.remove(job)

    def _begin(self) -> None:
        """Begin what can be begun: of the pages with the least under way, the one that has waited longest."""
        while self._busy < self._limits.processes:
            able = [job for job in self._waiting if self._running[job.page] < self._limits.running_of_page]
            if not able:
                return
            job = min(able, key=lambda job: self._running[job.page])
            self._waiting.remove(job)
            self._busy += 1
            self._running[job.page] += 1
            task = asyncio.create_task(self._carry(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, job: Job) -> None:
        process = None
        try:
            process = self._idle.pop() if self._idle else await self._start()
            if await self._ask(process, job):
                self._idle.append(process)
                process = None
        except Exception as error:  # whatever it is, somebody waits for an answer
            job.frames.put_nowait(Frame("failed", {}, f"{type(error).__name__}: {error}".encode()))
        finally:
            if process is not None:
                await self._end(process)
            self._busy -= 1
            self._running[job.page] -= 1
            if not self._running[job.page]:
                del self._running[job.page]
            self._begin()

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "mptcplab.lab.worker", str(os.getpid())),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            process_group=0,
        )
        self._processes.add(process)
        async with asyncio.timeout(_START_S):
            await _read(process)
        return process

    async def _ask(self, process: asyncio.subprocess.Process, job: Job) -> bool:
        """Have a task carried out; whether the worker can take another."""
        assert process.stdin is not None
        process.stdin.write(job.task)
        await process.stdin.drain()
        stopping = asyncio.create_task(job.stopped.wait())
        deadline = asyncio.get_running_loop().time() + job.limit_s
        reading: asyncio.Task[Frame] | None = None
        told = False
        try:
            while True:
                reading = reading or asyncio.create_task(_read(process))
                left = deadline - asyncio.get_running_loop().time()
                await asyncio.wait(
                    {reading} if told else {reading, stopping}, timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
                if reading.done():
                    frame = reading.result()
                    reading = None
                    if frame.event == "stopped":
                        return True
                    job.frames.put_nowait(frame)
                    if frame.event != "progress":
                        return True
                elif stopping.done() and not told:
                    process.stdin.write(b"stop\n")
                    deadline = asyncio.get_running_loop().time() + _GRACE_S
                    told = True
                elif asyncio.get_running_loop().time() >= deadline:
                    found = f"a run that takes longer than {job.limit_s:g} s of computing"
                    job.frames.put_nowait(_problem(found, job.command))
                    return False
        except asyncio.IncompleteReadError:
            mebibytes = self._limits.memory_bytes >> 20
            found = f"a run whose process died; it may use {mebibytes} MiB of memory"
            job.frames.put_nowait(_problem(found, job.command))
            return False
        finally:
            stopping.cancel()
            if reading is not None:
                reading.cancel()

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            process.kill()
        await process.wait()
        self._processes.discard(process)

    async def close(self) -> None:
        """End all workers, and what they do."""
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for process in list(self._processes):
            await self._end(process)


async def _read(process: asyncio.subprocess.Process) -> Frame:
    """The next answer of a worker. Raises IncompleteReadError when it is gone."""
    assert process.stdout is not None
    head, content = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
    said = json.loads(await process.stdout.readexactly(head))
    return Frame(said.pop("event"), said, await process.stdout.readexactly(content))


def _problem(found: str, command: str) -> Frame:
    expected = f"a shorter or smaller run; use {command} for larger ones"
    problem = {"file": "scenario.toml", "key": "", "found": found, "expected": expected, "line": None, "column": None}
    return Frame("wrong", {}, json.dumps({"problems": [problem]}).encode())
