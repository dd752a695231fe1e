"""This machine as one end of a run: prepared, described, put back."""

from collections.abc import Callable, Collection
from ipaddress import ip_address
from typing import Any, TypeVar

from mptcplab.agent import system
from mptcplab.agent.requests import Prepare
from mptcplab.agent.system import Refused
from mptcplab.agent.undo import Undo
from mptcplab.engines.linux import kernel

T = TypeVar("T")


class Here:
    """This machine in place of a namespace, for what reads one (`mptcplab.engines.linux.kernel`)."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, work: Callable[..., T], *args: Any) -> T:  # noqa: ANN401 - whatever `work` takes
        """What `work` returns."""
        return work(*args)

    def control(self, name: str) -> str:
        """The value of a kernel parameter."""
        return system.parameter(name)


def describe(allowed: Collection[str], programs: Collection[str]) -> dict[str, Any]:
    """What a controller needs to know; `allowed` are the interfaces that it may use, all without any."""
    found = system.interfaces()
    return {
        "interfaces": {name: each for name, each in found.items() if not allowed or name in allowed},
        "controls": list(kernel.controls()),
        "programs": sorted(programs),
    }


def about(end: str) -> dict[str, Any]:
    """Kernel, its parameters as they are during the run, and interfaces."""
    told = kernel.about([Here(end)])  # type: ignore[list-item]
    return {**told, "offloads": "those of the machine's own interfaces"}


def mptcp_counters(end: str) -> dict[str, int]:
    """What the kernel has counted of Multipath TCP since it started."""
    return kernel.counters(Here(end))  # type: ignore[arg-type]


def prepare(asked: Prepare, undo: Undo, allowed: Collection[str]) -> dict[str, Any]:
    """Do what is asked, each change noted in `undo` before it is made. Answers the address of each interface.

    Raises Refused when the machine does not do it; what was done until then stands in `undo`.
    """
    there = system.interfaces()
    addresses = {}
    for name in asked.interfaces:
        addresses[name] = _address(name, there, asked.server, allowed)
    for name, value in asked.parameters.items():
        undo.add(kind="parameter", name=name, before=system.parameter(name))
        system.set_parameter(name, value)
        found = system.parameter(name)
        if found.split() != str(value).split():
            raise Refused(f"set {name.replace('/', '.')} = {value}, but the kernel reports {found!r}")
    for name, shaping in asked.shaping.items():
        system.root_qdisc(name)
        undo.add(kind="shaper", interface=name)
        system.shape(name, shaping.rate_bps, shaping.burst_bytes, shaping.limit_bytes)
    if asked.end == "client":
        for name in asked.interfaces:
            gateway, addresses[name] = system.route(asked.server, name)
            _send_from(name, addresses[name], asked.server, gateway, there[name]["index"], undo)
    _manage_paths(asked, addresses, undo)
    local = any(asked.server in each["addresses"] for each in there.values())
    return {"addresses": addresses, "server_is_local": local}


def _address(name: str, there: dict[str, dict[str, Any]], server: str, allowed: Collection[str]) -> str:
    """An address of an interface of the server's family."""
    if name not in there:
        have = ", ".join(there) or "none"
        raise Refused(f"there is no interface {name} here; there are {have}")
    if allowed and name not in allowed:
        raise Refused(f"this agent may not use the interface {name}, only {', '.join(sorted(allowed))}")
    if not there[name]["up"]:
        raise Refused(f"the interface {name} is down")
    version = ip_address(server).version
    for address in there[name]["addresses"]:
        if ip_address(address).version == version:
            return str(address)
    raise Refused(f"the interface {name} has no IPv{version} address; is it connected?")


def _send_from(name: str, source: str, server: str, gateway: str | None, index: int, undo: Undo) -> None:
    """Let what is sent from an interface's address leave by that interface."""
    if system.leaves_by(server, source) == name:
        return
    table = system.FIRST_TABLE + index
    undo.add(kind="route", source=source, server=server, table=table)
    system.add_route(server, source, name, gateway, table)
    if system.leaves_by(server, source) != name:
        raise Refused(f"packets from {source} do not leave through {name}, despite the rule for them")


def _manage_paths(asked: Prepare, addresses: dict[str, str], undo: Undo) -> None:
    """Only the run's endpoints, during the run."""
    for each in system.endpoints():
        flags = [flag for flag in ("subflow", "signal", "backup", "fullmesh") if each.get(flag)]
        own = {"interface": each.get("dev"), "flags": flags, "number": each["id"]}
        undo.add(kind="endpoint before", address=each["address"], **own)
        system.run("ip", "mptcp", "endpoint", "delete", "id", str(each["id"]))
    subflows, accepted = system.limits()
    undo.add(kind="limits", subflows=subflows, accepted=accepted)
    system.set_limits(asked.subflows, 0)
    for name in asked.joining:
        undo.add(kind="endpoint", address=addresses[name])
        system.add_endpoint(addresses[name], name, ["subflow", *(["backup"] if asked.backup else [])])
