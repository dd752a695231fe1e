"""A namespace becomes a host: interfaces with addresses and routes."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

from mptcplab import _core
from mptcplab.engines.live.namespace import Namespace

Address = IPv4Address | IPv6Address

# What a sender may hand to its interface at once: the kernel's own limits to a socket's burst are far below.
_QUEUE_PACKETS = 10_000
_LOOPBACK = 1
_FIRST_TABLE = 1000


@dataclass(frozen=True)
class Route:
    """Where packets to `network` (an address with its prefix) go: out by the interface that has the route."""

    network: str
    metric: int = 1


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
    """What every host has: a loopback that is up, and no packets of its own accord."""
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
    from pyroute2 import IPRoute  # loads slowly

    with IPRoute() as netlink:
        netlink.link("set", index=_LOOPBACK, state="up")


def _furnish(interface: Interface) -> None:
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        (index,) = netlink.link_lookup(ifname=interface.name)
        netlink.link("set", index=index, mtu=interface.mtu, txqlen=_QUEUE_PACKETS, state="up")
        for address in interface.addresses:
            netlink.addr("add", index=index, address=str(address), prefixlen=address.max_prefixlen)
        table = _FIRST_TABLE + index
        for route in interface.routes:
            family = 10 if isinstance(ip_network(route.network), IPv6Network) else 2
            netlink.route("add", dst=route.network, oif=index, priority=route.metric, family=family)
            if not interface.alone:
                netlink.route("add", dst=route.network, oif=index, table=table, family=family)
        for address in [] if interface.alone else interface.addresses:
            family = 10 if address.version == 6 else 2
            netlink.rule("add", src=str(address), src_len=address.max_prefixlen, table=table, family=family)
