"""LIA on two lossy paths: Chauvenne and Libioulle 2017, figures 6.3 and 6.4, at their ends and in the middle."""

import numpy as np
import pytest

from studies import lia_two_paths
from studies.runs import Flow


@pytest.fixture(scope="module")
def tcp() -> Flow:
    return lia_two_paths.measure_tcp(seconds=300, seeds=2)


@pytest.mark.parametrize(("p2", "rtt2_s"), [(0.02, 0.02), (0.05, 0.02), (0.1, 0.02), (0.02, 0.1), (0.02, 1.0)])
def test_rates_follow_the_law(p2: float, rtt2_s: float, tcp: Flow) -> None:
    point = lia_two_paths.measure(p2, rtt2_s, seconds=300, seeds=2)
    # Goal 1 of RFC 6356: as much as TCP on the better path.
    assert point.rates.sum() == pytest.approx(tcp.rate, rel=0.15)
    # The rule itself, with the swing of its windows. A window under three segments has timeouts besides: for as long as
    # each waits (200 ms and the RTT, as in Linux) the rule sends nothing.
    played = point.played(steps=4000)
    waiting = point.paths[1].timeouts * (0.2 + point.rtts_s[1]) / 300
    assert point.rates[0] == pytest.approx(played[0], rel=0.08)
    assert point.rates[1] == pytest.approx((1 - waiting) * played[1], rel=0.20)
    # The closed form, scaled to what TCP has of its own (§6.2.1: the model always overestimates).
    own = tcp.rate * tcp.rtt_s * np.sqrt(0.01 / 2)
    assert point.rates[0] == pytest.approx(own * point.law_measured[0], rel=0.20)
