"""The engine `sim`: hands the complete description to the core; mptcplab.results.run_frames names what comes back."""

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mptcplab import _core, files
from mptcplab.capture.settings import Capture
from mptcplab.results.outcome_rows import Names
from mptcplab.results.result import Run
from mptcplab.results.run_frames import OutcomeTables
from mptcplab.scenario.load import once

if TYPE_CHECKING:
    from mptcplab._core import Outcome, SimulatedOutcome
    from mptcplab.scenario import Scenario


def run(
    scenario: "Scenario",
    *,
    seed: int,
    through_wire: bool = False,
    progress: Callable[[float], None] | None = None,
    capture: Capture | None = None,
    trace: Path | None = None,
) -> Run:
    """Simulate one scenario with one seed; `progress` gets the virtual time in seconds now and then.

    `capture` says where packets are written, as pcapng, a file for each interface of the hosts; `trace` where it is
    written what each end of each connection decides, as qlog.

    Raises mptcplab.scenario.UnsupportedError for what the simulator has not learnt, SimulationError when it fails,
    mptcplab.plugins.PluginError when one of its plug-ins does.
    """
    told = _told(scenario, seed, through_wire)
    description = told.description(seed)
    options: dict[str, Any] = {}
    if capture is not None:
        options = {"capture": capture.directory, "snap_length": capture.snap_length}
    if trace is not None:
        options["trace"] = trace
    if scenario.document.plugins:
        from mptcplab.plugins import running  # for scenarios that have some

        options["plugins"] = running.given(running.described(scenario.document))
    with nullcontext() if capture is None else files.named_by_core(capture.directory):
        outcome = _core.simulate(description, progress, **options)
    return Run(seed, OutcomeTables(told.names, outcome), notes=_failed(told.names, outcome))


def _failed(names: Names, outcome: "Outcome | SimulatedOutcome") -> tuple[str, ...]:
    """What became of each connection that failed: the first of its transfers, where it has several."""
    if '"failure":"' not in outcome["summary"]:  # the whole is read when somebody asks for rows
        return ()
    rows = json.loads(outcome["summary"])["connections"]
    return tuple(
        f"{names.kinds[row['kind']]['name']} {row['index']} failed: {row['failure']}"
        for row in rows
        if row["failure"] is not None
    )


def run_from_outcome(description: Mapping[str, Any], outcome: "Outcome | SimulatedOutcome", *, seed: int) -> Run:
    """Give the core's outcome the names of the scenario and the columns of docs/results.md.

    Its notes say which connections failed.
    """
    names = Names.of(description)
    return Run(seed, OutcomeTables(names, outcome), notes=_failed(names, outcome))


@dataclass(frozen=True, slots=True)
class _Told:
    """What the core is told of a scenario, but for the seed."""

    names: Names
    rest: str
    """Of the description's JSON what follows the seed."""

    @classmethod
    def of(cls, description: dict[str, Any]) -> Self:
        """That of a complete description, whatever its seed."""
        rest = json.dumps({key: value for key, value in description.items() if key != "seed"})
        return cls(Names.of(description), rest.removeprefix("{"))

    def description(self, seed: int) -> str:
        """The complete description, JSON."""
        if not 0 <= seed < 2**64:
            raise ValueError(f"a seed must be a whole number from 0 to {2**64 - 1}, not {seed}")
        return f'{{"seed": {seed}, {self.rest}'


def _told(scenario: "Scenario", seed: int, through_wire: bool) -> _Told:
    """Made once for all seeds; what is drawn from the seed is drawn anew for each."""

    def make() -> _Told:
        return _Told.of(scenario.description(seed=seed, through_wire=through_wire))

    if scenario.document.is_drawn:
        return make()
    return once(scenario, "through the wire" if through_wire else "simulation", make)
