"""Hands a scenario to the kernel's hosts, and tells how far the answer can be trusted."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mptcplab.capture.settings import Capture
from mptcplab.engines.linux import buffers
from mptcplab.engines.linux.hosts import Played, play
from mptcplab.engines.linux.programs.play import Command
from mptcplab.engines.linux.refusals import unsupported
from mptcplab.engines.live import timing
from mptcplab.engines.sim.engine import run_from_outcome
from mptcplab.results.result import Run
from mptcplab.scenario import UnsupportedError, describe
from mptcplab.scenario.applications import Program

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

# Two runs at a time would make each other late.
_ONE_AT_A_TIME = threading.Lock()


def run(
    scenario: "Scenario",
    *,
    seed: int,
    through_wire: bool = False,
    progress: Callable[[float], None] | None = None,
    capture: Capture | None = None,
) -> Run:
    """Run one scenario in real time; `seed` gives the draws of links and applications, as on the engine sim.
    `capture` says where the packets are written, a file for each interface of the hosts.

    Raises UnsupportedError for what the kernel cannot do here, EngineUnavailableError when it refuses what it is asked,
    SimulationError when it fails on the way.
    """
    assert not through_wire, "refused before"
    problems = unsupported(scenario)
    if problems:
        raise UnsupportedError("linux", problems)
    description = described(scenario, seed)
    with _ONE_AT_A_TIME:
        played = play(description, commands(scenario), capture=capture, progress=progress)
    return told(scenario, description, played)


def described(scenario: "Scenario", seed: int) -> dict[str, Any]:
    """The complete description; the links' loss and the applications' starts are those of the engine sim."""
    description = describe.description(scenario.document, seed, False)
    for connection in description["connections"]:
        connection["scheduler"] = buffers.scheduler(connection)
    return description


def commands(scenario: "Scenario") -> dict[int, Command]:
    """The scenario's programs, by kind of connection."""
    return {
        kind: Command(program.client, program.server, program.files, program.mptcpize)
        for kind, connection in enumerate(scenario.document.connections.values())
        if isinstance(program := connection.application, Program)
    }


def told(scenario: "Scenario", description: Mapping[str, Any], played: Played) -> Run:
    """A run as the user sees it."""
    summary = json.loads(played.outcome["summary"])
    answer = run_from_outcome(description, played.outcome, seed=description["seed"])  # type: ignore[arg-type]
    judged = timing.judge(description, summary["emulation"], played.dropped)
    live = {**judged.to_dict(), "mptcp_counters": played.counters, "kernel": played.kernel}
    return replace(
        answer,
        notes=(*judged.notes, *answer.notes, *played.notes, *_about(description, scenario)),
        live={**live, "programs": played.records} if played.records else live,
        failures=tuple(played.failures),
    )


def _about(description: Mapping[str, Any], scenario: "Scenario") -> list[str]:
    """What the kernel did that the scenario does not say."""
    notes = []
    for connection, told in zip(scenario.document.connections.values(), description["connections"], strict=True):
        if connection.protocol == "mptcp" and "scheduler" not in connection.model_fields_set:
            notes.append("the scheduler is the kernel's own, since the scenario names none")
        control = told["congestion"]["name"]
        if control not in ("reno", "cubic"):
            notes.append(f"{control} is the control that is loaded in this kernel under that name")
    return list(dict.fromkeys(notes))
