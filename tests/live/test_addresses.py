"""Events of addresses on the kernel and on real packets of ours: the same as on the simulator."""

import mptcplab
import pytest
from mptcplab import machine
from mptcplab.scenario import Scenario

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
pytestmark = [
    # Ten seconds on the clock for each engine, whatever the machine.
    pytest.mark.slow,
    pytest.mark.live,
    pytest.mark.skipif(
        bool(MISSING),
        reason="no live system here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
    ),
]

TEXT = """
duration = "10 s"
[link.wifi]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 ms"
[link.lte]
rate = "5 Mbit/s"
delay = "30 ms"
queue = "50 ms"
{lte}
[connection.c]
paths = ["wifi", "lte"]
congestion = "cubic"
receive_buffer = "4 MiB"
[measure]
sample = "100 ms"
{events}
"""
GONE = """
[[event]]
at = "3 s"
link = "{link}"
set = {{ {off} }}
[[event]]
at = "6 s"
link = "{link}"
set = {{ {on} }}
"""


def run(engine: str, events: str, lte: str = "") -> mptcplab.Result:
    scheduler = "linux" if engine != "stack" else "min-rtt"
    scenario = Scenario.from_toml(
        TEXT.format(events=events, lte=lte), "<test>", [f"connection.c.scheduler={scheduler}"]
    )
    return mptcplab.run(scenario, engine=engine)


def used(result: mptcplab.Result, path: str, since: float, until: float) -> float:
    """Mean goodput on a path between two times, in Mbit/s."""
    rows = result.samples.filter(kind="subflow", path=path).to_dicts()
    found = [row["goodput_bps"] for row in rows if since < row["time_s"] <= until]
    return sum(found) / 10 / (until - since) / 1e6


@pytest.mark.parametrize("engine", ["sim", "stack", "linux"])
@pytest.mark.parametrize("link", ["wifi", "lte"])
def test_an_address_goes_and_comes_back(engine: str, link: str) -> None:
    result = run(engine, GONE.format(link=link, off="address = false", on="address = true"))
    assert used(result, link, 1, 3) > 3
    assert used(result, link, 3.3, 6) == 0
    assert used(result, link, 7.5, 10) > 2, "joined from again"
    other = "lte" if link == "wifi" else "wifi"
    assert used(result, other, 3, 6) > 3
    assert len(result.subflows) == 3
    (row,) = result.connections.to_dicts()
    assert row["notice_s"] is None or row["notice_s"] < 1.2
    assert row["longest_silence_s"] < 1.5


@pytest.mark.parametrize("engine", ["sim", "stack", "linux"])
def test_a_path_becomes_a_backup_and_a_full_one_again(engine: str) -> None:
    result = run(engine, GONE.format(link="lte", off="backup = true", on="backup = false"))
    assert used(result, "lte", 1, 3) > 3
    assert used(result, "lte", 4, 6) < 0.1
    assert used(result, "lte", 7.5, 10) > 2


@pytest.mark.parametrize("engine", ["sim", "stack", "linux"])
def test_a_metered_path_stands_by_and_time_to_notice_is_told(engine: str) -> None:
    metered = 'metered = { price = 4.0, use = "backup" }'
    result = run(engine, GONE.format(link="wifi", off="down = true", on="down = false"), metered)
    assert used(result, "lte", 0, 3) == 0
    assert used(result, "lte", 4.5, 6) > 3
    (row,) = result.connections.to_dicts()
    assert 0.15 < row["notice_s"] < 1.2
    assert row["packet_overhead"] > 0.05, "headers alone are 80 of 1420 bytes"
    cost = result.links.filter(name="lte")["cost"].sum()
    assert cost == pytest.approx(4e-9 * result.links.filter(name="lte")["bytes_sent"].sum())
