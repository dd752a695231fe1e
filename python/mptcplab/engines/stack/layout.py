"""Two hosts for a scenario, one for all clients and one for all servers, and the kernels between them and the links.

Each host is a stack behind a TUN device in a namespace whose kernel routes: from the stack to the emulator's devices by
the client's address, which tells the path, and back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

PATH_LIMIT: Final = 1024
"""Paths that connections use: each has a /24 of client addresses."""

PATHS_OF_A_CONNECTION: Final = 8
CONNECTION_LIMIT: Final = 2000

SERVER: Final = IPv4Address("10.63.0.1")
CLIENTS: Final = IPv4Network("10.64.0.0/10")
_HEADERS_BYTES: Final = 40
_MOST_HEADERS_BYTES: Final = 80
"""Of IPv4 and TCP with all options."""
_LARGEST_MTU: Final = 65_535


@dataclass(frozen=True)
class Layout:
    """Addresses, devices and routes for a description."""

    description: Mapping[str, Any]

    @cached_property
    def used(self) -> list[int]:
        """The paths that connections use, in their order; each has a device on the clients' side."""
        return sorted({path for connection in self.description["connections"] for path in connection["paths"]})

    @cached_property
    def packet_bytes(self) -> int:
        """The largest packet: a full segment."""
        largest = max(int(connection["mss_bytes"]) for connection in self.description["connections"])
        return max(576, largest + _HEADERS_BYTES)

    @cached_property
    def routed_bytes(self) -> int:
        """The largest packet that a router of ours forwards, those that middleboxes made among them."""
        largest = self.packet_bytes
        for box in (box for link in self.description["links"] for box in link["middleboxes"]):
            if box["kind"] == "coalescing":
                largest = max(largest, int(box["max_bytes"]) + _MOST_HEADERS_BYTES)
            elif box["kind"] == "payload-rewriting":
                largest += max(0, int(box["growth_bytes"]))
        return min(largest, _LARGEST_MTU)

    @property
    def servers(self) -> list[IPv4Address]:
        """The servers' addresses."""
        told = (each["kernel_paths"] for each in self.description["connections"] if "kernel_paths" in each)
        count = max((len(each["server_places"]) for each in told), default=1)
        return [SERVER + number for number in range(count)]

    def network(self, path: int) -> IPv4Network:
        """The addresses of clients on a path."""
        return IPv4Network((int(CLIENTS.network_address) + (path << 8), 24))

    def kernel_addresses(self, path: int) -> list[IPv4Address]:
        """The addresses of the clients' kernel on a path, by the path's place among those of a connection."""
        first = int(self.network(path).network_address) + 1
        places = {
            connection["paths"].index(path)
            for connection in self.description["connections"]
            if path in connection["paths"]
        }
        return [IPv4Address(first + place) for place in sorted(places)]

    def plan(self, path_tuns: list[int], server_tun: int, client: int, server: int) -> dict[str, Any]:
        """What the core reads; `path_tuns` and `server_tun` are the emulator's, `client` and `server` the hosts'."""
        server_port = len(path_tuns)
        ports = [
            {
                "tun": tun,
                "routes": [
                    {"destination": str(server), "path": path, "down": False, "port": server_port}
                    for server in self.servers
                ],
            }
            for tun, path in zip(path_tuns, self.used, strict=True)
        ]
        back = [
            {"destination": str(address), "path": path, "down": True, "port": port}
            for port, path in enumerate(self.used)
            for address in self.network(path).hosts()
        ]
        ports.append({"tun": server_tun, "routes": back})
        return {
            "description": self.description,
            "ports": ports,
            "packet_bytes": self.packet_bytes,
            "client": client,
            "server": server,
            "server_address": str(SERVER),
            "networks": [str(self.network(path).network_address) for path in range(len(self.description["paths"]))],
        }
