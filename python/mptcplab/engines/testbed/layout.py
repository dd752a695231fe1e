"""What each machine of a testbed is told of a scenario."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from typing import Any

from mptcplab.engines.linux import buffers
from mptcplab.engines.testbed.refusals import bound_link
from mptcplab.scenario.amounts import limit, round_trips_ns
from mptcplab.scenario.links import Shaper, Way
from mptcplab.scenario.model import Document

_LARGEST_PACKET_BYTES = 1514


@dataclass(frozen=True)
class Layout:
    """A scenario between two machines."""

    document: Document
    description: Mapping[str, Any]
    """Complete, as the core reads it."""

    @cached_property
    def links(self) -> dict[int, str]:
        """The link with an interface of each path in use, by the path's number."""
        paths = [path["name"] for path in self.description["paths"]]
        used = {path for connection in self.description["connections"] for path in connection["paths"]}
        return {path: link for path in sorted(used) if (link := bound_link(self.document, paths[path]))}

    def interface(self, path: int) -> str:
        """The client's interface of a path."""
        bound = self.document.links[self.links[path]].interface
        assert bound is not None, "looked at before"
        return bound.client

    @cached_property
    def own(self) -> list[int]:
        """Kinds of connections that are not programs."""
        kinds = enumerate(self.description["connections"])
        return [number for number, kind in kinds if kind["application"]["kind"] != "program"]

    def prepare(self, end: str, server: str) -> dict[str, Any]:
        """What an agent is asked to prepare; `server` is the server's address."""
        joining: list[str] = []
        subflows, backup = 0, False
        for connection in self.description["connections"]:
            manager = connection["path_manager"]["name"]
            if connection["protocol"] == "mptcp" and manager != "default":
                joining = [self.interface(path) for path in connection["paths"][1:]]
                subflows, backup = len(joining), manager == "backup"
        client = end == "client"
        return {
            "end": end,
            "interfaces": self.interfaces(end),
            "shaping": self._shaping(end),
            "server": server,
            "joining": joining if client else [],
            "backup": backup,
            "subflows": subflows,
            "parameters": self._parameters(),
        }

    def interfaces(self, end: str) -> list[str]:
        """Those that a run uses: the client's by path, the server's that the file names."""
        if end == "client":
            return [self.interface(path) for path in self.links]
        bound = (self.document.links[link].interface for link in self.links.values())
        return list(dict.fromkeys(each.server for each in bound if each is not None and each.server is not None))

    def _shaping(self, end: str) -> dict[str, dict[str, int]]:
        way: Way = "up" if end == "client" else "down"
        found = {}
        for name in self.links.values():
            link = self.document.links[name]
            shaper = link.direction(way).shaper
            if shaper is not None and link.interface is not None:
                interface = link.interface.client if end == "client" else link.interface.server
                assert interface is not None, "looked at before"
                found[interface] = _bucket(shaper, round_trips_ns(self.document)[name])
        return found

    def _parameters(self) -> dict[str, str | int]:
        """What a run sets on both machines, as the engine linux does in its namespaces."""
        connections = self.description["connections"]
        parameters: dict[str, str | int] = {
            "net/ipv4/tcp_ecn": int(connections[0]["ecn"]),
            **buffers.controls(buffers.send_bytes(*connections)),
            "net/ipv4/tcp_no_metrics_save": 1,
            "net/mptcp/enabled": 1,
            "net/mptcp/checksum_enabled": int(any(connection["checksum"] for connection in connections)),
        }
        for number, connection in enumerate(connections):
            if number in self.own:
                continue
            # A program's sockets start from what the machine has.
            parameters["net/ipv4/tcp_congestion_control"] = connection["congestion"]["name"]
            if connection["receive_buffer_bytes"] is not None:
                size = 2 * connection["receive_buffer_bytes"]
                parameters["net/ipv4/tcp_rmem"] = f"{min(4096, size)} {size} {size}"
        return parameters

    def hosts(self, addresses: Mapping[str, str], server: str, first_port: int) -> list[dict[str, Any]]:
        """Of each kind of connection, who calls whom; `addresses` are the client's by interface."""
        host = f"[{server}]" if ip_address(server).version == 6 else server
        return [
            {
                "client": addresses[self.interface(connection["paths"][0])],
                "server": f"{host}:{first_port + kind}",
                "congestion": connection["congestion"]["name"],
                "paths": [[addresses[self.interface(path)], path] for path in connection["paths"]],
            }
            for kind, connection in enumerate(self.description["connections"])
        ]


def _bucket(shaper: Shaper, rtt_ns: int) -> dict[str, int]:
    """A token bucket as tc takes it: the queue's limit in bytes, as the rate empties it."""
    most = limit(shaper.queue, shaper.rate, rtt_ns)
    size = most.get("bytes")
    if size is None:
        size = most["packets"] * _LARGEST_PACKET_BYTES
    return {
        "rate_bps": shaper.rate,
        "burst_bytes": max(shaper.burst, _LARGEST_PACKET_BYTES),
        "limit_bytes": max(int(size), _LARGEST_PACKET_BYTES),
    }
