"""Links with different MTUs on real packets: the kernel's segments and ours are as long as the path takes."""

import mptcplab
import pytest
from mptcplab.scenario import Scenario

from tests.live.real_engines import REAL
from tests.simulated.test_mtu import PAYLOADS, TWO


@pytest.mark.parametrize("engine", REAL)
def test_segments_are_as_long_as_their_path_takes(engine: str) -> None:
    check_segments(mptcplab.run(Scenario.from_toml(TWO, "mtu.toml", ["duration=6 s"]), engine=engine))


def check_segments(result: mptcplab.Result) -> None:
    """Each path's share of 10 MB took as many segments as its MTU says."""
    assert result.connections["bytes_delivered"][0] == 10_000_000
    subflows = result.subflows.to_dicts()
    assert {each["path"] for each in subflows} == set(PAYLOADS)
    for subflow in subflows:
        sent = subflow["segments_sent"] - subflow["retransmissions"] - (subflow["reinjections"] or 0)
        whole = subflow["share"] * 10_000_000 / PAYLOADS[subflow["path"]]
        # The kernel's bursts end with a short segment, and its reinjections are not told from first transmissions.
        assert 0.97 * whole < sent < 1.15 * whole + 2, subflow
