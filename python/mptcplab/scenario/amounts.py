"""Lengths of queues in the core's units: bytes and packets, from times, sizes, packets and multiples of the BDP."""

from collections.abc import Mapping
from fractions import Fraction
from math import floor

from mptcplab.scenario import units
from mptcplab.scenario.links import WAYS, Link, Queue
from mptcplab.scenario.model import Document
from mptcplab.scenario.units import Amount

PACKET_BYTES = 1500
"""What one packet counts where packets and bytes meet: a full IP packet of an Ethernet."""

_BITS_TIMES_NS = 8 * 10**9


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
    return {"bytes": max(floor(exact_bytes(amount, rate_bps, rtt_ns)) for amount in amounts)}
