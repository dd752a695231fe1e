"""The generated network in the simulator."""

from pathlib import Path

import mptcplab
import pytest
from mptcplab import Scenario

SCENARIO = Path(__file__).parents[2] / "scenarios" / "fat-tree.toml"


def goodput_bps(*overrides: str) -> float:
    result = mptcplab.run(Scenario.load(SCENARIO, overrides))
    # The packet under way when the warm-up ends counts as a whole: 1500 bytes of 3 s.
    assert result.links["utilization"].is_between(0, 1.0002).all()
    total: float = result.connections["goodput_bps"].sum()
    return total


def test_subflows_find_the_capacity_that_single_paths_miss() -> None:
    tcp = goodput_bps("traffic.protocol=tcp")
    # Which flows collide is drawn: one seed has 0.79 to 0.86 of the capacity.
    mptcp = sum(goodput_bps(f"seed={seed}") for seed in (1, 2, 3)) / 3
    capacity = 16 * 100e6
    assert 0.45 * capacity < tcp < 0.75 * capacity
    assert 0.8 * capacity < mptcp < capacity * 1420 / 1500


def test_one_flow_alone_crosses_six_links() -> None:
    """A stride of half the tree crosses the core; a file of one segment meets nobody."""
    overrides = ["traffic.kind=stride", "traffic.stride=8", "traffic.protocol=tcp", "traffic.start=0 s"]
    overrides += ['traffic.application={ kind = "file", size = "1 kB" }', "measure.warmup=0 s"]
    result = mptcplab.run(Scenario.load(SCENARIO, overrides))
    # Six links of 20 us and 100 Mbit/s: SYN and SYN/ACK 60 bytes, the data with the last ACK 1052, 80 ns a byte.
    each_way_us = 6 * (20 + 60 * 0.08)
    expected_s = (2 * each_way_us + 6 * (20 + 1052 * 0.08)) * 1e-6
    # Where two meet in a switch, one waits for a packet of the other on each of their ways.
    times = result.connections["completion_s"]
    assert times.min() == pytest.approx(expected_s, abs=1e-12)
    assert times.max() < expected_s + 16 * 6 * 1052 * 0.08e-6  # type: ignore[operator]


def test_an_oversubscribed_core_is_the_bottleneck() -> None:
    # 16 hosts, 4 pods; between them 4 · 100/4 Mbit/s leave each pod. Stride 4 sends everything to the next pod.
    total = goodput_bps("topology.oversubscription=4.0", "traffic.kind=stride", "traffic.stride=4")
    assert 0.75 * 400e6 < total < 400e6 * 1420 / 1500
    rate = mptcplab.run(Scenario.load(SCENARIO, ["traffic.kind=stride", "traffic.stride=1", "traffic.protocol=tcp"]))
    inside = rate.connections.filter(rate.connections["name"].is_in(["host-0>host-1", "host-2>host-3"]))
    assert inside["goodput_bps"].min() > 90e6  # type: ignore[operator]  # under one switch nobody is in the way


def test_short_flows_are_later_where_long_ones_fill_the_core() -> None:
    short = Path(SCENARIO).with_name("fat-tree-short-flows.toml")
    with_long = mptcplab.run(Scenario.load(short, ["duration=2 s"])).connections
    alone = mptcplab.run(Scenario.load(short, ["duration=2 s", "traffic.long.start=1.99 s"])).connections
    flows = [each.filter(each["name"].str.starts_with("short ")) for each in (with_long, alone)]
    assert [len(each) for each in flows] == [43, 43]
    begun, complete = (
        sum(each[column].sum() for each in flows) for column in ("transfers_begun", "transfers_complete")
    )
    # 43 hosts, 5 a second, for the second after the warm-up, twice; what is begun in the last moments is not complete.
    assert abs(begun - 430) < 5 * 430**0.5
    assert 0.8 * begun < complete <= begun
    late, early = (each["transfer_times_s"].explode().drop_nulls().mean() for each in flows)
    # 70 kB take 5.8 ms at 100 Mbit/s, and three round trips before.
    assert 0.006 < early < 0.03  # type: ignore[operator]
    assert late > 1.5 * early  # type: ignore[operator]
