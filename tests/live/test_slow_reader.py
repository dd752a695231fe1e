"""An application that reads slowly and pauses, with the kernel's TCP and our stack on real packets, beside `sim`."""

import mptcplab
import pytest
from mptcplab.scenario import Scenario

from tests.live.real_engines import REAL

FILE = """
duration = "8 s"
[link.near]
rate  = "20 Mbit/s"
delay = "10 ms"
[link.far]
rate  = "10 Mbit/s"
delay = "30 ms"
[connection.m]
paths       = ["near", "far"]
congestion  = "reno"
application = { kind = "file", size = "500 kB" }
read_rate   = "1 Mbit/s"
read        = [["1 s", "pause"], ["2 s", "1 Mbit/s"]]
"""


@pytest.mark.parametrize("engine", REAL)
def test_the_reader_sets_the_time(engine: str) -> None:
    scenario = Scenario.from_toml(FILE, "reader.toml")
    beside, found = (mptcplab.run(scenario, engine=each).connections.to_dicts()[0] for each in ("sim", engine))
    # 500 kB at 1 Mbit/s take 4 s, and the pause 1 s; before that two round trips at most.
    assert 4.95 < beside["completion_s"] < 5.1
    assert found["completion_s"] == pytest.approx(beside["completion_s"], rel=0.03)
    assert found["longest_silence_s"] == pytest.approx(1.01, abs=0.1)
