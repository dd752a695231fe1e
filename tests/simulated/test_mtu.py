"""Paths with different MTUs: each subflow's segments fit its own path, and whole ones follow each other."""

import mptcplab
import pytest
from mptcplab.scenario import Scenario

TWO = """
duration = "10 s"
[link.dsl]
rate  = "16 Mbit/s"
delay = "10 ms"
queue = "100 ms"
mtu   = "1492 B"
[link.tunnel]
rate  = "16 Mbit/s"
delay = "15 ms"
queue = "100 ms"
mtu   = "1280 B"
[connection.m]
paths       = ["dsl", "tunnel"]
congestion  = "reno"
application = { kind = "file", size = "10 MB" }
"""
PAYLOADS = {"dsl": 1492 - 40 - 40, "tunnel": 1280 - 40 - 40}
"""Behind the headers, and timestamps and a DSS of 28 bytes."""


def run(*overrides: str) -> mptcplab.Result:
    return mptcplab.run(Scenario.from_toml(TWO, "mtu.toml", overrides))


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("scheduler", ["min-rtt", "round-robin", "linux"])
def test_segments_fit_their_path_and_there_is_no_run_of_remainders(direction: str, scheduler: str) -> None:
    """A path's share of 10 MB takes as many whole segments as the MTU says, and hardly one more. The kernel's scheduler
    cuts at the ends of its bursts, also where the MTUs are equal: real kernels send some 5 % more.
    """
    result = run(f"connection.m.direction={direction}", f"connection.m.scheduler={scheduler}")
    (row,) = result.connections.to_dicts()
    assert row["bytes_delivered"] == 10_000_000
    for subflow in result.subflows.to_dicts():
        sent = subflow["segments_sent"] - subflow["retransmissions"] - subflow["reinjections"]
        whole = subflow["share"] * 10_000_000 / PAYLOADS[subflow["path"]]
        assert 0.98 * whole < sent < (1.1 if scheduler == "linux" else 1.02) * whole + 2, subflow


@pytest.mark.parametrize(("mtu", "payload"), [(1500, 1448), (1280, 1228), (576, 524)])
def test_headers_take_their_part(mtu: int, payload: int) -> None:
    """A full link carries headers of 52 bytes with each segment of TCP."""
    result = run(
        "connection.m.protocol=tcp",
        'connection.m.paths=["dsl"]',
        "connection.m.application=bulk",
        f"link.dsl.mtu={mtu} B",
        "measure.warmup=2 s",
    )
    assert result.connections["goodput_bps"][0] == pytest.approx(16e6 * payload / mtu, rel=0.005)


def test_a_larger_mtu_than_the_hosts_changes_nothing() -> None:
    assert run("link.dsl.mtu=9000 B", "link.tunnel.mtu=1500 B").connections["completion_s"][0] == pytest.approx(
        run("link.dsl.mtu=1500 B", "link.tunnel.mtu=1500 B").connections["completion_s"][0]
    )


def test_an_mss_is_an_mtu_without_the_headers() -> None:
    by_mss = [each for name, size in (("dsl", 1452), ("tunnel", 1240)) for each in (f"link.{name}.mss={size} B",)]
    asked = Scenario.from_toml(TWO.replace('mtu   = "1492 B"', "").replace('mtu   = "1280 B"', ""), "mss.toml", by_mss)
    assert mptcplab.run(asked).subflows.equals(run().subflows)


def test_the_shortest_link_of_a_path_counts() -> None:
    """The second link's router lowers the MSS further, or leaves it."""
    far = '{ links = ["dsl", "tunnel"] }'
    result = run(f"path.far={far}", 'connection.m.paths=["far"]', "connection.m.protocol=tcp")
    (subflow,) = result.subflows.to_dicts()
    assert subflow["segments_sent"] - subflow["retransmissions"] == -(-10_000_000 // 1228)


def test_a_black_hole_costs_its_subflow_and_not_the_transfer() -> None:
    """SYNs pass, full segments do not; what was on the way is sent again on the other path."""
    hole = ["link.tunnel.mtu=1500 B", 'link.tunnel.middleboxes=[{ kind = "mtu-filter", size = "1280 B" }]']
    result = run(*hole)
    (row,) = result.connections.to_dicts()
    assert row["bytes_delivered"] == 10_000_000
    shares = {each["path"]: each["share"] for each in result.subflows.to_dicts()}
    assert shares.get("tunnel", 0.0) < 0.001
    # With the MSS lowered before it, nothing is lost.
    mended = run(*hole, "link.tunnel.mtu=1280 B")
    assert mended.connections["completion_s"][0] == pytest.approx(run().connections["completion_s"][0])
