"""`run`: one scenario, one engine, any number of seeds."""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mptcplab import provenance
from mptcplab.capture.settings import INTERFACES, Capture
from mptcplab.engines.catalogue import ALL, Engine, find
from mptcplab.errors import EngineUnavailableError
from mptcplab.results import laws, remarks
from mptcplab.results.result import Result, Run
from mptcplab.scenario import describe

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

_LOOK_EVERY_S: Final = 0.1
_log = logging.getLogger("mptcplab.run")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `run`; `finished` holds the runs that were complete, None when none was."""

    def __init__(self, finished: Result | None, asked: int) -> None:
        super().__init__(f"interrupted after {0 if finished is None else len(finished.runs)} of {asked} runs")
        self.finished = finished


class _Cancelled(Exception):  # noqa: N818
    """Raised within a run to end it."""


def captures(engine: str, scenario: "Scenario", repeat: int = 1) -> None:
    """Raise EngineUnavailableError if the engine has no packets, ValueError if these runs cannot be captured."""
    if not find(engine).captures:
        able = ", ".join(name for name, each in ALL.items() if each.captures)
        raise EngineUnavailableError(f"the engine {engine} cannot capture packets; {able} can")
    if repeat > 1:
        raise ValueError(f"a capture covers one run, not {repeat}; choose the seed and leave out repeat")
    paths = len(describe.description(scenario.document, scenario.seed, False)["paths"])
    if 2 * paths > INTERFACES:
        raise ValueError(f"the hosts have {2 * paths} interfaces on {paths} paths; at most {INTERFACES} are captured")


def traces(engine: str) -> None:
    """Raise EngineUnavailableError unless the engine can write what its connections decide."""
    if not find(engine).traces:
        able = ", ".join(name for name, each in ALL.items() if each.traces)
        raise EngineUnavailableError(
            f"the engine {engine} does not tell why its connections decide as they do; {able} can be traced"
        )


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
    trace: Path | None = None,
) -> Result:
    """Run `scenario` on `engine`, `repeat` times with the seeds `seed`, `seed` + 1, …

    `seed` replaces the scenario's own. Up to `jobs` runs are executed in parallel; the result does not depend on it.
    `progress` is called from time to time with the fraction that is done, 0 to 1. `through_wire` encodes, decodes and
    compares every segment (engine `sim` only; otherwise ValueError). `capture` determines where the packets of one run
    are written, one pcapng file per interface of the hosts. `trace` is an existing, empty directory for what the
    connections decide, as qlog: a file for each end, with several runs in `run-0`, `run-1`, …

    Returns a Result with the frames `connections`, `subflows`, `links` and `samples`; docs/results.md describes them.

    Raises UnknownEngineError, EngineUnavailableError, mptcplab.scenario.UnsupportedError if the engine does not support
    something in the scenario, mptcplab.scenario.ScenarioError for an invalid seed, SimulationError or
    mptcplab.models.checks.NotConvergedError if a run fails, Interrupted on Ctrl-C.

    >>> import mptcplab
    >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    >>> mptcplab.run(scenario, repeat=2).connections["repeat"].to_list()
    [0, 1]
    """
    chosen = find(engine)
    if repeat < 1 or jobs < 1:
        raise ValueError(f"repeat and jobs must be at least 1, not {repeat} and {jobs}")
    if through_wire and not chosen.through_wire:
        raise ValueError(f"through_wire is for segments of the engine sim; {engine} has none")
    options: dict[str, Any] = {"through_wire": through_wire}
    if capture is not None:
        captures(engine, scenario, repeat)
        options["capture"] = capture
    if trace is not None:
        traces(engine)
    if seed is not None:
        scenario = scenario.with_(seed=seed)
    chosen.require(scenario)
    series = _Series(scenario, chosen, repeat, options, progress, trace)
    origin = provenance.collect(
        scenario_sha256=scenario.sha256(),
        engine=engine,
        seed=scenario.seed,
        repeat=repeat,
        through_wire=through_wire,
        kernel=chosen.origin(scenario),
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
        engine: Engine,
        repeat: int,
        options: Mapping[str, Any],
        progress: Callable[[float], None] | None,
        trace: Path | None,
    ) -> None:
        self.finished: dict[int, Run] = {}
        self._scenario = scenario
        from mptcplab.scenario.load import once  # whoever has a scenario has loaded it

        self._description = once(
            scenario, "laws", lambda: describe.description(scenario.document, scenario.seed, False)
        )
        self._runner = engine.runner
        self._options = options
        self._trace = trace
        self._on_a_thread = not engine.listens_for_signals
        self._repeat = repeat
        self._progress = progress
        self._waiting = iter(range(repeat))
        self._under_way: dict[int, float] = {}
        self._cancel = threading.Event()
        self._lock = threading.Lock()

    def all(self, jobs: int) -> Mapping[int, Run]:
        """Every run; a failure ends the series."""
        jobs = min(jobs, self._repeat)
        if jobs == 1 and not self._on_a_thread:
            self._serve()
            return self.finished
        # Signals reach the main thread only, which is free here to notice them.
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            try:
                # Ctrl-C may come before the last has begun.
                waiting = {pool.submit(self._serve) for _ in range(jobs)}
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
        options = dict(self._options)
        if self._trace is not None:
            options["trace"] = self._trace if self._repeat == 1 else self._trace / f"run-{number}"
        try:
            if self._trace is not None:
                options["trace"].mkdir(exist_ok=True)
            run = self._runner(self._scenario, seed=self._scenario.seed + number, progress=watch, **options)
            rows = {name: run.rows(name) for name in ("connections", "subflows", "links")}
            laws.check(self._description, rows)
            run = replace(run, notes=(*run.notes, *remarks.of(self._description, rows, run.notes)))
        except BaseException:
            self._cancel.set()
            raise
        with self._lock:
            self.finished[number] = run
        _log.debug("%s: seed %d done", self._scenario.name, run.seed)
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
