"""What happens on the machine whose kernel runs the hosts: they are furnished, the plan is played, counters are read.

For the engine `linux` that is this machine, for `linux-virtual` a guest of it, where everything that is imported costs
time: scenarios, data frames and, unless there are programs, numpy are not.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core
from mptcplab.capture.settings import Capture, of_ports
from mptcplab.engines.linux import buffers, kernel
from mptcplab.engines.linux.addresses import Addresses
from mptcplab.engines.linux.layout import Pair, announced_mss_bytes
from mptcplab.engines.live import Namespace, add_interface, set_up
from mptcplab.errors import EngineUnavailableError

if TYPE_CHECKING:
    from mptcplab.engines.linux.kernel_links import KernelLinks
    from mptcplab.engines.linux.programs import Programs
    from mptcplab.engines.linux.programs.play import Command

_SET_OFF_NS: Final = 50_000_000
"""What the emulator needs until it stands ready."""
_TICK_NS: Final = 10_000_000
"""A run begins at a tick of the kernel's clock, at HZ of 100 or more: between two ticks its timers and timestamps stand
still, so what it sends depends on where it begins."""


@dataclass(frozen=True)
class Played:
    """What came of it."""

    outcome: Mapping[str, Any]
    """As the core has it, the programs' rows and samples in their places."""
    counters: dict[str, dict[str, int]]
    """By host, what the kernel counted of Multipath TCP."""
    dropped: int
    """Packets that the hosts' own interfaces dropped."""
    kernel: dict[str, Any] = field(default_factory=dict)
    """Its release, and the parameters of the hosts."""
    records: list[dict[str, Any]] = field(default_factory=list)
    """Each program: what ran, how it ended, what it wrote."""
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def play(
    description: Mapping[str, Any],
    commands: "Mapping[int, Command]",
    *,
    capture: Capture | None,
    progress: Callable[[float], None] | None,
    raw: bool = False,
    links: str = "emulator",
) -> Played:
    """Play a complete description; `commands` are its programs, by kind of connection. With `raw` columns of samples
    are bytes. `links` says what they are: the emulator's, or the kernel's ("tc").

    Raises EngineUnavailableError when the kernel refuses what it is asked, SimulationError when it fails on the way.
    """
    with ExitStack() as stack:
        programs = _programs(description, commands)
        try:
            plan, hosts = _furnish(description, stack, links)
            of_kernel = _kernel_links(links, plan, stack)
            if programs is not None:
                # After the hosts, so that it is gone before them.
                stack.enter_context(programs)
                _begin_servers(programs, commands, hosts)
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            raise EngineUnavailableError(
                f"the engine 'linux' cannot run here:{where} {error.strerror or error}"
            ) from None
        if capture is not None:
            of_ports(plan["ports"], _interfaces(description), capture)
        if of_kernel is not None:
            plan["ports"] = of_kernel.between(plan["ports"])
        own = [kind for kind, each in enumerate(description["connections"]) if each["application"]["kind"] != "program"]
        addresses = stack.enter_context(Addresses(description, [client for client, _ in hosts]))
        zero_ns = -(-(time.monotonic_ns() + _SET_OFF_NS) // _TICK_NS) * _TICK_NS
        addresses.begin(zero_ns)
        if programs is not None:
            programs.begin(zero_ns)
        of_core = {**_without_programs(plan, own), "zero_ns": zero_ns}
        if of_kernel is not None:
            of_kernel.begin(zero_ns)
        of_bytes = raw and programs is None
        outcome: Mapping[str, Any] = _core.run_linux(json.dumps(of_core), progress, raw=of_bytes)
        if of_kernel is not None:
            outcome = of_kernel.finish(outcome, raw=of_bytes)
        try:
            addresses.finish()
        except OSError as error:
            raise _core.SimulationError(error.strerror) from None
        if programs is not None:
            programs.finish()
        counters = {host.name: kernel.counters(host) for pair in hosts for host in pair}
        about = kernel.about((host for pair in hosts for host in pair), description.get("sysctl", {}))
        dropped = sum(kernel.dropped_by_interfaces(host) for pair in hosts for host in pair)
        if programs is None:
            return Played(outcome, counters, dropped, about)
        from mptcplab.engines.linux.programs import tell

        told = tell(programs, outcome, own, zero_ns, counters)  # type: ignore[arg-type]
        of_programs = told.outcome if of_kernel is None else of_kernel.without_losses(told.outcome)
        return Played(of_programs, counters, dropped, about, told.records, told.notes, told.failures)


def _kernel_links(links: str, plan: Mapping[str, Any], stack: ExitStack) -> "KernelLinks | None":
    if links != "tc":
        return None
    from mptcplab.engines.linux.kernel_links import KernelLinks  # what is not used is not loaded

    return KernelLinks(plan["description"], plan["packet_bytes"], stack)


def _programs(description: Mapping[str, Any], commands: "Mapping[int, Command]") -> "Programs | None":
    if not commands:
        return None
    from mptcplab.engines.linux.programs import Programs  # loads numpy

    return Programs(description)


def _begin_servers(
    programs: "Programs", commands: "Mapping[int, Command]", hosts: list[tuple[Namespace, Namespace]]
) -> None:
    for kind, command in commands.items():
        client, server = hosts[kind]
        programs.add(Pair(kind, programs.description["connections"][kind]), command, client, server)


def _without_programs(plan: Mapping[str, Any], own: list[int]) -> dict[str, Any]:
    """The plan with the connections that the core plays; the network is that of all."""
    description = plan["description"]
    connections = [description["connections"][kind] for kind in own]
    return {
        **plan,
        "description": {**_for_core(description), "connections": connections},
        "hosts": [plan["hosts"][kind] for kind in own],
    }


def _for_core(description: Mapping[str, Any]) -> dict[str, Any]:
    """The description without what only kernels are told."""
    return {key: value for key, value in description.items() if key != "sysctl"}


def _furnish(
    description: Mapping[str, Any], stack: ExitStack, links: str
) -> tuple[dict[str, Any], list[tuple[Namespace, Namespace]]]:
    """All hosts with their interfaces; `stack` takes them down."""
    ports: list[dict[str, Any]] = []
    hosts: list[dict[str, Any]] = []
    namespaces: list[tuple[Namespace, Namespace]] = []
    mtus = [576]
    for kind, connection in enumerate(description["connections"]):
        # The emulator has routers that lower the MSS; where tc is the network, hosts announce what its links take.
        announced = announced_mss_bytes(description, connection) if links == "tc" else []
        pair = Pair(kind, connection, announced)
        congestion = connection["congestion"]["name"]
        client, server = (stack.enter_context(Namespace(f"{pair.name} {end}")) for end in ("client", "server"))
        for host in (client, server):
            set_up(host)
            offers = {"ecn": connection["ecn"], "checksum": connection["checksum"]}
            kernel.configure(host, congestion, **offers, send_bytes=buffers.send_bytes(connection))
            if connection["tcp"]["loss_detection"] != "rack-tlp":
                host.set_controls(kernel.recovery(connection["tcp"]["loss_detection"]))
            host.set_controls(description.get("sysctl", {}))
            if connection["application"]["kind"] == "program":
                kernel.configure_for_programs(host, congestion, connection["receive_buffer_bytes"])
        tuns = [_tun(client, interface, stack) for interface in pair.client_interfaces()]
        tuns.append(_tun(server, pair.server_interface(), stack))
        if pair.told is not None:
            endpoints = pair.endpoints(description["links"], description["paths"])
            kernel.tell(client, endpoints, pair.told["client"])
            kernel.tell(server, pair.server_endpoints, pair.told["server"])
        elif pair.mptcp:
            # A first path that comes back is one more: the kernel does not count the one that opened the connection.
            returns = pair.manages_addresses and any("address" in each["set"] for each in description["events"])
            subflows = min(len(pair.joining) + returns, kernel.SUBFLOW_LIMIT)
            endpoints = pair.endpoints(description["links"], description["paths"])
            kernel.set_path_manager(client, endpoints, subflows=subflows)
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
