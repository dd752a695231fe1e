"""Furnishes the hosts, hands the plan to the core, and tells how far its answer can be trusted."""

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core
from mptcplab.capture.settings import Capture, of_ports
from mptcplab.engines.linux import kernel
from mptcplab.engines.live import OUTSIDE, Interface, Namespace, Route, add_interface, set_up, timing
from mptcplab.engines.sim.engine import run_from_outcome
from mptcplab.engines.stack.layout import CLIENTS, SERVER, Layout
from mptcplab.engines.stack.peer import End, Peer
from mptcplab.engines.stack.refusals import unsupported
from mptcplab.errors import EngineUnavailableError
from mptcplab.results.result import Run
from mptcplab.scenario import UnsupportedError, describe

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

# Two runs at a time would make each other late.
_ONE_AT_A_TIME = threading.Lock()

_FIRST_TABLE: Final = 2000


def run(
    scenario: "Scenario",
    *,
    seed: int,
    through_wire: bool = False,
    progress: Callable[[float], None] | None = None,
    capture: Capture | None = None,
    trace: Path | None = None,
    kernel_end: End | None = None,
) -> Run:
    """Run one scenario in real time; `seed` gives the draws of links, applications and hosts.
    `capture` says where the packets are written, a file for each path at the clients' side and one at the servers'.
    `trace` says where it is written what each end of each connection decides.
    `kernel_end` says which of the two hosts is the kernel's own TCP and Multipath TCP; None: both are ours.

    Raises mptcplab.scenario.UnsupportedError for what the engine cannot do, EngineUnavailableError when the kernel
    refuses what it is asked, SimulationError when it fails on the way, mptcplab.plugins.PluginError when a plug-in
    does.
    """
    assert not through_wire, "refused before"
    peer = None if kernel_end is None else Peer(kernel_end, scenario)
    problems = unsupported(scenario) if peer is None else peer.unsupported()
    name = "stack" if peer is None else peer.engine
    if problems:
        raise UnsupportedError(name, problems)
    description = describe.description(scenario.document, seed, False)
    if peer is not None:
        peer.adapt(description)
    with _ONE_AT_A_TIME, ExitStack() as stack:
        try:
            plan, hosts = _furnish(description, stack, peer)
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            raise EngineUnavailableError(
                f"the engine {name!r} cannot run here:{where} {error.strerror or error}"
            ) from None
        if capture is not None:
            used = [description["paths"][path]["name"] for path in Layout(description).used]
            of_ports(plan["ports"], [*(f"client-{path}" for path in used), "server"], capture)
        outcome = _core.run_stack(json.dumps(plan), progress, _plugins(scenario), trace)
        dropped = sum(_dropped(host) for host in hosts)
        counters = {host.name: kernel.counters(host) for host in hosts if peer is not None and host.name == peer.host}
    judged = timing.judge(description, json.loads(outcome["summary"])["emulation"], dropped)
    answer = run_from_outcome(description, outcome, seed=seed)
    if peer is None:
        return replace(answer, notes=(*judged.notes, *answer.notes), live=judged.to_dict())
    live = {**judged.to_dict(), "mptcp_counters": counters, "ends": peer.ends}
    return replace(answer, notes=(*judged.notes, *answer.notes, *peer.notes()), live=live)


def _plugins(scenario: "Scenario") -> list[Any] | None:
    """What the core is given of the scenario's plug-ins; None where it has none."""
    if not scenario.document.plugins:
        return None
    from mptcplab.plugins import running  # for scenarios that have some

    return list(running.given(running.described(scenario.document)))


def _furnish(
    description: Mapping[str, Any], stack: ExitStack, peer: Peer | None
) -> tuple[dict[str, Any], list[Namespace]]:
    """Both hosts with the routers before them; `stack` takes them down. A host that is the kernel's has no router."""
    layout = Layout(description)
    clients, servers = (stack.enter_context(Namespace(name)) for name in ("clients", "servers"))
    ours = [host for host in (clients, servers) if peer is None or host.name != peer.host]
    for host in (clients, servers):
        set_up(host)
    for router in ours:
        router.set_controls({"net/ipv4/ip_forward": 1})
    if peer is not None:
        peer.configure(clients if peer.host == clients.name else servers, description)

    def mtu(host: Namespace) -> int:
        return layout.routed_bytes if host in ours else layout.packet_bytes

    path_tuns = []
    for number, path in enumerate(layout.used):
        addresses = [] if clients in ours else layout.kernel_addresses(path)
        path_tuns.append(_tun(clients, f"path{number}", [], mtu(clients), stack, addresses))
        source = str(layout.network(path))
        clients.run(_route_by_source, f"path{number}", source, layout.servers, _FIRST_TABLE + number)
    back = [Route(str(CLIENTS)), Route(OUTSIDE)]
    server_tun = _tun(servers, "net0", back, mtu(servers), stack, [] if servers in ours else [SERVER])
    ends = []
    inward = ([Route(str(CLIENTS))], [Route(f"{server}/32") for server in layout.servers])
    for host, routes in zip((clients, servers), inward, strict=True):
        ends.append(_tun(host, "stack", routes, mtu(host), stack) if host in ours else host.descriptor)
    if peer is not None and peer.host == clients.name:
        peer.join(clients, description, layout)
    plan = layout.plan(path_tuns, server_tun, *ends)
    if peer is not None:
        plan["kernel"] = peer.plan(description)
        plan["description"] = peer.as_ours(description)
    return plan, [clients, servers]


def _tun(
    host: Namespace,
    name: str,
    routes: list[Route],
    mtu: int,
    stack: ExitStack,
    addresses: Sequence[IPv4Address] = (),
) -> int:
    # Where a host has several, packets find theirs by rules of another kind (below).
    descriptor = add_interface(host, Interface(name, addresses, routes, mtu, alone=True))
    stack.callback(os.close, descriptor)
    return descriptor


def _route_by_source(interface: str, network: str, servers: Sequence[IPv4Address], table: int) -> None:
    """Packets from `network` to the server leave by `interface`."""
    from pyroute2 import IPRoute  # loads slowly

    address, _, length = network.partition("/")
    with IPRoute() as netlink:
        (index,) = netlink.link_lookup(ifname=interface)
        for server in servers:
            netlink.route("add", dst=f"{server}/32", oif=index, table=table)
        netlink.rule("add", src=address, src_len=int(length), table=table)


def _dropped(router: Namespace) -> int:
    """Packets that the router's interfaces dropped on their way out."""
    text = router.run(lambda: Path("/proc/thread-self/net/dev").read_text(encoding="ascii"))
    rows = [line.partition(":")[2].split() for line in text.splitlines() if ":" in line]
    return sum(int(row[11]) for row in rows)
