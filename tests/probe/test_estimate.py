"""Streams of packets worked out by hand, and what is read off them."""

import pytest
from mptcplab.probe import estimate
from mptcplab.probe.estimate import PACKET_BITS
from mptcplab.probe.stream import Arrival

CLOCKS_NS = 7_000_000_000
"""The two clocks have nothing in common."""


def through_a_link(
    offered_bps: float, rate_bps: float, seconds: float, queue_s: float, bucket_bytes: float = 0.0
) -> tuple[list[Arrival], int]:
    """A stream at a constant rate through a drop-tail queue; what fits a bucket passes at once."""
    arrivals, free_s, tokens = [], 0.0, 8 * bucket_bytes
    each_s = PACKET_BITS / offered_bps
    sent = int(seconds / each_s)
    for number in range(sent):
        now = number * each_s
        tokens = max(0.0, tokens - PACKET_BITS)
        begins = max(free_s, now)
        if tokens:
            done = now
        elif begins - now > queue_s:
            continue
        else:
            done = free_s = begins + PACKET_BITS / rate_bps
        arrivals.append(Arrival(number, round(1e9 * now), CLOCKS_NS + round(1e9 * (done + 0.01))))
    return arrivals, sent


def test_rate_and_queue_of_a_full_link() -> None:
    """20 Mbit/s through 10: every second packet is lost, and a packet waits as long as the queue is."""
    arrivals, sent = through_a_link(20e6, 10e6, 2.0, 0.08)
    found = estimate.flood(arrivals, sent)
    assert found.rate_bps == pytest.approx(10e6, rel=0.001)
    assert found.queue_s == pytest.approx(0.08, abs=0.002)
    assert found.is_full
    assert found.burst_bytes == 0


def test_a_link_that_is_not_full_has_a_rate_at_least() -> None:
    arrivals, sent = through_a_link(8e6, 10e6, 2.0, 0.08)
    found = estimate.flood(arrivals, sent)
    assert not found.is_full
    assert found.queue_s is None
    assert found.rate_bps == pytest.approx(8e6, rel=0.01)


def test_a_token_bucket_shows_as_a_burst() -> None:
    """500 kB pass at 40 Mbit/s in 0.1 s; in that time 10 Mbit/s would have been 125 kB."""
    arrivals, sent = through_a_link(40e6, 10e6, 2.0, 0.05, bucket_bytes=500e3)
    found = estimate.flood(arrivals, sent)
    assert found.rate_bps == pytest.approx(10e6, rel=0.01)
    assert found.burst_bytes == pytest.approx(500e3 - 125e3, rel=0.25)


def test_jitter_long_after_a_burst_does_not_hide_it() -> None:
    """What arrives beyond the lasting rate has its most late, by jitter of 2 ms; the burst was over long before."""
    arrivals, sent = through_a_link(20e6, 10e6, 2.0, 0.05, bucket_bytes=200e3)
    jitter = [
        Arrival(each.number, each.sent_ns, each.arrived_ns - 2_000_000)
        if each.arrived_ns > CLOCKS_NS + 1_900_000_000
        else each
        for each in arrivals
    ]
    assert estimate.flood(jitter, sent).burst_bytes == pytest.approx(
        estimate.flood(arrivals, sent).burst_bytes, rel=0.1
    )
    assert estimate.flood(arrivals, sent).burst_bytes > 95e3


def test_a_moment_in_which_nothing_is_read_is_no_shaper() -> None:
    """For 50 ms in the second half the reader is away, then everything arrives at once."""
    arrivals, sent = through_a_link(20e6, 10e6, 2.0, 0.08)
    away = CLOCKS_NS + 1_500_000_000, CLOCKS_NS + 1_550_000_000
    late = [
        Arrival(each.number, each.sent_ns, away[1]) if away[0] < each.arrived_ns < away[1] else each
        for each in arrivals
    ]
    found = estimate.flood(late, sent)
    assert found.rate_bps == pytest.approx(10e6, rel=0.001)
    assert found.burst_bytes == 0
    assert found.queue_s == pytest.approx(0.08, abs=0.005)


def test_loss_counts_each_packet_once() -> None:
    arrivals = [Arrival(number, 0, number) for number in (*range(95), 3, 4)]
    assert estimate.loss(arrivals, 100) == pytest.approx(0.05)


def test_too_few_packets_tell_nothing() -> None:
    with pytest.raises(ValueError, match="5 of 100"):
        estimate.flood([Arrival(number, 0, number) for number in range(5)], 100)


@pytest.mark.parametrize(
    ("together", "shared"),
    # Offered 0.8 · (10 + 10) = 16: independent paths carry 16, one bottleneck 10.
    [((8e6, 8e6), False), ((5e6, 5e6), True), ((7.5e6, 7.2e6), False), ((8e6, 3e6), True)],
)
def test_two_paths_with_one_bottleneck(together: tuple[float, float], shared: bool) -> None:
    assert estimate.is_shared([10e6, 10e6], 0.8, together) is shared


def test_a_small_path_beside_a_large_one_cannot_be_told() -> None:
    """0.8 · (10 + 1) = 8.8 fits one link of 10: nothing follows."""
    assert not estimate.is_shared([10e6, 1e6], 0.8, (8e6, 0.8e6))
