"""One end of the engine `stack` is the kernel's: what that changes, and what it cannot do."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from ipaddress import IPv4Address
from typing import Any, Final, Literal

from mptcplab.engines import catalogue, linux
from mptcplab.engines.linux import buffers, kernel
from mptcplab.engines.linux.layout import Endpoint
from mptcplab.engines.live import Namespace
from mptcplab.engines.stack import refusals
from mptcplab.engines.stack.layout import Layout
from mptcplab.scenario import Problem, Scenario
from mptcplab.scenario.applications import DIALOGUES
from mptcplab.scenario.errors import Part, show

End = Literal["client", "server"]

_SENDERS_OWN: Final = ("congestion", "scheduler", "tcp")
"""Keys of a connection that only its sender goes by."""


def unsupported(scenario: Scenario, kernel_end: End | None = None) -> list[Problem]:
    """Everything that the engine does not support, each with what it expects; `kernel_end` is the kernel's."""
    return refusals.unsupported(scenario) if kernel_end is None else Peer(kernel_end, scenario).unsupported()


class Peer:
    """The kernel as the clients' or the servers' host of a scenario."""

    def __init__(self, end: End, scenario: Scenario) -> None:
        self.end = end
        self.host = f"{end}s"
        """The name of its namespace."""
        (self.engine,) = (name for name, each in catalogue.MIXED.items() if each.arguments["kernel_end"] == end)
        self.ends = (
            {"client": "linux", "server": "stack"} if end == "client" else {"client": "stack", "server": "linux"}
        )
        self._scenario = scenario

    @cached_property
    def _sends(self) -> set[str]:
        """The connections whose data the kernel sends."""
        way = "up" if self.end == "client" else "down"
        return {name for name, each in self._scenario.document.connections.items() if each.direction == way}

    def unsupported(self) -> list[Problem]:
        """Everything in the scenario that the two ends cannot do together."""
        problems = [each for each in refusals.unsupported(self._scenario) if not self._is_senders(each, self._sends)]
        others = set(self._scenario.document.connections) - self._sends
        problems += [each for each in linux.unsupported(self._scenario) if not self._is_senders(each, others)]
        places = self._scenario.places()
        problems += [places.problem(*found) for found in self._found()]
        return list({problem.key: problem for problem in problems}.values())

    def _is_senders(self, problem: Problem, connections: set[str]) -> bool:
        """Whether it is about what only the sender goes by, in one of these connections."""
        parts = problem.key.split(".")
        return len(parts) > 2 and parts[0] == "connection" and parts[1] in connections and parts[2] in _SENDERS_OWN

    def _found(self) -> Iterator[tuple[tuple[Part, ...], str, str]]:
        connections = self._scenario.document.connections
        for name, each in connections.items():
            if isinstance(each.application, DIALOGUES):
                expected = "bulk, file, requests, rate or flows; or the engine sim, stack or linux"
                yield ("connection", name, "application"), show(each.application.kind), expected
            for key in ("read_rate", "read"):
                if getattr(each, key) is not None and name not in self._sends:
                    expected = "none, or the engine sim, stack or linux: here the kernel's end reads as it comes"
                    yield ("connection", name, key), "a value", expected
            if each.protocol == "mptcp" and each.path_manager.name == "linux":
                expected = "fullmesh, backup or default; or the engine sim, stack or linux"
                yield ("connection", name, "path_manager"), show("linux"), expected
        if self.end == "client":
            if len(connections) > 1:
                yield (
                    ("connection",),
                    f"{len(connections)} kinds of connections",
                    "one: all clients share one kernel and its path manager",
                )
            for name, connection in connections.items():
                if connection.protocol == "mptcp" and connection.path_manager.name == "ndiffports":
                    expected = "fullmesh, backup or default: the kernel's client has one address for each path"
                    yield ("connection", name, "path_manager"), "ndiffports", expected
            for number, event in enumerate(self._scenario.document.events):
                for key in ("address", "backup"):
                    if getattr(event.set, key) is not None:
                        found = f"an event with {key}, and clients that are the kernel's"
                        yield ("event", number, "set", key), found, "none, or the engine sim, stack or linux"
            for name, link in self._scenario.document.links.items():
                if link.metered is not None and link.metered.use == "backup":
                    yield ("link", name, "metered", "use"), '"backup"', '"always": the kernel has the clients'
        for option in ("ecn", "checksum"):
            values = {bool(getattr(connection, option)) for connection in connections.values()}
            if len(values) > 1:
                yield ("connection",), f"connections that differ in {option}", "the same for all: they share a kernel"

    def adapt(self, description: Mapping[str, Any]) -> None:
        """Put down in the description what is the kernel's own."""
        for connection in description["connections"]:
            if connection["name"] in self._sends:
                connection["scheduler"] = buffers.scheduler(connection)

    def as_ours(self, description: Mapping[str, Any]) -> dict[str, Any]:
        """The description with controls that our end has, where it does not matter which."""
        connections = [
            {**each, "congestion": {"name": "reno"}, "scheduler": {"name": "min-rtt"}}
            if each["name"] in self._sends
            else each
            for each in description["connections"]
        ]
        return {**description, "connections": connections}

    def plan(self, description: Mapping[str, Any]) -> dict[str, Any]:
        """What the core is told of the kernel."""
        return {"is_client": self.end == "client", "congestion": self._congestion(description)}

    def _congestion(self, description: Mapping[str, Any]) -> list[str]:
        return [
            each["congestion"]["name"] if each["name"] in self._sends else "reno" for each in description["connections"]
        ]

    def configure(self, host: Namespace, description: Mapping[str, Any]) -> None:
        """Set what the kernel's sockets start from. Raises OSError when it refuses a value."""
        first = description["connections"][0]
        sent = [each for each in description["connections"] if each["name"] in self._sends]
        kernel.configure(
            host,
            self._congestion(description)[0],
            ecn=first["ecn"],
            checksum=first["checksum"],
            send_bytes=buffers.send_bytes(*sent),
        )
        if self.end == "server":
            kernel.set_path_manager(host, (), subflows=kernel.SUBFLOW_LIMIT - 1)

    def join(self, host: Namespace, description: Mapping[str, Any], layout: Layout) -> None:
        """Let the kernel's client join from the addresses of further paths."""
        (connection,) = description["connections"]
        manager = connection["path_manager"]["name"]
        if connection["protocol"] != "mptcp" or manager == "default":
            return
        paths = connection["paths"]
        joining = [
            Endpoint(place, _place(layout, path, place), 0, backup=manager == "backup")
            for place, path in enumerate(paths)
            if place
        ]
        kernel.set_path_manager(host, joining, subflows=len(joining))

    def notes(self) -> list[str]:
        """For the reader of the results."""
        host = "clients" if self.end == "client" else "servers"
        notes = [f"the {host} are the kernel's: its counters are read 50 times a second"]
        for name in self._sends:
            connection = self._scenario.document.connections[name]
            if connection.protocol == "mptcp" and "scheduler" not in connection.model_fields_set:
                notes.append("the kernel sends with its own scheduler, since the scenario names none")
        return list(dict.fromkeys(notes))


def _place(layout: Layout, path: int, place: int) -> IPv4Address:
    return IPv4Address(int(layout.network(path).network_address) + 1 + place)
