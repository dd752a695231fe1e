"""Furnishes the hosts, hands the plan to the core, and tells how far its answer can be trusted."""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core
from mptcplab.capture.settings import Capture, of_ports
from mptcplab.engines.linux import kernel
from mptcplab.engines.linux.layout import Pair
from mptcplab.engines.linux.programs import Programs, tell
from mptcplab.engines.linux.refusals import unsupported
from mptcplab.engines.live import Namespace, add_interface, set_up, timing
from mptcplab.engines.sim.engine import run_from_outcome
from mptcplab.errors import EngineUnavailableError
from mptcplab.results.result import Run
from mptcplab.scenario import UnsupportedError, describe
from mptcplab.scenario.applications import Program

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

# Two runs at a time would make each other late.
_ONE_AT_A_TIME = threading.Lock()

_SET_OFF_NS: Final = 50_000_000
"""What the emulator needs until it stands ready."""
_SEND_BYTES: Final = 16 << 20
_RECEIVE_BYTES: Final = 6 << 20
"""The most that automatic buffers grow to; the receive buffer's is that of the engine sim."""


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
    # The links' loss and the applications' starts are those of the engine sim with the same seed.
    description = describe.description(scenario.document, seed, False)
    for connection in description["connections"]:
        connection["scheduler"] = {"name": "linux"}
    with _ONE_AT_A_TIME, ExitStack() as stack:
        programs = Programs(description)
        try:
            plan, hosts = _furnish(description, stack)
            # After the hosts, so that it is gone before them.
            stack.enter_context(programs)
            _begin_servers(programs, scenario, hosts)
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            raise EngineUnavailableError(
                f"the engine 'linux' cannot run here:{where} {error.strerror or error}"
            ) from None
        if capture is not None:
            of_ports(plan["ports"], _interfaces(description), capture)
        own = [kind for kind, each in enumerate(description["connections"]) if each["application"]["kind"] != "program"]
        zero_ns = time.monotonic_ns() + _SET_OFF_NS
        programs.begin(zero_ns)
        outcome = _core.run_linux(json.dumps({**_without_programs(plan, own), "zero_ns": zero_ns}), progress)
        programs.finish()
        counters = {host.name: kernel.counters(host) for pair in hosts for host in pair}
        dropped = sum(kernel.dropped_by_interfaces(host) for pair in hosts for host in pair)
        emulation = json.loads(outcome["summary"])["emulation"]
        told = tell(programs, outcome, own, zero_ns, counters)
    answer = run_from_outcome(description, told.outcome, seed=seed)
    judged = timing.judge(description, emulation, dropped)
    failures = [
        f"{description['connections'][row['kind']]['name']} {row['index']} broke off: {row['failure']}"
        for row in json.loads(told.outcome["summary"])["connections"]
        if row["failure"] is not None
    ]
    live = {**judged.to_dict(), "mptcp_counters": counters}
    return replace(
        answer,
        notes=(*judged.notes, *failures, *told.notes, *_about(plan, scenario)),
        live={**live, "programs": told.records} if told.records else live,
        failures=tuple(told.failures),
    )


def _begin_servers(programs: Programs, scenario: "Scenario", hosts: "list[tuple[Namespace, Namespace]]") -> None:
    for kind, (connection, (client, server)) in enumerate(
        zip(scenario.document.connections.values(), hosts, strict=True)
    ):
        if isinstance(connection.application, Program):
            programs.add(Pair(kind, programs.description["connections"][kind]), connection.application, client, server)


def _without_programs(plan: Mapping[str, Any], own: list[int]) -> dict[str, Any]:
    """The plan with the connections that the core plays; the network is that of all."""
    description = plan["description"]
    connections = [description["connections"][kind] for kind in own]
    return {
        **plan,
        "description": {**description, "connections": connections},
        "hosts": [plan["hosts"][kind] for kind in own],
    }


def _furnish(
    description: Mapping[str, Any], stack: ExitStack
) -> tuple[dict[str, Any], list[tuple[Namespace, Namespace]]]:
    """All hosts with their interfaces; `stack` takes them down."""
    ports: list[dict[str, Any]] = []
    hosts: list[dict[str, Any]] = []
    namespaces: list[tuple[Namespace, Namespace]] = []
    mtus = [576]
    for kind, connection in enumerate(description["connections"]):
        pair = Pair(kind, connection)
        congestion = connection["congestion"]["name"]
        client, server = (stack.enter_context(Namespace(f"{pair.name} {end}")) for end in ("client", "server"))
        for host in (client, server):
            set_up(host)
            buffers = {"receive": _RECEIVE_BYTES, "send": _SEND_BYTES}
            offers = {"ecn": connection["ecn"], "checksum": connection["checksum"]}
            kernel.configure(host, congestion, **offers, largest_buffers=buffers)
            if connection["application"]["kind"] == "program":
                kernel.configure_for_programs(host, congestion, connection["receive_buffer_bytes"])
        tuns = [_tun(client, interface, stack) for interface in pair.client_interfaces()]
        tuns.append(_tun(server, pair.server_interface(), stack))
        if pair.mptcp:
            subflows = len(pair.joining)
            backup = connection["path_manager"]["name"] == "backup"
            kernel.set_path_manager(client, pair.joining, subflows=subflows, backup=backup)
            kernel.set_path_manager(server, (), subflows=subflows)
        ports += pair.ports(tuns, len(ports))
        hosts.append(pair.hosts(client.descriptor, server.descriptor, congestion))
        namespaces.append((client, server))
        mtus.append(pair.mtu)
    plan = {"description": description, "ports": ports, "packet_bytes": max(mtus), "hosts": hosts}
    return plan, namespaces


def _interfaces(description: Mapping[str, Any]) -> list[str]:
    """Names of all interfaces in the order of the ports: of each connection the client's by path, then the server's."""
    paths = [path["name"] for path in description["paths"]]
    names = []
    for connection in description["connections"]:
        names += [f"{connection['name']}-client-{paths[path]}" for path in connection["paths"]]
        names.append(f"{connection['name']}-server")
    return names


def _tun(host: Namespace, interface: Any, stack: ExitStack) -> int:  # noqa: ANN401
    descriptor = add_interface(host, interface)
    stack.callback(os.close, descriptor)
    return descriptor


def _about(plan: Mapping[str, Any], scenario: "Scenario") -> list[str]:
    """What the kernel did that the scenario does not say."""
    notes = []
    for connection, hosts in zip(scenario.document.connections.values(), plan["hosts"], strict=True):
        if connection.protocol == "mptcp" and "scheduler" not in connection.model_fields_set:
            notes.append("the scheduler is the kernel's own, as the scenario names none")
        if hosts["congestion"] not in ("reno", "cubic"):
            notes.append(f"{hosts['congestion']} is what this kernel has loaded by that name")
    return list(dict.fromkeys(notes))
