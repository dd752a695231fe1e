"""From the arrivals of a stream to rate, queue, loss and shaper, by order statistics and sums; no clock is shared."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mptcplab.probe.stream import HEADERS_BYTES, PAYLOAD_BYTES, Arrival

PACKET_BITS: Final = 8 * (PAYLOAD_BYTES + HEADERS_BYTES)
_BURST_PACKETS: Final = 20
_BURST_S: Final = 0.02
"""What arrives beyond the lasting rate must be more than either of these to be called a burst, …"""
_QUICKER: Final = 1.25
"""… and come this much quicker."""
_SPENT: Final = 0.9
"""A burst is over when this part of it has arrived."""
_FEWEST: Final = 40
_PARTS: Final = 10
_FULL: Final = 0.95
"""A link is full when less than this part of a stream arrives."""


@dataclass(frozen=True, slots=True)
class Flood:
    """What a stream that was faster than the path tells."""

    rate_bps: float
    """Of IP packets, in the later half."""
    queue_s: float | None
    """How long the full queue delays a packet; None where the stream did not fill it."""
    burst_bytes: float
    """What came through beyond the lasting rate: a token bucket in front of the link; 0 for a plain link."""
    is_full: bool
    """Whether the path was the limit, and not the sender."""


def received_bps(arrivals: Sequence[Arrival]) -> float:
    """The rate of IP packets between the first and the last arrival; 0 for fewer than two."""
    if len(arrivals) < 2:
        return 0.0
    times = sorted(each.arrived_ns for each in arrivals)
    return (len(times) - 1) * PACKET_BITS / max(1e-9, (times[-1] - times[0]) / 1e9)


def flood(arrivals: Sequence[Arrival], sent: int) -> Flood:
    """Of a stream of `sent` datagrams. Raises ValueError when fewer than 40 arrived.

    Medians and a percentile, since a computer that is busy for a moment reads packets late and then many at once.
    """
    if len(arrivals) < _FEWEST:
        raise ValueError(f"{len(arrivals)} of {sent} packets arrived")
    ordered = sorted(arrivals, key=lambda each: each.arrived_ns)
    late = ordered[len(ordered) // 2 :]
    rate_bps = _lasting_bps(late)
    is_full = len(ordered) < _FULL * sent
    quickest = min(each.arrived_ns - each.sent_ns for each in ordered)
    waits = sorted(each.arrived_ns - each.sent_ns - quickest for each in late)
    queue_s = waits[int(0.9 * len(waits))] / 1e9 if is_full else None
    first = ordered[0].arrived_ns
    beyond = [place * PACKET_BITS - rate_bps * (each.arrived_ns - first) / 1e9 for place, each in enumerate(ordered)]
    most = max(beyond)
    # The first place near the most: with an empty bucket `beyond` stays level, and jitter decides where its most is.
    end = next(place for place, bits in enumerate(beyond) if bits >= _SPENT * most)
    is_burst = (
        is_full
        and most > max(_BURST_PACKETS * PACKET_BITS, _BURST_S * rate_bps)
        and received_bps(ordered[: end + 1]) > _QUICKER * rate_bps
    )
    return Flood(rate_bps, queue_s, most / 8 if is_burst else 0.0, is_full)


def _lasting_bps(ordered: Sequence[Arrival]) -> float:
    """The median rate of ten parts with as many packets each."""
    size = len(ordered) // _PARTS
    times = [each.arrived_ns for each in ordered]
    rates = [
        size * PACKET_BITS / max(1e-9, (times[start + size] - times[start]) / 1e9)
        for start in range(0, size * _PARTS - size, size)
    ]
    return statistics.median(rates)


def loss(arrivals: Sequence[Arrival], sent: int) -> float:
    """The part of a stream that was lost."""
    return 1 - min(sent, len({each.number for each in arrivals})) / max(1, sent)


def is_shared(alone_bps: Sequence[float], offered: float, together: Sequence[float]) -> bool:
    """Whether paths have one bottleneck: each was offered the part `offered` of its own rate, all at the same time.

    Paths that share none get all of it, paths that share one not more than the fastest of them alone. The line is half
    way between.
    """
    wanted = offered * sum(alone_bps)
    one = min(wanted, max(alone_bps))
    return sum(together) < (wanted + one) / 2 and wanted - one > 0.1 * wanted
