"""Furnishes the hosts, hands the plan to the core, and tells how far its answer can be trusted."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core
from mptcplab.capture.settings import Capture, of_ports
from mptcplab.live import Interface, Namespace, Route, add_interface, set_up, timing
from mptcplab.machine import EngineUnavailableError
from mptcplab.result import Run
from mptcplab.scenario import UnsupportedError, describe
from mptcplab.simulation import run_from_outcome
from mptcplab.stack_engine.layout import CLIENTS, SERVER, Layout
from mptcplab.stack_engine.refusals import unsupported

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
) -> Run:
    """Run one scenario in real time; `seed` gives the draws of links, applications and hosts.
    `capture` says where the packets are written, a file for each path at the clients' side and one at the servers'.

    Raises mptcplab.scenario.UnsupportedError for what the engine cannot do, EngineUnavailableError when the kernel
    refuses what it is asked, SimulationError when it fails on the way.
    """
    assert not through_wire, "refused before"
    problems = unsupported(scenario)
    if problems:
        raise UnsupportedError("stack", problems)
    description = describe.description(scenario.document, seed, False)
    with _ONE_AT_A_TIME, ExitStack() as stack:
        try:
            plan, hosts = _furnish(description, stack)
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            raise EngineUnavailableError(
                f"the engine 'stack' cannot run here:{where} {error.strerror or error}"
            ) from None
        if capture is not None:
            used = [description["paths"][path]["name"] for path in Layout(description).used]
            of_ports(plan["ports"], [*(f"client-{path}" for path in used), "server"], capture)
        outcome = _core.run_stack(json.dumps(plan), progress)
        dropped = sum(_dropped(host) for host in hosts)
    judged = timing.judge(description, json.loads(outcome["summary"])["emulation"], dropped)
    answer = run_from_outcome(description, outcome, seed=seed)
    return replace(
        answer,
        notes=judged.notes,
        live=judged.to_dict(),
    )


def _furnish(description: Mapping[str, Any], stack: ExitStack) -> tuple[dict[str, Any], list[Namespace]]:
    """Both hosts with the routers before them; `stack` takes them down."""
    layout = Layout(description)
    clients, servers = (stack.enter_context(Namespace(name)) for name in ("clients", "servers"))
    for router in (clients, servers):
        set_up(router)
        router.set_controls({"net/ipv4/ip_forward": 1})
    path_tuns = []
    for number, path in enumerate(layout.used):
        path_tuns.append(_tun(clients, f"path{number}", [], layout, stack))
        clients.run(_route_by_source, f"path{number}", str(layout.network(path)), _FIRST_TABLE + number)
    client = _tun(clients, "stack", [Route(str(CLIENTS))], layout, stack)
    server_tun = _tun(servers, "net0", [Route(str(CLIENTS))], layout, stack)
    server = _tun(servers, "stack", [Route(f"{SERVER}/32")], layout, stack)
    return layout.plan(path_tuns, server_tun, client, server), [clients, servers]


def _tun(router: Namespace, name: str, routes: list[Route], layout: Layout, stack: ExitStack) -> int:
    descriptor = add_interface(router, Interface(name, [], routes, layout.packet_bytes))
    stack.callback(os.close, descriptor)
    return descriptor


def _route_by_source(interface: str, network: str, table: int) -> None:
    """Packets from `network` to the server leave by `interface`."""
    from pyroute2 import IPRoute  # loads slowly

    address, _, length = network.partition("/")
    with IPRoute() as netlink:
        (index,) = netlink.link_lookup(ifname=interface)
        netlink.route("add", dst=f"{SERVER}/32", oif=index, table=table)
        netlink.rule("add", src=address, src_len=int(length), table=table)


def _dropped(router: Namespace) -> int:
    """Packets that the router's interfaces dropped on their way out."""
    text = router.run(lambda: Path("/proc/thread-self/net/dev").read_text(encoding="ascii"))
    rows = [line.partition(":")[2].split() for line in text.splitlines() if ":" in line]
    return sum(int(row[11]) for row in rows)
