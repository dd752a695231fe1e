"""Lengths of queues in the core's units: bytes and packets, from times, sizes, packets and multiples of the BDP."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor

from mptcplab.scenario import units
from mptcplab.scenario.buffers import BufferRule
from mptcplab.scenario.links import WAYS, Link, Queue, Way
from mptcplab.scenario.model import Document
from mptcplab.scenario.units import Amount

PACKET_BYTES = 1500
"""What one packet counts where packets and bytes meet: a full IP packet of an Ethernet."""

_BITS_TIMES_NS = 8 * 10**9
_MOST_BYTES = 2**64 - 1
"""What the core can count; 1000 BDP of 50 links with a delay of an hour at 1 Tbit/s are more."""


def round_trip_ns(link: Link) -> int:
    """The propagation delay of both directions."""
    return sum(link.direction(way).delay_ns for way in WAYS)


def round_trips_ns(document: Document) -> dict[str, int]:
    """For each link the round-trip propagation delay that its BDP means.

    The largest among the paths that connections use across this link; the link's own where none does.
    """
    own = {name: round_trip_ns(link) for name, link in document.links.items()}
    longest: dict[str, int] = {}
    for path in document.paths_in_use():
        links = document.path_links(path)
        total = sum(own[link] for link in links)
        for link in links:
            longest[link] = max(total, longest.get(link, 0))
    return {name: longest.get(name, own[name]) for name in document.links}


def exact_bytes(amount: Amount, rate_bps: int, rtt_ns: int) -> Fraction:
    """The length in bytes at this rate and, for a BDP, this round-trip time; not rounded."""
    if amount.dimension is units.TIME:
        return amount.quantity * rate_bps / _BITS_TIMES_NS
    if amount.dimension is units.PACKETS:
        return amount.quantity * PACKET_BYTES
    if amount.dimension is units.BDP:
        return max(amount.quantity * rate_bps * rtt_ns / _BITS_TIMES_NS, Fraction(PACKET_BYTES))
    return amount.quantity


def exact_packets(amount: Amount, rate_bps: int, rtt_ns: int) -> Fraction:
    """The length in packets; sizes and what becomes one are counted at 1500 bytes a packet."""
    return exact_bytes(amount, rate_bps, rtt_ns) / PACKET_BYTES


def limit(queue: Queue, rate_bps: int, rtt_ns: int) -> Mapping[str, int]:
    """The core's `Limit`: packets where the file counts packets only, else whole bytes, rounded down."""
    amounts = [queue.limit] if queue.at_least is None else [queue.limit, queue.at_least]
    if all(amount.dimension is units.PACKETS for amount in amounts):
        return {"packets": max(int(amount.quantity) for amount in amounts)}
    most = max(floor(exact_bytes(amount, rate_bps, rtt_ns)) for amount in amounts)
    return {"bytes": min(most, _MOST_BYTES)}


def buffer_bytes(rule: BufferRule, document: Document, paths: tuple[str, ...], way: Way) -> int:
    """What the rule gives for a connection over these paths.

    `paths`: factor times the sum of the paths' rates times the longest round-trip propagation delay (RFC 6182 §5.3
    has factor 2), a path's rate being that of its slowest link in the direction of the data. `linux`: half of the
    largest socket buffer, which is what the kernel announces of it with tcp_adv_win_scale = 1.
    """
    if rule.rule == "linux":
        return rule.rmem_max // 2
    links = [[document.links[name] for name in document.path_links(path)] for path in paths]
    rate_bps = sum(min(document.rate_bps(link.direction(way)) for link in path) for path in links)
    rtt_ns = max(sum(round_trip_ns(link) for link in path) for path in links)
    return min(ceil(Fraction(rule.factor) * rate_bps * rtt_ns / _BITS_TIMES_NS), _MOST_BYTES)
