"""A scenario as a shell script: namespaces, veth pairs, the kernel's queueing disciplines, Multipath TCP, iperf3.

The script needs root, ip, tc and iperf3 (mptcpize for Multipath TCP), and runs without mptcplab. What it cannot express
is refused by mptcplab.export.refusals; nothing is left out silently.

Each connection has a client and a server of its own. A link is two namespaces, its near and its far end, joined by a
veth pair on which each side queues what leaves it. With a delay or a loss there is a third in between for netem, so
that a lost packet has taken its time on the link.
"""

import random
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from mptcplab.engines.linux import buffers, disciplines, kernel
from mptcplab.engines.linux.layout import Endpoint, Pair, announced_mss_bytes
from mptcplab.export import traffic
from mptcplab.export.shell import HEAD, NETEM, comment

ETHERNET_BYTES: Final = 14
"""Of header, which the disciplines of a veth device count and the links of a scenario do not."""


def script(description: Mapping[str, Any], title: str) -> str:
    """The script of a complete description (`describe.description`) of a scenario without refusals."""
    return "".join(f"{line}\n" for line in _Script(description).lines(title))


class _Script:
    """The script's lines, and the network as far as it is made: which device leads from where to where."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._description = description
        self._links: Sequence[Mapping[str, Any]] = description["links"]
        self._paths: Sequence[Mapping[str, Any]] = description["paths"]
        self._pairs = [Pair(kind, each) for kind, each in enumerate(description["connections"])]
        self._mtu = max(pair.mtu for pair in self._pairs)
        self._out: list[str] = []
        self._subnets = 0
        self._ways: dict[tuple[str, str], tuple[str, str]] = {}
        """By two neighbours: the device at the first, and the second's address at its other end."""
        self._routes: set[tuple[str, str]] = set()

    def lines(self, title: str) -> list[str]:
        """All of them."""
        of_links = [self._links[number] for number in self._crossed()]
        self._say("#!/bin/sh", f"# {comment(title)}", *HEAD, "")
        programs = ["ip", "tc", "iperf3", *(["mptcpize"] if any(pair.mptcp for pair in self._pairs) else [])]
        self._say(f"needs {' '.join(programs)}")
        if any(pair.mptcp for pair in self._pairs):
            self._say("needs_multipath")
        if any(disciplines.wire(link[way]) for link in of_links for way in ("down", "up")):
            self._say(*NETEM)
        self._say("")
        for number in self._crossed():
            self._link(number)
        for pair in self._pairs:
            self._hosts(pair)
        self._say(f"echo 'running for {self._description['duration_ns'] * 1e-9:g} s' >&2")
        draws = random.Random(self._description["seed"])
        for pair in self._pairs:
            self._say(*traffic.begin(pair, self._description, draws))
        self._say("", "finished=0", 'for child in $clients; do wait "$child" || finished=1; done', "")
        for pair in self._pairs:
            self._say(f"tell_connection {shlex.quote(pair.name)} {pair.kind}")
        for number in self._crossed():
            for way, namespace, device in (("down", f"link{number}b", "near"), ("up", f"link{number}a", "far")):
                name = shlex.quote(f"{self._links[number]['name']} {way}")
                self._say(f"tell_link {name} {namespace} {device}")
        self._say('exit "$finished"')
        return self._out

    def _say(self, *lines: str) -> None:
        self._out += lines

    def _crossed(self) -> list[int]:
        used = {path for pair in self._pairs for path in pair.connection["paths"]}
        return sorted({link for path in used for link in self._paths[path]["links"]})

    def _join(self, one: str, other: str, devices: tuple[str, str] | None = None, net: str | None = None) -> None:
        """A veth pair between two namespaces."""
        if net is None:
            net = f"100.{64 + self._subnets // 256}.{self._subnets % 256}"
            self._subnets += 1
        first, second = devices or (f"to-{other}", f"to-{one}")
        self._say(f"join {one} {first} {net}.1/30 {other} {second} {net}.2/30 {max(self._mtu, 1500)}")
        self._ways[one, other] = first, f"{net}.2"
        self._ways[other, one] = second, f"{net}.1"

    def _chain(self, number: int) -> list[str]:
        """The namespaces of a link, from the client's side to the server's."""
        delayed = any(disciplines.wire(self._links[number][way]) for way in ("up", "down"))
        return [f"link{number}a", *([f"link{number}m"] if delayed else []), f"link{number}b"]

    def _link(self, number: int) -> None:
        link, chain = self._links[number], self._chain(number)
        self._say(f"# Link {comment(link['name'])}", *(f"namespace {name}" for name in chain))
        for one, other in pairwise(chain):
            self._join(one, other, ("far", "near"))
        for namespace, device, way in ((chain[0], "far", "up"), (chain[-1], "near", "down")):
            for command in disciplines.queue(_framed(link[way], self._mtu), self._mtu + ETHERNET_BYTES):
                self._say(f"discipline {namespace} {command.replace('dev out', f'dev {device}')}")
            other = "far" if way == "up" else "near"
            for command in disciplines.wire(link[way]):
                self._say(f"discipline {chain[1]} {command.replace('dev out', f'dev {other}')}")
        self._say("")

    def _hosts(self, pair: Pair) -> None:
        client, server, connection = f"client{pair.kind}", f"server{pair.kind}", pair.connection
        self._say(f"# Connection {comment(pair.name)}", f"namespace {client}", f"namespace {server}")
        self._say(*(f"address {server} {address}/32 lo" for address in pair.servers))
        settings = _settings(pair) | self._description.get("sysctl", {})
        words = " ".join(shlex.quote(f"{name.replace('/', '.')}={value}") for name, value in settings.items())
        self._say(f"set_in {client} {words}", f"set_in {server} {words}")
        for path, number in enumerate(connection["paths"]):
            self._path(pair, path, self._paths[number]["links"])
        if pair.told is not None:
            for host, endpoints in (
                (client, pair.endpoints(self._links, self._paths)),
                (server, pair.server_endpoints),
            ):
                told = pair.told["client" if host == client else "server"]
                limits = f"subflows {told['subflows']} add_addr_accepted {told['add_addr_accepted']}"
                joins = int(told["allow_join_initial_addr_port"])
                self._say(f"set_in {host} net.mptcp.allow_join_initial_addr_port={joins}")
                self._say(f"multipath {host} limits set {limits}")
                self._say(*(f"multipath {host} endpoint add {_endpoint(each)}" for each in endpoints))
        elif pair.mptcp:
            subflows = min(len(pair.joining), kernel.SUBFLOW_LIMIT)
            for host in (client, server):
                self._say(f"multipath {host} limits set subflows {subflows} add_addr_accepted 0")
            for endpoint in pair.endpoints(self._links, self._paths):
                if endpoint.number:
                    flags = "subflow backup" if endpoint.backup else "subflow"
                    self._say(f"multipath {client} endpoint add {endpoint.address} id {endpoint.number} {flags}")
        self._say("")

    def _path(self, pair: Pair, path: int, links: Sequence[int]) -> None:
        """Devices and routes from the client over the links to the server and back."""
        client, server, device = f"client{pair.kind}", f"server{pair.kind}", f"path{path}"
        chain = [name for link in links for name in self._chain(link)]
        self._join(client, chain[0], (device, f"c{pair.kind}-{path}"))
        self._join(chain[-1], server, (f"s{pair.kind}-{path}", device))
        for one, other in pairwise(chain):
            if (one, other) not in self._ways:
                self._join(one, other)
        for host in (client, server):
            self._say(f"mtu {host} {device} {pair.mtu}")
        gateway, back = self._ways[client, chain[0]][1], self._ways[server, chain[-1]][1]
        own = pair.addresses[path]
        self._say(*(f"address {client} {address}/32 {device}" for address in own))
        mss_bytes = announced_mss_bytes(self._description, pair.connection)[path]
        announced = "" if mss_bytes is None else f" advmss {mss_bytes}"
        first = f"via {gateway} dev {device} src {own[0]}{announced}"
        for number, address in enumerate(pair.servers):
            self._say(f"route {client} {address} {first} metric {pair.metric(number, path)}")
            self._say(f"route {client} {address} {first} table {path + 1}")
        self._say(*(f"rule {client} from {address} lookup {path + 1}" for address in own))
        way_back = f"via {back} dev {device} src {pair.server}{announced}"
        self._say(*(f"route {server} {address} {way_back}" for address in own))
        whole = [client, *chain, server]
        for one, other in pairwise(whole[1:]):
            for address in pair.servers:
                self._route(one, other, str(address))
        for one, other in pairwise(reversed(whole[:-1])):
            for address in own:
                self._route(one, other, str(address))

    def _route(self, one: str, other: str, destination: str) -> None:
        if (one, destination) not in self._routes:
            self._routes.add((one, destination))
            device, address = self._ways[one, other]
            self._say(f"route {one} {destination} via {address} dev {device}")


def _endpoint(endpoint: Endpoint) -> str:
    """In the words of `ip mptcp endpoint add`."""
    port = "" if endpoint.port is None else f" port {endpoint.port}"
    return f"{endpoint.address}{port} id {endpoint.number} {' '.join(endpoint.flags)}"


def _settings(pair: Pair) -> dict[str, object]:
    """What the hosts' kernels are told, as on the engine linux."""
    connection = pair.connection
    offers = {"ecn": connection["ecn"], "checksum": connection["checksum"]}
    found = kernel.parameters(**offers, send_bytes=buffers.send_bytes(connection))
    found |= kernel.recovery(connection["tcp"]["loss_detection"])
    if connection["receive_buffer_bytes"] is not None:
        # The kernel takes half of it for its overhead, as of a size that a socket is told.
        size = 2 * connection["receive_buffer_bytes"]
        found["net/ipv4/tcp_rmem"] = f"{min(4096, size)} {size} {size}"
    return found


def _framed(direction: Mapping[str, Any], mtu: int) -> dict[str, Any]:
    """With Ethernet's header: a full packet takes the same time and the same part of the queue."""
    scale = (mtu + ETHERNET_BYTES) / mtu
    queue = dict(direction["queue"])
    if "bytes" in queue["limit"]:
        queue["limit"] = {"bytes": round(queue["limit"]["bytes"] * scale)}
    return {**direction, "rate_bps": round(direction["rate_bps"] * scale), "queue": queue}
