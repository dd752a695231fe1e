"""The engines, and `run`: one scenario, one engine, any number of seeds."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from mptcplab import linux_engine, machine, model_engine, provenance, stack_engine
from mptcplab.capture.settings import INTERFACES, Capture
from mptcplab.live.requirements import require
from mptcplab.machine import EngineUnavailableError as EngineUnavailableError
from mptcplab.result import Result, Run
from mptcplab.scenario import describe
from mptcplab.simulation import simulate

if TYPE_CHECKING:
    from mptcplab.scenario import Problem, Scenario


class Runner(Protocol):
    """What an engine does: one scenario, one seed, one Run; `progress` gets the scenario's time in seconds."""

    def __call__(
        self, scenario: "Scenario", *, seed: int, through_wire: bool, progress: Callable[[float], None] | None
    ) -> Run:
        """Run it."""


class CapturingRunner(Protocol):
    """An engine that can write the packets of its hosts."""

    def __call__(
        self,
        scenario: "Scenario",
        *,
        seed: int,
        through_wire: bool,
        progress: Callable[[float], None] | None,
        capture: Capture | None,
    ) -> Run:
        """Run it, and write what its hosts send and receive."""


@dataclass(frozen=True)
class Engine:
    """An engine by its name; without `runner` it is planned and not part of this version."""

    name: str
    summary: str
    runner: Runner | None
    refusals: "Callable[[Scenario], list[Problem]] | None" = None
    """What it cannot do of a scenario, where the registry does not say it all."""
    require: Callable[[], None] | None = None
    """Raises EngineUnavailableError when this machine lacks what the engine needs."""

    def unsupported(self, scenario: "Scenario") -> "list[Problem]":
        """Everything in the scenario that the engine cannot do."""
        return scenario.unsupported(self.name) if self.refusals is None else self.refusals(scenario)


ENGINES: Final[Mapping[str, Engine]] = {
    engine.name: engine
    for engine in (
        Engine("sim", "our own TCP and Multipath TCP in virtual time, packet by packet", simulate),
        Engine("model", "what theory says of the steady state", model_engine.calculate, model_engine.unsupported),
        Engine(
            "stack",
            "the same TCP and Multipath TCP on TUN devices: real packets, real clock",
            stack_engine.run,
            stack_engine.unsupported,
            lambda: require("stack"),
        ),
        Engine(
            "linux",
            "the kernel's Multipath TCP in network namespaces, real programs",
            linux_engine.run,
            linux_engine.unsupported,
            lambda: require("linux", (*machine.live(), machine.kernel_mptcp())),
        ),
    )
}


def _mixed(name: str) -> Engine:
    end = stack_engine.NAMES[name]
    ours = "client" if end == "server" else "server"
    return Engine(
        name,
        f"the engine stack with our {ours} and the kernel's {end}",
        partial(stack_engine.run, kernel_end=end),
        lambda scenario: stack_engine.Peer(end, scenario).unsupported(),
        lambda: require(name, (*machine.live(), machine.kernel_mptcp())),
    )


MIXED: Final[Mapping[str, Engine]] = {name: _mixed(name) for name in stack_engine.NAMES}
"""Engines with our stack at one end and the kernel at the other."""

CAPTURING: Final[Mapping[str, CapturingRunner]] = {
    "sim": simulate,
    "stack": stack_engine.run,
    "linux": linux_engine.run,
    **{name: partial(stack_engine.run, kernel_end=end) for name, end in stack_engine.NAMES.items()},
}
"""The engines that can write captures."""

_IN_PLACE: Final[tuple[Runner, ...]] = (simulate, model_engine.calculate)
"""They look for signals themselves, so that a single job needs no thread beside the caller's, which costs a third of a
short simulation."""
_LOOK_EVERY_S: Final = 0.1


class UnknownEngineError(ValueError):
    """There is no engine of that name."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `run`; `finished` holds the runs that were complete, None when none was."""

    def __init__(self, finished: Result | None, asked: int) -> None:
        super().__init__(f"interrupted after {0 if finished is None else len(finished.runs)} of {asked} runs")
        self.finished = finished


class _Cancelled(Exception):  # noqa: N818
    """Raised within a run to end it."""


def find(name: str) -> Engine:
    """The engine of a name, whether this machine has what it needs or not. Raises UnknownEngineError."""
    engine = ENGINES.get(name) or MIXED.get(name)
    if engine is None:
        raise UnknownEngineError(f"there is no engine {name!r}; there are {', '.join((*ENGINES, *MIXED))}")
    return engine


def available(name: str) -> Runner:
    """The runner of an engine.

    Raises UnknownEngineError and EngineUnavailableError.
    """
    engine = find(name)
    if engine.runner is None:
        ready = ", ".join(other.name for other in ENGINES.values() if other.runner is not None)
        raise EngineUnavailableError(f"the engine {name!r} is not part of this version; use {ready}")
    if engine.require is not None:
        engine.require()
    return engine.runner


def captures(engine: str, scenario: "Scenario", repeat: int = 1) -> None:
    """Raise ValueError unless the packets of these runs can be captured."""
    if engine not in CAPTURING:
        raise ValueError(f"the engine {engine} has no packets to capture; {', '.join(CAPTURING)} can")
    if repeat > 1:
        raise ValueError(f"captures are of one run, not of {repeat}; give the seed that is wanted and no repeat")
    paths = len(describe.description(scenario.document, scenario.seed, False)["paths"])
    if 2 * paths > INTERFACES:
        raise ValueError(f"the hosts have {2 * paths} interfaces on {paths} paths; at most {INTERFACES} are captured")


def run(
    scenario: "Scenario",
    engine: str = "sim",
    *,
    seed: int | None = None,
    repeat: int = 1,
    jobs: int = 1,
    progress: Callable[[float], None] | None = None,
    through_wire: bool = False,
    capture: Capture | None = None,
) -> Result:
    """Run `scenario` on `engine`, `repeat` times with the seeds `seed`, `seed` + 1, …

    `seed` replaces the scenario's own. `jobs` runs go on at a time; the result does not depend on it. `progress` is
    called now and then with the part that is done, 0 to 1. `through_wire` encodes, decodes and compares every segment
    of the engine `sim`; others refuse it with a ValueError. `capture` says where the packets of one run are written, a
    pcapng file for each interface of the hosts (`captures` tells which engines can).

    Raises UnknownEngineError, EngineUnavailableError, mptcplab.scenario.UnsupportedError for what the engine cannot do,
    mptcplab.scenario.ScenarioError for a seed that is none, SimulationError or
    mptcplab.models.checks.NotConvergedError when a run fails, Interrupted on Ctrl-C.
    """
    runner = available(engine)
    if repeat < 1 or jobs < 1:
        raise ValueError(f"repeat and jobs are at least 1, not {repeat} and {jobs}")
    if through_wire and engine != "sim":
        raise ValueError(f"through_wire is for segments of the engine sim; {engine} has none")
    if capture is not None:
        captures(engine, scenario, repeat)
        runner = partial(CAPTURING[engine], capture=capture)
    if seed is not None:
        scenario = scenario.with_seed(seed)
    series = _Series(scenario, runner, repeat, through_wire, progress)
    origin = provenance.collect(
        scenario_sha256=scenario.sha256(),
        engine=engine,
        seed=scenario.seed,
        repeat=repeat,
        through_wire=through_wire,
    )

    def result(runs: Mapping[int, Run]) -> Result:
        return Result(scenario=scenario, engine=engine, provenance=origin, runs=tuple(sorted(runs.items())))

    try:
        return result(series.all(jobs))
    except KeyboardInterrupt:
        raise Interrupted(result(series.finished) if series.finished else None, repeat) from None


class _Series:
    """The runs of one scenario; several at a time are on threads: the engines release the GIL."""

    def __init__(
        self,
        scenario: "Scenario",
        runner: Runner,
        repeat: int,
        through_wire: bool,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.finished: dict[int, Run] = {}
        self._scenario = scenario
        self._runner = runner
        self._repeat = repeat
        self._through_wire = through_wire
        self._progress = progress
        self._waiting = iter(range(repeat))
        self._under_way: dict[int, float] = {}
        self._cancel = threading.Event()
        self._lock = threading.Lock()

    def all(self, jobs: int) -> Mapping[int, Run]:
        """Every run; a failure ends the series."""
        jobs = min(jobs, self._repeat)
        if jobs == 1 and self._runner in _IN_PLACE:
            self._serve()
            return self.finished
        # Signals reach the main thread only, which is free here to notice them.
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            waiting = {pool.submit(self._serve) for _ in range(jobs)}
            try:
                while waiting:
                    # Not without end: a signal that another thread took does not wake this one.
                    done, waiting = wait(waiting, timeout=_LOOK_EVERY_S, return_when=FIRST_EXCEPTION)
                    for future in done:
                        self._raise_failure(future)
            except BaseException:
                self._cancel.set()
                raise
        return self.finished

    def _raise_failure(self, future: Future[None]) -> None:
        # A run that was told to end is not why the series ends.
        if not isinstance(future.exception(), _Cancelled):
            future.result()

    def _serve(self) -> None:
        """One run after another, until none is left."""
        while True:
            with self._lock:
                number = next(self._waiting, None)
            if number is None:
                return
            self._one(number)

    def _one(self, number: int) -> None:
        def watch(time_s: float) -> None:
            if self._cancel.is_set():
                raise _Cancelled
            self._tell(number, time_s / (self._scenario.duration_ns / 1e9))

        if self._cancel.is_set():
            raise _Cancelled
        try:
            run = self._runner(
                self._scenario, seed=self._scenario.seed + number, through_wire=self._through_wire, progress=watch
            )
        except BaseException:
            self._cancel.set()
            raise
        with self._lock:
            self.finished[number] = run
        self._tell(number, 1.0)

    def _tell(self, number: int, part: float) -> None:
        if self._progress is None:
            return
        with self._lock:
            if number in self.finished:
                self._under_way.pop(number, None)
            else:
                self._under_way[number] = min(part, 1.0)
            self._progress((len(self.finished) + sum(self._under_way.values())) / self._repeat)
