"""Endpoints, limits and addresses of the client: what it may open subflows from."""

from collections.abc import Iterator

from mptcplab.diagnose.facts import Host, Line
from mptcplab.diagnose.rules.counted import attributable
from mptcplab.diagnose.rules.finding import Case, Finding
from mptcplab.diagnose.rules.one_path import lacking, may_join, unused, usable


def _command(host: Host, words: str) -> list[Line]:
    return [line for command, line in host.asked.items() if command.startswith(words)][:1]


def _initial(case: Case, host: Host) -> list[str]:
    return [flow.last.local.address for view, flow in case.flows() if view.host is host and not flow.joined]


def limit_subflows(case: Case) -> Iterator[Finding]:
    """`subflows 0` in `ip mptcp limits` of the client."""
    client = case.client
    hosts = [client] if client else [] if case.connection else list(case.hosts)
    for host in hosts if lacking(case) else ():
        if host.limits and host.limits[-1].subflows == 0:
            yield Finding(
                "limit-subflows",
                case.name,
                f"{host.name} may open 0 further subflows",
                [host.limits[-1].line],
                "ip mptcp limits set subflows 2",
            )


def _announced(case: Case, client: Host) -> bool:
    """Whether the server announced an address to this connection, as far as that can be told."""
    for view in case.views:
        name = "add_addr_accepted" if view.host is client else "add_addr_signal"
        if any((each.number(name) or 0) > 0 for each in view.looks):
            return True
    return client.counted("AddAddr")[0] > 0 and (attributable(client) or client.counted("AddAddr")[2])


def no_endpoint(case: Case) -> Iterator[Finding]:
    """No endpoint with the flag `subflow` or `fullmesh` whose address is another than the first subflow's."""
    client = may_join(case)
    if client is None or len(case.paths()) > 1 or not (client.endpoints or _command(client, "ip mptcp endpoint")):
        return
    others = [each for each in usable(client) if each.address not in _initial(case, client)]
    implicit = any(each.flags >= {"implicit"} for each in client.endpoints)
    if others or implicit or _announced(case, client) or _removed(case):
        return
    evidence = [each.line for each in client.endpoints] or _command(client, "ip mptcp endpoint")
    removed, line, _ = client.counted("RmSubflow")
    says = f"{client.name} has no endpoint with the flag subflow for another address"
    if removed > 0 and line is not None:
        says, evidence = f"{says}; one was removed, and its subflow with it", [*evidence, line]
    elif client.endpoints:
        says = f"{client.name}: none of its endpoints may open a subflow from another address"
    yield Finding(
        "no-endpoint",
        case.name,
        says,
        evidence,
        "ip mptcp endpoint add ADDRESS dev DEVICE subflow, for each further address",
    )


def add_addr_not_accepted(case: Case) -> Iterator[Finding]:
    """ADD_ADDR was received and `add_addr_accepted` is 0, which its default is."""
    client = may_join(case)
    if client is None or len(case.paths()) > 1 or not client.limits or client.limits[-1].add_addr_accepted > 0:
        return
    received, line, _ = client.counted("AddAddr")
    others = [each for each in usable(client) if each.address not in _initial(case, client)]
    if received > 0 and line is not None and not others and _announced(case, client):
        yield Finding(
            "add-addr-not-accepted",
            case.name,
            f"the server announced an address, and {client.name} accepts 0 of them",
            [client.limits[-1].line, line],
            "ip mptcp limits set add_addr_accepted 2 subflows 2",
        )


def _removed(case: Case) -> list[Line]:
    """Lines that show that an address was withdrawn between the first output and the last."""
    found = [event.line for view in case.views for event in view.host.events if event.kind == "REMOVED"]
    for view in case.views:
        for name in ("RmAddr", "RmAddrTx", "RmSubflow"):
            times, line, between = view.host.counted(name)
            found += [line] if times > 0 and between and line is not None else []
    return found


def address_removed(case: Case) -> Iterator[Finding]:
    """REMOVE_ADDR was counted between the outputs or shown by the monitor, and a subflow is gone or one is left."""
    lines = _removed(case)
    gone = [flow for _, flow in case.flows() if flow.gone]
    if lines and (gone or len(case.paths()) < 2):
        which = f"{gone[0].last.local} ↔ {gone[0].last.remote}" if gone else "a subflow"
        yield Finding(
            "address-removed",
            case.name,
            f"{which} went away in between: its address was withdrawn",
            [*(flow.last.evidence for flow in gone), *lines],
            "what took the address away: ip monitor address link, the network manager's log, ip mptcp endpoint",
        )


def down(host: Host) -> dict[str, Line]:
    """Interfaces that are down, each with the line that says so last."""
    found = {}
    for device in host.devices:
        found[device.name] = None if device.up else device.line
    for entry in host.logs:
        if entry.device and entry.kind in ("path-down", "path-up"):
            found[entry.device] = entry.line if entry.kind == "path-down" else None
    return {name: line for name, line in found.items() if line is not None}


def interface_down(case: Case) -> Iterator[Finding]:
    """The interface of an endpoint that is not in use is down, or a log says that an interface was switched off."""
    client = case.client or (case.hosts[0] if case.connection is None and len(case.hosts) == 1 else None)
    if client is None or not lacking(case):
        return
    for device, line in down(client).items():
        of_endpoint = [each.line for each in unused(case) if each.device == device]
        logged = any(entry.line == line for entry in client.logs)
        if of_endpoint or logged:
            yield Finding(
                "interface-down",
                case.name,
                f"{device} of {client.name} is down",
                [line, *of_endpoint],
                f"ip link show {device}; the log of what manages it (logread, journalctl -u NetworkManager)",
            )


def endpoint_address(case: Case) -> Iterator[Finding]:
    """The kernel could not bind to the endpoint's address, or no interface has it."""
    client = may_join(case)
    if client is None or any(each.device in down(client) for each in unused(case)):
        return
    failed, line, _ = client.counted("MPJoinSynTxBindErr")
    local = {each.network.partition("/")[0] for each in client.routes if each.kind == "local"}
    foreign = [each for each in unused(case) if local and each.address not in local]
    if failed > 0 and line is not None and (foreign or not local or attributable(client)):
        yield Finding(
            "endpoint-address",
            case.name,
            f"{client.name} could not use the address of an endpoint",
            [*(each.line for each in foreign), line],
            "ip address show; then ip mptcp endpoint delete id N, or give the address to its interface",
        )
    elif foreign:
        yield Finding(
            "endpoint-address",
            case.name,
            f"{foreign[0].address} is on no interface of {client.name}",
            [foreign[0].line],
            "ip address show",
        )
