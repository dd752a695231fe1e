"""A namespace becomes a host: interfaces with addresses and routes."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Final

from mptcplab import _core
from mptcplab.engines.live.namespace import Namespace
from mptcplab.engines.live.netlink import Address, Links

# What a sender may hand to its interface at once: the kernel's own limits to a socket's burst are far below.
_QUEUE_PACKETS = 10_000
_LOOPBACK = 1

OUTSIDE: Final = "100.64.0.0/10"
"""Where servers see clients that are behind a NAT: the emulator's NATs have their addresses there (RFC 6598)."""
_FIRST_TABLE = 1000


@dataclass(frozen=True)
class Route:
    """Where packets to `network` (an address with its prefix) go: out by the interface that has the route."""

    network: str
    metric: int = 1
    mss_bytes: int | None = None
    """What SYNs announce there, if not what the interface's MTU leaves."""


@dataclass(frozen=True)
class Interface:
    """An interface to be made, a TUN device."""

    name: str
    addresses: Sequence[Address]
    routes: Sequence[Route]
    mtu: int = 1500
    alone: bool = False
    """Whether the host has no other: then packets need no rules to leave by it, which take the kernel time."""


def set_up(namespace: Namespace) -> None:
    """What every host has: a loopback interface that is up, and a kernel that sends no packets unasked."""
    namespace.run(_raise_loopback)
    namespace.set_controls(
        {
            # No solicitations of routers, no reports of groups: links carry what programs send.
            "net/ipv6/conf/all/router_solicitations": 0,
            "net/ipv6/conf/default/router_solicitations": 0,
            "net/ipv6/conf/default/addr_gen_mode": 1,
            "net/ipv6/conf/default/accept_dad": 0,
            "net/ipv4/conf/all/rp_filter": 0,
            "net/ipv4/conf/default/rp_filter": 0,
        }
    )


def add_interface(namespace: Namespace, interface: Interface) -> int:
    """Make the interface and answer the descriptor of its other end; the interface goes when that is closed.

    Packets from one of its addresses leave by it, whatever the order of the routes.
    """
    descriptor = _core.create_tun(namespace.descriptor, interface.name)
    namespace.run(_furnish, interface)
    return descriptor


def _raise_loopback() -> None:
    with Links() as links:
        links.raise_(_LOOPBACK)


def _furnish(interface: Interface) -> None:
    index = socket.if_nametoindex(interface.name)
    with Links() as links:
        links.raise_(index, mtu=interface.mtu, queue_packets=_QUEUE_PACKETS)
        for address in interface.addresses:
            links.add_address(index, address)
        table = _FIRST_TABLE + index
        for route in interface.routes:
            network = ip_network(route.network)
            links.add_route(network, index, metric=route.metric, mss_bytes=route.mss_bytes)
            if not interface.alone:
                links.add_route(network, index, table=table, mss_bytes=route.mss_bytes)
        for address in [] if interface.alone else interface.addresses:
            links.add_rule(address, table)
