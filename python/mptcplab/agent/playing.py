"""A run, from its start on a thread of its own to what this end saw of it."""

import base64
import json
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from mptcplab import _core
from mptcplab.agent import host, programs, system
from mptcplab.agent.captures import Captures
from mptcplab.agent.requests import Play, Prepare
from mptcplab.agent.system import Refused


class _Stopped(Exception):  # noqa: N818
    """Raised within a run to end it."""


class Playing:
    """One run."""

    def __init__(self, asked: Play, prepared: Prepare, allowed: Collection[str], directory: Path, port: int) -> None:
        """Everything stands ready on return: servers listen, captures run. Raises Refused."""
        self._asked = asked
        self._end = prepared.end
        self._stop = threading.Event()
        self._time_s = 0.0
        self._outcome: Mapping[str, Any] | None = None
        self._problems: list[str] = []
        self._counters = host.mptcp_counters(prepared.end)
        self._dropped = {name: system.counters(name) for name in prepared.interfaces}
        self.captures = Captures(directory)
        self._programs: programs.Programs | None = None
        if asked.programs:
            programs.check_allowed(asked.programs, allowed)
            number = 0 if prepared.end == "client" else 1
            places = dict(enumerate(asked.hosts))
            self._programs = programs.Programs(number, asked.description, places, asked.programs, directory, port)
        try:
            if asked.snap_length is not None:
                selection = f"tcp and not port {port}"
                self.captures.start(asked.capture_on, asked.snap_length, selection)
            if self._programs is not None:
                self._programs.begin_servers()
        except BaseException:
            self.close()
            raise
        work = [self._core] if asked.own else []
        if self._programs is not None:
            work.append(self._play_programs)
        self._threads = [threading.Thread(target=each, name="run", daemon=True) for each in work]
        for thread in self._threads:
            thread.start()

    def status(self) -> dict[str, Any]:
        """Whether it still runs, and how far it is."""
        running = any(thread.is_alive() for thread in self._threads)
        return {"running": running, "time_s": self._time_s, "problems": self._problems}

    def result(self) -> dict[str, Any]:
        """What this end saw. Raises Refused when there is nothing, or the run is not over."""
        if any(thread.is_alive() for thread in self._threads):
            raise Refused("the run is not over")
        if self._problems:
            raise Refused("; ".join(self._problems))
        answer: dict[str, Any] = {"summary": None, "samples": None, "programs": []}
        if self._outcome is not None:
            answer["summary"] = json.loads(self._outcome["summary"])
            columns = self._outcome["subflow_samples"]
            answer["samples"] = {
                name: base64.b64encode(column).decode("ascii") for name, column in columns.items() if name != "own"
            }
        if self._programs is not None:
            self._programs.end()
            answer["programs"] = self._programs.tell(self._asked.zero_ns)
        after = host.mptcp_counters(self._end)
        answer["counters"] = {
            name: value - self._counters.get(name, 0)
            for name, value in after.items()
            if value != self._counters.get(name, 0)
        }
        now = {name: system.counters(name) for name in self._dropped}
        answer["interfaces"] = {
            name: {each: now[name][each] - before[each] for each in before} for name, before in self._dropped.items()
        }
        answer["kernel"] = host.about(self._end)
        answer["captures"] = self.captures.stop()
        return answer

    def close(self) -> None:
        """End it, whether it is over or not."""
        self._stop.set()
        for thread in getattr(self, "_threads", ()):
            thread.join()
        if self._programs is not None:
            self._programs.end()
        self.captures.stop()

    def _core(self) -> None:
        asked = self._asked
        own = {**asked.description, "connections": [asked.description["connections"][kind] for kind in asked.own]}
        hosts = [asked.hosts[kind] for kind in asked.own]
        plan = {"description": own, "end": self._end, "zero_ns": asked.zero_ns, "token": asked.token, "hosts": hosts}

        def watch(time_s: float) -> None:
            self._time_s = time_s
            if self._stop.is_set():
                raise _Stopped

        try:
            self._outcome = _core.run_testbed_end(json.dumps(plan), watch)
        except _Stopped:
            pass
        except (ValueError, _core.SimulationError) as error:
            self._problems.append(str(error))

    def _play_programs(self) -> None:
        assert self._programs is not None, "there are some"
        try:
            self._programs.play(self._asked.zero_ns, self._stop)
        except (OSError, ValueError) as error:
            self._problems.append(str(error))
