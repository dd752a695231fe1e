"""Planted differences are found and named: between two scenarios in the simulator, through the command."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mptcplab
import pytest
from mptcplab.comparison.explanation import Side, explained
from mptcplab.scenario import Scenario

from tests.networks import FAST_AND_SLOW

SCENARIO = (
    """
title = "Two paths"
duration = "1 s"
"""
    + FAST_AND_SLOW
    + """
[connection.m]
paths = ["fast", "slow"]
direction = "down"
"""
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "two.toml"
    place.write_text(SCENARIO, encoding="utf-8")
    return place


@pytest.mark.parametrize(
    ("key", "kind", "why"),
    [
        # Ten segments and four: the fifth parts them, before any acknowledgment.
        ("connection.m.tcp.initial_window=4", "initial window", "segment 5"),
        # Quick acknowledgments are alike at first; then every segment instead of every second.
        ("connection.m.tcp.segments_per_ack=1", "ACK policy", "acknowledges"),
        ("connection.m.scheduler=round-robin", "scheduler's choice", "on server (fast), the second on server (slow)"),
    ],
)
def test_a_planted_difference_is_named(call: Callable[..., Any], file: Path, key: str, kind: str, why: str) -> None:
    # The receive window is the limit. With a larger one only the path of the last acknowledgment has room.
    window = "connection.m.receive_buffer=60 kB"
    done = call("compare", file, "--engines", "sim", "--explain", "--set", window, "--vary", key, "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["first"]["kind"] == kind
    assert why in found["first"]["why"]
    assert found["first"]["alike"] > 3, "handshakes are alike"


def test_the_simulator_says_why_each_side_took_its_path(file: Path) -> None:
    small = ["connection.m.receive_buffer=60 kB"]
    scenario = Scenario.load(file, overrides=small)
    turns = Scenario.load(file, overrides=[*small, "connection.m.scheduler=round-robin"])
    found = explained(Side("one", scenario), Side("other", turns))
    assert [each.name for each in found.reasons] == ["one", "other"]
    told = ["\n".join(each.lines) for each in found.reasons]
    assert all(each.startswith("m, server at ") for each in told)
    assert "min-rtt chooses fast for new data: shortest RTT of those that can" in told[0]
    assert "round-robin chooses slow for new data" in told[1]
    assert "  why, one: m, server at " in "\n".join(found.lines())
    assert found.to_dict()["reasons"] == [{"name": each.name, "lines": list(each.lines)} for each in found.reasons]


def test_a_window_that_grows_otherwise_is_a_send_opportunity(file: Path) -> None:
    """On one path: with two, the first sign of a larger window may be that the scheduler takes the other one."""
    alone = ['connection.m.paths=["fast"]']
    reno = Scenario.load(file, overrides=[*alone, "connection.m.congestion=reno"])
    cubic = Scenario.load(file, overrides=[*alone, "connection.m.congestion=cubic"])
    found = explained(Side("reno", reno), Side("cubic", cubic))
    assert found.first is not None
    assert found.first.kind == "send opportunity"
    assert "congestion window" in found.first.why


def test_losses_part_two_seeds_by_a_retransmission_or_an_acknowledgment(file: Path) -> None:
    """The same scenario but for one lost packet: what is lost is seen by what is not acknowledged, or sent again."""
    scenario = Scenario.load(file)
    lossy = Scenario.load(file, overrides=["link.fast.down.loss=1 %"])
    found = explained(Side("clean", scenario), Side("lossy", lossy))
    assert found.first is not None
    assert found.first.kind in ("ACK policy", "retransmission")


def test_what_shifts_nothing_is_told_and_does_not_end_the_comparison(file: Path) -> None:
    scenario = Scenario.load(file)
    small = Scenario.load(file, overrides=["connection.m.receive_buffer=64 kB"])
    found = explained(Side("one", scenario), Side("other", small))
    assert [each.kind for each in found.before] == ["receive window"]
    assert found.before[0].divergence.number == 0, "the SYN announces it"
    assert found.first is not None
    assert found.first.time_s > found.before[0].time_s


def test_equal_runs_do_not_part(call: Callable[..., Any], file: Path) -> None:
    done = call("compare", file, "--engines", "sim", "--explain", "--against", file)
    assert done.status == 0
    counted = re.search(r"send the same ([0-9,]+) packets", done.out)
    assert counted is not None
    assert int(counted[1].replace(",", "")) > 500


def test_what_cannot_be_explained_is_refused(call: Callable[..., Any], file: Path) -> None:
    assert "compares two runs" in call("compare", file, "--engines", "sim", "--explain").err
    assert "compares two runs" in call("compare", file, "--explain", "--engines", "sim,model", "--vary", "seed=2").err
    assert "cannot capture packets" in call("compare", file, "--explain").err, "the engine model"
    assert "use repeat for seeds" in call("compare", file, "--vary", "seed=2").err


def test_it_is_in_python_too(file: Path) -> None:
    other = mptcplab.Scenario.load(file, overrides=["connection.m.tcp.initial_window=4"])
    found = explained(Side("ten", mptcplab.Scenario.load(file)), Side("four", other))
    assert found.lines()[0].endswith("initial window.")
    assert found.flights[0].sent_bytes == (4 * 1420, 4 * 1420)
