"""A change cannot lose speed unseen: instructions a packet-hop, which no other load on the machine disturbs."""

from pathlib import Path

import pytest

from tools.bench import measure

# What was counted, and 0.1 %. A change that makes the simulator quicker lowers them. In a small network five
# instructions a packet-hop ask for the next segment's memory, which takes less time than waiting for it.
BOUNDS = {"w5": 618.9, "w3": 656.6}
IDLE_CONNECTION_BYTES = 6_100
"""Both ends of a TCP connection and what the simulator keeps of them."""
SEGMENT_IN_FLIGHT_BYTES = 200
"""At its sender, in the network and in a link."""


@pytest.fixture(scope="module")
def program() -> Path:
    """The benchmark's program."""
    return measure.build()


@pytest.mark.parametrize("workload", BOUNDS)
def test_a_packet_hop_takes_no_more_instructions_than_it_did(program: Path, workload: str) -> None:
    if not measure.has_callgrind():
        pytest.skip("valgrind is not installed, which counts instructions: apt-get install valgrind")
    counted = measure.instructions_per_hop(program, workload, measure.COUNTED_S[workload])
    assert counted is not None
    assert counted < BOUNDS[workload]
    assert counted > 0.85 * BOUNDS[workload], "quicker than the bound by far: lower the bound"


def test_memory_of_an_idle_connection(program: Path) -> None:
    (few, _), (many, _) = (measure.peak_rss_bytes(program, f"idle-{count}", 2.0) for count in (2_000, 12_000))
    assert 2_000 < (many - few) / 10_000 < IDLE_CONNECTION_BYTES


def test_memory_of_a_segment_in_flight(program: Path) -> None:
    (few, early), (many, late) = (measure.peak_rss_bytes(program, "in-flight", seconds) for seconds in (19.5, 29.5))
    assert late - early > 50_000
    assert 48 < (many - few) / (late - early) < SEGMENT_IN_FLIGHT_BYTES
