"""Two hosts' `ip mptcp endpoint show` and `ip mptcp limits show`, as a scenario."""

from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mptcplab.diagnose.reading import InputError, read
from mptcplab.errors import Error

if TYPE_CHECKING:
    from mptcplab.diagnose.facts import Endpoint, Host
    from mptcplab.scenario import Scenario

_FLAGS: Final = ("subflow", "signal", "backup", "fullmesh", "laminar")
NAME: Final = "connection"
"""What the one connection is called."""


class PastedError(Error, ValueError):
    """The text is not what two hosts print."""


def pasted(client: Path, server: Path | None, *, kernel: str | None, first: str | None) -> "tuple[Scenario, list[str]]":
    """The scenario, and what had to be assumed. `first` is the client's address that opens connections.

    Each path stands for an address of the client. Raises PastedError.
    """
    from mptcplab.scenario import Scenario

    notes: list[str] = []
    ours, theirs = _host(client), None if server is None else _host(server)
    endpoints = _of_one_family(ours.endpoints, notes)
    opening = _opening(endpoints, first, notes)
    paths = list(dict.fromkeys([opening, *(each.address for each in endpoints)]))
    tables: list[dict[str, Any]] = [_table("client", each, each.address) for each in endpoints]
    limits: dict[str, Any] = {"client": _limits(ours)}
    if theirs is None:
        notes.append("no server given: one that has its address alone and the kernel's limits")
    else:
        tables += [_table("server", each, None) for each in _of_one_family(theirs.endpoints, notes)]
        limits["server"] = _limits(theirs)
        if theirs.endpoints:
            notes.append("the server's address that is called is taken to be none of its endpoints'")
    newest = any("laminar" in table["flags"] for table in tables)
    scenario = Scenario.build(
        duration="3 s",
        links={path: {"rate": "10 Mbit/s", "delay": "10 ms"} for path in paths},
        connections={
            NAME: {
                "paths": paths,
                "path_manager": {"name": "linux", "kernel": kernel or ("6.18" if newest else "6.12")},
            }
        },
        endpoints=tables,
        limits=limits,
        title="endpoints and limits of two hosts",
    )
    return scenario, notes


def _host(file: Path) -> "Host":
    if str(file) != "-" and not file.is_file():
        raise PastedError(f"{file}: found no such file; expected the output of one host's ip mptcp endpoint show")
    try:
        hosts = read([str(file)]).hosts
    except InputError:
        hosts = []
    if len(hosts) != 1 or not (hosts[0].endpoints or hosts[0].limits):
        raise PastedError(
            f"{file}: found no endpoints and no limits; expected the output of one host's "
            "ip mptcp endpoint show; ip mptcp limits show"
        )
    return hosts[0]


def _of_one_family(endpoints: "Sequence[Endpoint]", notes: list[str]) -> "list[Endpoint]":
    """Those of the family of the first one; implicit ones are the kernel's own doing."""
    own = [each for each in endpoints if not each.flags.isdisjoint(_FLAGS)]
    idle = [each.address for each in endpoints if each.flags.isdisjoint((*_FLAGS, "implicit"))]
    if idle:
        notes.append(f"without a flag an endpoint does nothing: {', '.join(idle)}")
    if not own:
        return []
    version = ip_address(own[0].address).version
    others = [each.address for each in own if ip_address(each.address).version != version]
    if others:
        notes.append(f"left out, since connections here have one address family: {', '.join(others)}")
    return [each for each in own if ip_address(each.address).version == version]


def _opening(endpoints: "Sequence[Endpoint]", first: str | None, notes: list[str]) -> str:
    """The address that opens the connection."""
    if first is not None:
        return first
    opening = [each for each in endpoints if "signal" not in each.flags or "subflow" in each.flags]
    if len(opening) >= 2:
        notes.append(f"{opening[0].address} opens the connection; --from ADDRESS says another one")
        return opening[0].address
    notes.append("an address without an endpoint opens the connection; --from ADDRESS says which one does")
    return "default route"


def _table(host: str, endpoint: "Endpoint", path: str | None) -> dict[str, Any]:
    flags = [flag for flag in _FLAGS if flag in endpoint.flags]
    table: dict[str, Any] = {"host": host, "flags": flags}
    if endpoint.number:
        table["id"] = endpoint.number
    if path is not None:
        table["path"] = path
    if endpoint.port:
        table["port"] = int(endpoint.port)
    return table


def _limits(host: "Host") -> dict[str, Any]:
    if not host.limits:
        return {}
    last = host.limits[-1]
    return {"subflows": last.subflows, "add_addr_accepted": last.add_addr_accepted}
