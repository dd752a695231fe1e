"""Hands a scenario to the agents of two machines, and makes one result of what they saw."""

import ipaddress
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core
from mptcplab.capture.settings import Capture
from mptcplab.engines.linux import engine as linux
from mptcplab.engines.sim.engine import run_from_outcome
from mptcplab.engines.testbed import merge
from mptcplab.engines.testbed.layout import Layout
from mptcplab.engines.testbed.refusals import unsupported
from mptcplab.engines.testbed.remote import Remote
from mptcplab.errors import EngineUnavailableError
from mptcplab.results.result import Run
from mptcplab.scenario import UnsupportedError
from mptcplab.scenario.machines import Testbed
from mptcplab.testbed import clock_ns

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

# An agent serves one controller at a time.
_ONE_AT_A_TIME = threading.Lock()
_SET_OFF_NS: Final = 1_000_000_000
"""From the order to play until time 0: more than a message takes to any agent."""
_LOOK_S: Final = 0.2
_LATE_S: Final = 20.0
"""How much longer than the scenario a run may take."""


def run(
    scenario: "Scenario",
    *,
    seed: int,
    through_wire: bool = False,
    progress: Callable[[float], None] | None = None,
    capture: Capture | None = None,
) -> Run:
    """Run one scenario between two machines; `seed` gives the draws of applications, as on the engine sim.
    `capture` says where the packets are written, a file for each interface of the run.

    Raises UnsupportedError for what is not possible between real machines, EngineUnavailableError when an agent is not
    there or refuses, SimulationError when a run fails on the way.
    """
    assert not through_wire, "refused before"
    problems = unsupported(scenario)
    if problems:
        raise UnsupportedError("testbed", problems)
    testbed = scenario.document.testbed
    assert testbed is not None, "looked at before"
    layout = Layout(scenario.document, linux.described(scenario, seed))
    key_file = key_place(scenario.source, testbed.key)
    with _ONE_AT_A_TIME, ExitStack() as stack:
        # Leaving ends the sessions, and with them whatever runs.
        remotes = {
            end: stack.enter_context(Remote(end, where, key_file))
            for end, where in (("server", testbed.server), ("client", testbed.client))
        }
        _check(layout, remotes)
        ends = _play(scenario, layout, testbed, remotes, progress, capture)
    return _told(layout, remotes, ends, seed)


def key_place(source: str, key: str) -> Path:
    """Where the key of a scenario is: relative to its file."""
    place = Path(key).expanduser()
    return place if place.is_absolute() or source.startswith("<") else Path(source).parent / place


def _check(layout: Layout, remotes: Mapping[str, Remote]) -> None:
    """What only the agents know, before anything is changed."""
    for end, remote in remotes.items():
        for connection in layout.description["connections"]:
            name, control = connection["name"], connection["congestion"]["name"]
            if control not in remote.about["controls"]:
                have = ", ".join(remote.about["controls"])
                raise EngineUnavailableError(
                    f"connection {name}: the kernel of the {end} at {remote.where} has no congestion control "
                    f"{control!r}; it has {have}"
                )
        for interface in layout.interfaces(end):
            if interface not in remote.about["interfaces"]:
                have = ", ".join(remote.about["interfaces"]) or "none"
                raise EngineUnavailableError(
                    f"the {end} at {remote.where} has no interface {interface!r} for this; it has {have}"
                )


def _play(
    scenario: "Scenario",
    layout: Layout,
    testbed: Testbed,
    remotes: Mapping[str, Remote],
    progress: Callable[[float], None] | None,
    capture: Capture | None,
) -> dict[str, dict[str, Any]]:
    server = _server_address(testbed, remotes["server"])
    if linux.commands(scenario) and ipaddress.ip_address(server).version == 6:
        raise EngineUnavailableError(f"programs are measured over IPv4 only, and the server is at {server}")
    there = remotes["server"].ask("prepare", **layout.prepare("server", server))
    prepared = remotes["client"].ask("prepare", **layout.prepare("client", server))
    # Behind a box that forwards ports, the server's own address is another.
    listens = server if there["server_is_local"] else str(_any_of(server))
    token = list(secrets.token_bytes(16))
    zero_ns = clock_ns() + _SET_OFF_NS
    for end in ("server", "client"):
        remote = remotes[end]
        remote.ask(
            "play",
            description=dict(layout.description),
            token=token,
            zero_ns=zero_ns + remote.offset_ns,
            hosts=layout.hosts(prepared["addresses"], listens if end == "server" else server, testbed.port),
            own=layout.own,
            programs=_programs(scenario, end),
            snap_length=None if capture is None else capture.snap_length,
            capture_on=layout.interfaces(end),
        )
    if clock_ns() > zero_ns:
        raise _core.SimulationError("the agents took longer than a second to start; is the control channel slow?")
    _wait(layout.description["duration_ns"], zero_ns, remotes, progress)
    ends = {end: remote.ask("result") for end, remote in remotes.items()}
    if capture is not None:
        for end, remote in remotes.items():
            for name in ends[end]["captures"]:
                remote.fetch(name, capture.directory / f"{end}-{name}")
    for end, remote in remotes.items():
        ends[end]["left"] = remote.ask("release")["problems"]
    return ends


def _wait(
    duration_ns: int, zero_ns: int, remotes: Mapping[str, Remote], progress: Callable[[float], None] | None
) -> None:
    """Until both ends are through; `progress` raises to end the run."""
    latest_ns = zero_ns + duration_ns + int(_LATE_S * 1e9)
    while True:
        states = {end: remote.ask("status") for end, remote in remotes.items()}
        for end, state in states.items():
            if state["problems"]:
                raise _core.SimulationError(f"at the {end}: {'; '.join(state['problems'])}")
        if progress is not None:
            progress(min(max(0, clock_ns() - zero_ns), duration_ns) / 1e9)
        if not any(state["running"] for state in states.values()):
            return
        if clock_ns() > latest_ns:
            raise _core.SimulationError(f"a run had not ended {_LATE_S:g} s after its scheduled end")
        time.sleep(_LOOK_S)


def _server_address(testbed: Testbed, server: Remote) -> str:
    """The server's address as the client calls it."""
    import socket

    given = testbed.address or server.peer
    try:
        address = str(socket.getaddrinfo(given, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise EngineUnavailableError(f"testbed.address: {given}: {error.strerror}") from None
    if ipaddress.ip_address(address).is_loopback:
        raise EngineUnavailableError(
            f"the server's agent was reached at {address}, which no other machine can reach; "
            'give the address that the client uses: testbed.address = "…"'
        )
    return address


def _any_of(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address("0.0.0.0" if ipaddress.ip_address(address).version == 4 else "::")


def _programs(scenario: "Scenario", end: str) -> list[dict[str, Any]]:
    return [
        {
            "kind": kind,
            "words": list(command.server if end == "server" else command.client),
            "files": dict(command.files),
            "mptcpize": command.mptcpize,
        }
        for kind, command in linux.commands(scenario).items()
    ]


def _told(layout: Layout, remotes: Mapping[str, Remote], ends: Mapping[str, dict[str, Any]], seed: int) -> Run:
    description = layout.description
    try:
        outcome = merge.outcome(description, layout.own, ends["client"], ends["server"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _core.SimulationError(f"an agent sent an invalid answer: {error!r}") from None
    wrong_s = sum(remote.uncertainty_ns for remote in remotes.values()) / 1e9
    notes = [
        "rates, delays, queues and losses of the links are those of the real network; the scenario only describes them",
        f"the clocks of the two machines agree within {wrong_s * 1e3:.2f} ms",
    ]
    failures = []
    for end, of_end in ends.items():
        notes += [f"at the {end}, not restored: {problem}" for problem in of_end["left"]]
        refused = (of_end["summary"] or {}).get("refused", 0)
        if refused:
            notes.append(f"at the {end}, {refused} connections without the run's secret were closed")
        for name, counted in of_end["interfaces"].items():
            if any(counted.values()):
                notes.append(f"at the {end}, {name} counted {_counted(counted)}")
        for row in (of_end["summary"] or {}).get("connections", ()):
            if row["failure"] is not None and end == "client":
                name = description["connections"][layout.own[row["kind"]]]["name"]
                notes.append(f"{name} {row['index']} failed: {row['failure']}")
        for program in of_end["programs"]:
            name = description["connections"][program["kind"]]["name"]
            if program["finished_ns"] is not None and program["status"] != 0:
                failures.append(f"{name}: the {end}'s {program['command'][0]} {program['how']}")
    answer = run_from_outcome(description, outcome, seed=seed)
    live = {
        "valid": True,
        "clocks_agree_within_s": wrong_s,
        "agents": {end: {"where": remote.where, "version": remote.about["version"]} for end, remote in remotes.items()},
        "mptcp_counters": {end: of_end["counters"] for end, of_end in ends.items()},
        "interfaces": {end: of_end["interfaces"] for end, of_end in ends.items()},
        "kernel": {end: of_end["kernel"] for end, of_end in ends.items()},
    }
    records = [_record(description, end, program) for end in ends for program in ends[end]["programs"]]
    if records:
        live["programs"] = records
    return Run(answer.seed, answer.tables, notes=tuple(notes), live=live, failures=tuple(failures))


def _counted(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counted.items() if number)


def _record(description: Mapping[str, Any], end: str, program: Mapping[str, Any]) -> dict[str, Any]:
    finished_ns = program["finished_ns"]
    return {
        "connection": description["connections"][program["kind"]]["name"],
        "host": end,
        "command": program["command"],
        "began_s": program["began_ns"] / 1e9,
        "ended_s": None if finished_ns is None else finished_ns / 1e9,
        **{key: program[key] for key in ("status", "signal", "stdout", "stderr")},
    }
