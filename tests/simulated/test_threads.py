"""One network on several threads: the same result, and a warning where it stays on one."""

import logging

import mptcplab
import pytest
from mptcplab import Scenario

TEXT = """
title = "Two paths"
duration = "3 s"

[measure]
warmup = "500 ms"
sample = "100 ms"

[link.a]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "40 packets"

[link.b]
rate = "5 Mbit/s"
delay = "25 ms"
queue = "40 packets"
loss = "0.5 %"

[path.a]
links = ["a"]

[path.b]
links = ["b"]

[connection.multipath]
paths = ["a", "b"]
application = "bulk"

[connection.neighbour]
count = 3
paths = ["b"]
protocol = "tcp"
application = "bulk"
"""


def test_threads_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    one, two = (mptcplab.run(Scenario.from_toml(TEXT), threads=threads) for threads in (1, 2))
    assert one.to_json() == two.to_json()
    assert one.samples.equals(two.samples)
    assert not caplog.records


def test_what_cannot_be_divided_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    file = 'connection.neighbour.application={ kind = "file", size = "1 MB" }'
    scenario = Scenario.from_toml(TEXT, overrides=[file])
    with caplog.at_level(logging.WARNING, "mptcplab.run"):
        result = mptcplab.run(scenario, threads=4, repeat=2)
    reason = "connection «neighbour» sends something else than bulk data or a rate"
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        f"simulated on 1 of 4 threads: {reason}"
    ]
    assert result.to_json() == mptcplab.run(scenario, repeat=2).to_json()


def test_other_engines_have_one_thread_for_a_run() -> None:
    with pytest.raises(ValueError, match="threads are for the engine sim; model uses one"):
        mptcplab.run(Scenario.from_toml(TEXT), engine="model", threads=2)
    with pytest.raises(ValueError, match="at least 1, not 1, 1 and 0"):
        mptcplab.run(Scenario.from_toml(TEXT), threads=0)
