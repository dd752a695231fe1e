"""Hosts for a scenario: a client and a server for each kind of connection, with interfaces, addresses and routes.

The client has an interface for each path, the server one. Packets find their path by the client's address. Several
subflows on one path (ndiffports) come from several addresses of one interface: the kernel's path manager tells subflows
by address.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from itertools import zip_longest
from typing import Any, Final

from mptcplab.engines.live import OUTSIDE, Interface, Route

KIND_LIMIT: Final = 200
"""Kinds of connections, each with addresses of its own in 10.0.0.0/8."""

PORT: Final = 5001
_HEADERS_BYTES: Final = 40


@dataclass(frozen=True)
class Endpoint:
    """An address of a client, as the kernel's path manager knows it."""

    number: int
    """0 for the address that opens connections, which no endpoint stands for."""
    address: IPv4Address | IPv6Address
    link: int
    """The link that its path begins with."""
    backup: bool
    flags: tuple[str, ...] = ("subflow",)
    """What else it is for, in the words of `ip mptcp endpoint`."""
    port: int | None = None


@dataclass(frozen=True)
class Pair:
    """The two hosts of one kind of connection, as they are to be."""

    kind: int
    connection: Mapping[str, Any]
    """As the description has it."""
    announced: Sequence[int | None] = ()
    """By path: the MSS that both hosts announce, where no router on the way lowers it."""

    @property
    def name(self) -> str:
        """The connection's name."""
        return str(self.connection["name"])

    @property
    def mptcp(self) -> bool:
        """Whether it speaks Multipath TCP."""
        return bool(self.connection["protocol"] == "mptcp")

    @cached_property
    def servers(self) -> tuple[IPv4Address, ...]:
        """The server's addresses."""
        count = 1 if self.told is None else len(self.told["server_places"])
        return tuple(IPv4Address(f"10.{self.kind}.255.{number + 1}") for number in range(count))

    @property
    def server(self) -> IPv4Address:
        """The one that is called."""
        return self.servers[0]

    @property
    def told(self) -> Mapping[str, Any] | None:
        """What the scenario tells the kernel's path manager at both ends, if that is the connection's."""
        told: Mapping[str, Any] | None = self.connection.get("kernel_paths")
        return told

    @cached_property
    def addresses(self) -> tuple[tuple[IPv4Address, ...], ...]:
        """The client's addresses by path; the first of all opens connections."""
        manager = self.connection["path_manager"]
        first = manager["subflows"] if self.mptcp and manager["name"] == "ndiffports" else 1
        return tuple(
            tuple(IPv4Address(f"10.{self.kind}.{path}.{number + 1}") for number in range(1 if path else first))
            for path in range(len(self.connection["paths"]))
        )

    @property
    def joining(self) -> tuple[IPv4Address, ...]:
        """The addresses from which further subflows come."""
        if not self.mptcp or self.connection["path_manager"]["name"] in ("default", "linux"):
            return ()
        first, *others = self.addresses
        if self.connection["path_manager"]["name"] == "ndiffports":
            return first[1:]
        return tuple(address for of_path in others for address in of_path)

    def endpoints(self, links: Sequence[Mapping[str, Any]], paths: Sequence[Mapping[str, Any]]) -> list[Endpoint]:
        """All of the client's addresses that the kernel's path manager deals with, the first of all with number 0."""
        own = [paths[path]["links"][0] for path in self.connection["paths"]]
        if self.told is not None:
            return [
                _endpoint(each, self.addresses[each["address"]][0], own[each["address"]])
                for each in self.told["client"]["endpoints"]
            ]
        always = self.connection["path_manager"]["name"] == "backup"
        found = [Endpoint(0, self.addresses[0][0], own[0], backup=False)] if self.manages_addresses else []
        for number, address in enumerate(self.joining, start=1):
            place = next(place for place, addresses in enumerate(self.addresses) if address in addresses)
            metered = links[own[place]].get("metered")
            backup = always or (metered is not None and metered["backup"])
            found.append(Endpoint(number, address, own[place], backup=backup))
        return found

    @property
    def server_endpoints(self) -> list[Endpoint]:
        """Those of the server, as the scenario has them."""
        told = [] if self.told is None else self.told["server"]["endpoints"]
        return [_endpoint(each, self.servers[each["address"]], -1) for each in told]

    @property
    def manages_addresses(self) -> bool:
        """Whether subflows come and go with the addresses."""
        return self.mptcp and self.connection["path_manager"]["name"] in ("fullmesh", "backup", "linux")

    @property
    def mtu(self) -> int:
        """The largest packet: a full segment."""
        return int(self.connection["mss_bytes"]) + _HEADERS_BYTES

    def client_interfaces(self) -> list[Interface]:
        """One for each path; the first is preferred."""
        return [
            Interface(
                f"path{path}",
                addresses,
                [
                    Route(f"{server}/32", self.metric(number, path), mss_bytes)
                    for number, server in enumerate(self.servers)
                ],
                self.mtu,
                alone=len(self.addresses) == 1,
            )
            for path, (addresses, mss_bytes) in enumerate(zip_longest(self.addresses, self.announced))
        ]

    def metric(self, number: int, path: int) -> int:
        """Of the route over a path to a server's address: a client that is free to choose takes the least."""
        own = 0 if self.told is None else self.told["server_places"][number]
        return path + 1 if own == 0 else 1 if path == own else path + 2

    def server_interface(self) -> Interface:
        """The one."""
        routes = [Route(f"10.{self.kind}.0.0/16"), Route(OUTSIDE)]
        routes += [
            Route(f"10.{self.kind}.{path}.0/24", mss_bytes=mss_bytes)
            for path, mss_bytes in enumerate(self.announced)
            if mss_bytes is not None
        ]
        return Interface("net0", self.servers, routes, self.mtu, alone=True)

    def ports(self, tuns: list[int], first_port: int) -> list[dict[str, Any]]:
        """The emulator's ports for `tuns` (the client's, then the server's), numbered from `first_port` on."""
        server_port = first_port + len(self.addresses)
        ports = []
        back = []
        for number, addresses in enumerate(self.addresses):
            path = self.connection["paths"][number]
            there = {"path": path, "down": False, "port": server_port}
            routes = [{"destination": str(server), **there} for server in self.servers]
            ports.append({"tun": tuns[number], "routes": routes})
            back += [
                {"destination": str(address), "path": path, "down": True, "port": first_port + number}
                for address in addresses
            ]
        ports.append({"tun": tuns[-1], "routes": back})
        return ports

    def hosts(self, client_namespace: int, server_namespace: int, congestion: str) -> dict[str, Any]:
        """What the programs need to know."""
        return {
            "client_namespace": client_namespace,
            "server_namespace": server_namespace,
            "client": str(self.addresses[0][0]),
            "server": f"{self.server}:{PORT}",
            "congestion": congestion,
            "paths": [
                [str(address), self.connection["paths"][number]]
                for number, addresses in enumerate(self.addresses)
                for address in addresses
            ],
        }


def announced_mss_bytes(description: Mapping[str, Any], connection: Mapping[str, Any]) -> list[int | None]:
    """By path of a connection: the MSS that its hosts announce in place of routers that lower it, where any does."""
    found: list[int | None] = []
    for path in connection["paths"]:
        links = (description["links"][link] for link in description["paths"][path]["links"])
        boxes = (box for link in links for box in link["middleboxes"] if box["kind"] == "mss-clamping")
        least = min((int(box["mss_bytes"]) for box in boxes), default=None)
        found.append(None if least is None else min(least, int(connection["mss_bytes"])))
    return found


def _endpoint(told: Mapping[str, Any], address: IPv4Address, link: int) -> Endpoint:
    flags = tuple(told["flags"])
    return Endpoint(told["id"], address, link, "backup" in flags, flags, told["port"])
