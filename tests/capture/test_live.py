"""Captures of the engines on real packets: `analyze` gives the numbers of their own results."""

import shutil
import subprocess
from pathlib import Path

import mptcplab
import polars as pl
import pytest
from mptcplab import machine
from mptcplab.capture.settings import Capture
from mptcplab.scenario import Scenario

from tests.networks import FAST_AND_SLOW

TWO_PATHS = (
    """
duration = "4 s"
"""
    + FAST_AND_SLOW
    + """
[connection.m]
paths = ["fast", "slow"]
congestion = "reno"
application = { kind = "file", size = "6 MB" }
"""
)


@pytest.mark.parametrize("engine", ["stack", "linux"])
def test_analyze_agrees_with_the_engine(engine: str, tmp_path: Path) -> None:
    needed = (*machine.live(), machine.kernel_mptcp()) if engine == "linux" else machine.live()
    missing = [f"{finding.what} {finding.found}" for finding in needed if not finding.good]
    if missing:
        pytest.skip("no live system here: " + "; ".join(missing))
    scenario = Scenario.from_toml(TWO_PATHS, "live.toml", [])
    result = mptcplab.run(scenario, engine, capture=Capture(tmp_path))
    files = sorted(tmp_path.glob("*.pcapng"))
    assert len(files) == 3  # two interfaces of the client, one of the server
    analysis = mptcplab.analyze(files)
    assert analysis.notes == ()
    assert analysis.connections.select("protocol", "version", "fallback_s").row(0) == ("mptcp", 1, None)
    (connection,) = result.connections.to_dicts()
    stream = analysis.streams.filter(connection=0, direction="down").row(0, named=True)
    assert stream["bytes"] == connection["bytes_delivered"] == 6_000_000
    assert stream["goodput_bps"] == pytest.approx(connection["goodput_bps"], rel=0.01)
    flows = analysis.flows.filter(connection=0, direction="down")
    subflows = result.subflows.to_dicts()
    # Order of joining, as the engine's.
    assert flows.height == len(subflows) == 2
    for flow, subflow in zip(flows.to_dicts(), subflows, strict=True):
        assert flow["share"] == pytest.approx(subflow["share"], abs=0.01)
        assert flow["retransmissions"] == pytest.approx(subflow["retransmissions"], rel=0.01, abs=1)
    assert set(analysis.subflows["join_hmac"].drop_nulls()) == {"valid"}
    # 6 MB that nobody had to read from the packets' content.
    assert flows["bytes"].sum() == 6_000_000
    if shutil.which("tshark"):
        for file in files:
            # The content looks random, and now and then like Thrift.
            command = ["tshark", "-r", str(file), "--disable-heuristic", "thrift_tcp"]
            command += ["-Y", "_ws.malformed || _ws.expert.severity >= 0x00800000"]
            assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == ""


def test_captured_packets_are_those_of_the_links(tmp_path: Path) -> None:
    """In virtual time: what the server's interfaces sent is what the links were given."""
    scenario = Scenario.from_toml(TWO_PATHS, "virtual.toml", [])
    result = mptcplab.run(scenario, capture=Capture(tmp_path))
    analysis = mptcplab.analyze(sorted(tmp_path.glob("server-*.pcapng")))
    assert analysis.flows["segments_sent"].sum() == result.subflows["segments_sent"].sum()
    assert analysis.streams.filter(pl.col("direction") == "down")["bytes"].item() == 6_000_000
