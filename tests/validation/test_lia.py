"""LIA on two lossy paths: Chauvenne and Libioulle 2017, figures 6.3 and 6.4, at their ends and in the middle.

Both paths 20 Mbit/s. Figure 6.3: RTT 20 ms, p₁ = 1 %, p₂ = 2 … 10 %. Figure 6.4: p₁ = 1 %, p₂ = 2 %, RTT₁ = 20 ms,
RTT₂ = 30 … 1000 ms.
"""

import numpy as np
import pytest
from mptcplab.models import steady_state

from studies import rules
from studies.runs import Flow, flow, run

SECONDS = 300
LINKS = """
duration = "330 s"
[link.first]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "1000 packets"
down.loss = "1 %"
[link.second]
rate = "20 Mbit/s"
delay = "{delay_ms} ms"
queue = "1000 packets"
down.loss = "{percent} %"
[measure]
warmup = "30 s"
sample = "never"
[connection.flow]
receive_buffer = "16 MiB"
"""


@pytest.fixture(scope="module")
def tcp() -> Flow:
    text = LINKS.format(delay_ms=10, percent=2) + 'paths = ["first"]\nprotocol = "tcp"\n'
    return flow(run(text, seeds=2), "flow", "first")


@pytest.mark.parametrize(("p2", "rtt2_s"), [(0.02, 0.02), (0.05, 0.02), (0.1, 0.02), (0.02, 0.1), (0.02, 1.0)])
def test_rates_follow_the_law(p2: float, rtt2_s: float, tcp: Flow) -> None:
    text = LINKS.format(delay_ms=f"{rtt2_s * 500:g}", percent=f"{p2 * 100:g}")
    result = run(text + 'paths = ["first", "second"]\ncongestion = "lia"\n', seeds=2)
    first, second = (flow(result, "flow", path) for path in ("first", "second"))
    rtts_s = [first.rtt_s, second.rtt_s]
    # Goal 1 of RFC 6356: as much as TCP on the better path.
    assert first.rate + second.rate == pytest.approx(tcp.rate, rel=0.15)
    # The rule itself, with the swing of its windows. A window under three segments has timeouts besides: for as long as
    # each waits (200 ms and the RTT, as in Linux) the rule sends nothing.
    played = rules.play(rules.lia, [0.01, p2], rtts_s, steps=4000).rates
    waiting = second.timeouts * (0.2 + second.rtt_s) / SECONDS
    assert first.rate == pytest.approx(played[0], rel=0.08)
    assert second.rate == pytest.approx((1 - waiting) * played[1], rel=0.20)
    # The closed form, scaled to what TCP has of its own (§6.2.1: the model always overestimates).
    law = steady_state.lia_capped([0.01, p2], rtts_s) / np.asarray(rtts_s)
    own = tcp.rate * tcp.rtt_s * np.sqrt(0.01 / 2)
    assert first.rate == pytest.approx(own * law[0], rel=0.20)
