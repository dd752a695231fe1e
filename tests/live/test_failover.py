"""A path goes away in the middle of a transfer: the kernel and the simulator are silent about as long."""

import statistics
from typing import Any

import mptcplab
import pytest
import tomli_w
from mptcplab import machine

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
pytestmark = [
    # Ten seconds on the clock, whatever the machine.
    pytest.mark.slow,
    pytest.mark.live,
    pytest.mark.skipif(
        bool(MISSING),
        reason="no live system here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
    ),
]
NETWORKS = 10
GONE_MS = 4000


def side_by_side(gone: str, path_manager: str) -> mptcplab.Scenario:
    """10 and 5 Mbit/s with 20 and 60 ms, ten times, the path unplugged at ten instants."""
    scenario: dict[str, Any] = {
        "duration": "8 s",
        "link": {},
        "connection": {},
        "event": [],
        "measure": {"sample": "100 ms"},
    }
    for number in range(NETWORKS):
        for name, rate, delay in (("first", 10, 10), ("second", 5, 30)):
            link = {"rate": f"{rate} Mbit/s", "delay": f"{delay} ms", "queue": "50 ms"}
            scenario["link"][f"{name}-{number}"] = link
        scenario["connection"][f"m{number}"] = {
            "paths": [f"first-{number}", f"second-{number}"],
            "congestion": {"name": "cubic", "variant": "linux"},
            "scheduler": "linux",
            "path_manager": path_manager,
            "receive_buffer": "4 MiB",
        }
        event = {"at": f"{GONE_MS + 137 * number} ms", "link": f"{gone}-{number}", "set": {"down": True}}
        scenario["event"].append(event)
    return mptcplab.Scenario.from_toml(tomli_w.dumps(scenario), "<test>")


TRIES = 3


def silences_s(result: mptcplab.Result) -> list[float]:
    silences: list[float] = result.connections["longest_silence_s"].to_list()
    return silences


@pytest.mark.parametrize("gone", ["first", "second"])
def test_the_longest_silence_is_that_of_the_simulator(gone: str) -> None:
    """Medians of ten: on a quiet machine within 20 %; a busy one is given half as much again, and more runs."""
    scenario = side_by_side(gone, "fullmesh")
    expected = pytest.approx(statistics.median(silences_s(mptcplab.run(scenario))), rel=0.3)
    kernel: list[float] = []
    while not kernel or (statistics.median(kernel) != expected and len(kernel) < TRIES * NETWORKS):
        kernel += silences_s(mptcplab.run(scenario, engine="linux"))
    assert statistics.median(kernel) == expected


def test_a_backup_carries_nothing_before_and_all_after() -> None:
    scenario = side_by_side("first", "backup")
    for engine in ("linux", "sim"):
        samples = mptcplab.run(scenario, engine=engine).samples.to_dicts()
        rows = [row for row in samples if row["kind"] == "subflow" and row["goodput_bps"] > 0]
        before = {row["path"].partition("-")[0] for row in rows if row["time_s"] <= GONE_MS / 1e3}
        after = {row["path"].partition("-")[0] for row in rows if row["time_s"] > 7}
        assert (before, after) == ({"first"}, {"second"}), engine
