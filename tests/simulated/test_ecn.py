"""Explicit congestion notification from the scenario file to the window: marks take the place of drops."""

import mptcplab
import pytest
from mptcplab.scenario import Scenario

SCENARIO = """
duration = "20 s"
[link.l]
rate = "20 Mbit/s"
delay = "20 ms"
queue = {{ {queue}, ecn = true }}
[connection.c]
paths = ["l"]
protocol = "tcp"
congestion = "{congestion}"
ecn = {ecn}
count = 2
[measure]
warmup = "5 s"
sample = "never"
"""
RED = 'kind = "red", min = "10 packets", max = "60 packets", limit = "300 packets"'
CODEL = 'kind = "codel"'


@pytest.mark.parametrize("queue", [RED, CODEL])
@pytest.mark.parametrize("congestion", ["reno", "cubic"])
def test_marks_take_the_place_of_drops(queue: str, congestion: str) -> None:
    def run(ecn: str) -> mptcplab.Result:
        text = SCENARIO.format(queue=queue, ecn=ecn, congestion=congestion)
        return mptcplab.run(Scenario.from_toml(text), engine="sim")

    marked, dropped = run("true"), run("false")
    down = [result.links.filter(direction="down").row(0, named=True) for result in (marked, dropped)]
    assert dropped.subflows["retransmissions"].sum() > 0
    assert down[1]["drops"] > 0
    assert down[0]["drops"] == 0, "after slow start every signal is a mark"
    assert down[0]["utilization"] > 0.85, "0.87 to 0.93 with twelve seeds of Reno over RED, more with the others"
    # The marks are heard: the queue stays in the same range as with drops.
    assert down[0]["queue_mean_packets"] < 2 * down[1]["queue_mean_packets"] + 10
