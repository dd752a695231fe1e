"""Which way packets of a path go, by the rules and routes of the client."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from mptcplab.diagnose.facts import Host, Line, Route
from mptcplab.diagnose.rules.counted import attributable
from mptcplab.diagnose.rules.endpoints import down
from mptcplab.diagnose.rules.finding import Case, Finding
from mptcplab.diagnose.rules.one_path import lacking, unused

_REFUSING = ("unreachable", "blackhole", "prohibit")


class UnknownError(Exception):
    """The outputs do not tell: a table is missing, or a rule has conditions that they do not answer."""


def lookup(host: Host, source: str, destination: str) -> tuple[Route | None, list[Line]]:
    """The route of a packet, None for none, and the lines that say so. Raises UnknownError."""
    rules = sorted((each for each in host.rules if _covers(each.source, source)), key=lambda each: each.priority)
    lines: list[Line] = []
    for rule in rules:
        if rule.table == "local":
            continue
        if not rule.simple:
            raise UnknownError
        route = _best(host, rule.table, destination)
        if route is not None:
            if route.kind == "throw":
                continue
            return (None if route.kind in _REFUSING else route), [rule.line, route.line]
        told = rule.table in ("main", "default") or any(each.table == rule.table for each in host.routes)
        if not told and not any(command.endswith("table all") for command in host.asked):
            raise UnknownError
    if not rules:
        route = _best(host, "main", destination)
        if route is None:
            raise UnknownError
        return (None if route.kind in _REFUSING else route), [route.line]
    return None, lines


def _covers(network: str, address: str) -> bool:
    if network == "all":
        return True
    try:
        return ip_address(address) in ip_network(network)
    except ValueError:
        return False


def _best(host: Host, table: str, destination: str) -> Route | None:
    aliases = {"254": "main", "255": "local", "253": "default"}
    table = aliases.get(table, table)
    fitting = [
        each
        for each in host.routes
        if aliases.get(each.table, each.table) == table
        and each.kind in ("unicast", "throw", *_REFUSING)
        and _covers(each.network, destination)
    ]
    return max(fitting, key=lambda each: (ip_network(each.network).prefixlen, -each.metric), default=None)


def owner(host: Host, address: str) -> str:
    """The interface that has the address; empty if the outputs do not tell."""
    for route in host.routes:
        if route.kind == "local" and route.network.partition("/")[0] == address:
            return route.device
    return next((route.device for route in host.routes if route.source == address and route.kind == "unicast"), "")


def _paths(case: Case, host: Host) -> Iterator[tuple[str, str, str, list[Line]]]:
    """Source, destination, bound device and line of each path that is or should be."""
    peer = ""
    for view, flow in case.flows():
        if view.host is host:
            peer = peer or flow.last.remote.address
            yield flow.last.local.address, flow.last.remote.address, flow.device, [flow.last.line]
    for endpoint in unused(case):
        if peer and (":" in peer) == (":" in endpoint.address):
            yield endpoint.address, peer, endpoint.device, [endpoint.line]


def wrong_route(case: Case) -> Iterator[Finding]:
    """The route of a path's packets leaves by an interface that does not have their address."""
    client = case.client
    if client is None or not client.routes or case.connection is None or case.connection.protocol != "mptcp":
        return
    seen = set()
    for source, destination, device, lines in _paths(case, client):
        own = owner(client, source)
        if device or not own or own == "lo" or source in seen:
            continue  # a socket that is bound to a device leaves by it
        seen.add(source)
        try:
            route, shown = lookup(client, source, destination)
        except UnknownError:
            continue
        if route is not None and route.device not in ("", own):
            yield Finding(
                "wrong-route",
                case.name,
                f"packets from {source}, which is of {own}, to {destination} leave by {route.device}",
                [*lines, *shown],
                f"ip route get {destination} from {source}; then ip rule add from {source} lookup N, ip route add "
                f"default via GATEWAY dev {own} table N",
            )


def no_route(case: Case) -> Iterator[Finding]:
    """The kernel could not connect a further subflow, or an endpoint that no subflow comes from has no route."""
    client = case.client
    if client is None or not lacking(case) or any(each.device in down(client) for each in unused(case)):
        return
    failed, line, _ = client.counted("MPJoinSynTxConnectErr")
    counted = [line] if failed > 0 and line is not None else []
    for source, destination, device, lines in _paths(case, client):
        if source not in {each.address for each in unused(case)}:
            continue
        try:
            route, shown = lookup(client, source, destination)
        except UnknownError:
            continue
        if route is None and (not device or counted):
            yield Finding(
                "no-route",
                case.name,
                f"{client.name} has no route from {source} to {destination}",
                [*lines, *shown, *counted],
                f"ip route get {destination} from {source}",
            )
            return
    if counted and (not client.routes or attributable(client)):
        yield Finding(
            "no-route",
            case.name,
            f"{client.name} could not send the SYN with MP_JOIN",
            counted,
            "ip route get SERVER from ADDRESS, for the address of each endpoint",
        )
