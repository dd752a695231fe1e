"""What `utilization` counts: bytes sent, a packet as a whole at one moment."""

import random

import mptcplab
import polars as pl
import pytest

PACKET_BITS = 1500 * 8
"""The largest: IP header and all."""


def sent(rate: int, sample_ms: int, delay_ms: int = 10, seconds: int = 2) -> "pl.Series":
    """The utilization of a link's samples while it carries one TCP connection."""
    scenario = mptcplab.Scenario.from_dict(
        {
            "duration": f"{seconds} s",
            "link": {"a": {"rate": f"{rate} kbit/s", "delay": f"{delay_ms} ms", "queue": "50 packets"}},
            "connection": {"c": {"paths": ["a"], "protocol": "tcp", "congestion": "reno"}},
            "measure": {"sample": f"{sample_ms} ms"},
        }
    )
    samples = mptcplab.run(scenario).samples
    return samples.filter(pl.col("kind") == "link", pl.col("direction") == "down")["utilization"]


def test_a_packet_counts_whole_in_the_sample_in_which_it_is_sent() -> None:
    """1 Mbit/s carries 4,000 bits in a sample of 4 ms: a packet of 1,500 B is 12,000 / 4,000 = 3, the SYN-ACK of 60 B
    is 480 / 4,000 = 0.12, and a sample in which none is sent 0."""
    found = sent(1_000, 4)
    assert sorted(set(found.round(9))) == [0.0, 0.12, 3.0]
    assert found[0] == 0.0
    assert found.to_list().count(0.12) == 1


@pytest.mark.parametrize("seed", range(8))
def test_over_many_packets_it_exceeds_1_by_a_packet_at_most(seed: int) -> None:
    """In any window of n samples the bytes sent are at most what the rate allows and one packet more."""
    dice = random.Random(seed)
    rate, sample_ms = dice.choice([300, 1_000, 7_000, 20_000]), dice.choice([1, 2, 5, 20])
    found = sent(rate, sample_ms, delay_ms=dice.randint(1, 40)).to_numpy()
    for count in (1, 2, 5, 50, len(found)):
        windows = [found[at : at + count].mean() for at in range(len(found) - count + 1)]
        assert max(windows) <= 1 + PACKET_BITS / (rate * sample_ms * count) + 1e-9
    assert found.mean() > 0.3
