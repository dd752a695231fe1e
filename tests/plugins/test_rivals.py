"""The rivals of Dong 2018, §3, as plug-ins: each conforms, runs, and does its one characteristic thing."""

import importlib.util
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mptcplab
import pytest
from mptcplab import testing
from mptcplab.plugins import Wait
from mptcplab.scenario import Scenario

FILE = Path(__file__).parents[2] / "examples" / "plugins" / "rivals.py"
NAMES = (
    "FreezeSlow",
    "HighestSendingRate",
    "LargestWindowSpace",
    "LowestTimeSpace",
    "Constraint",
    "PacketScatter",
)
NEW = SimpleNamespace(is_new=True, tried=frozenset())


def rival(name: str) -> Any:
    spec = importlib.util.spec_from_file_location("rivals", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def subflow(number: int, srtt_ms: float, cwnd: float, in_flight: int) -> SimpleNamespace:
    return SimpleNamespace(
        id=number,
        srtt_ns=int(srtt_ms * 1e6),
        cwnd=cwnd,
        in_flight=in_flight,
        mss=1400,
        active=True,
        backup=False,
        potentially_failed=False,
        usable=in_flight < cwnd,
    )


def context(window: int = 10**6) -> SimpleNamespace:
    return SimpleNamespace(now_ns=0, free_window_bytes=window)


@pytest.mark.parametrize("name", NAMES)
def test_each_conforms(name: str) -> None:
    testing.check_scheduler(rival(name))


@pytest.mark.parametrize("name", NAMES)
def test_each_carries_a_file_over_two_paths_with_loss(name: str, network: str) -> None:
    given = [
        f'connection.download.scheduler={{ plugin = "{FILE}:{name}" }}',
        'connection.download.application={ kind = "file", size = "1 MB" }',
        'duration="60 s"',
    ]
    result = mptcplab.run(Scenario.from_toml(network, overrides=given))
    assert result.connections["bytes_delivered"].to_list() == [1_000_000]


@pytest.mark.parametrize(("gap_ms", "chosen"), [(79, None), (81, 1)])
def test_a_path_that_is_too_slow_is_frozen(gap_ms: float, chosen: int | None) -> None:
    """20 ms and full, 100 ms with room."""
    decision = rival("FreezeSlow")(gap_ms=gap_ms).choose(
        NEW, [subflow(0, 20, 10, 10), subflow(1, 100, 10, 0)], context()
    )
    assert decision == chosen if chosen is not None else isinstance(decision, Wait)


@pytest.mark.parametrize(
    ("name", "chosen"), [("HighestSendingRate", 1), ("LargestWindowSpace", 2), ("LowestTimeSpace", 0)]
)
def test_rate_space_and_time_over_space_choose_otherwise(name: str, chosen: int) -> None:
    """Windows over RTT 0.5, 1 and 0.2 a ms; room 9, 1 and 20; RTT over room 2.2, 40 and 5 ms."""
    three = [subflow(0, 20, 10, 1), subflow(1, 40, 40, 39), subflow(2, 100, 20, 0)]
    assert rival(name)().choose(NEW, three, context()) == chosen


@pytest.mark.parametrize(("window", "waits"), [(27_999, True), (28_000, False)])
def test_what_overtakes_the_slow_path_must_fit_the_window(window: int, waits: bool) -> None:
    """(100 - 20)/2 ms of ten segments of 1400 bytes every 20 ms: 28,000 bytes."""
    two = [subflow(0, 20, 10, 10), subflow(1, 100, 10, 0)]
    decision = rival("Constraint")().choose(NEW, two, context(window))
    assert isinstance(decision, Wait) if waits else decision == 1


def test_packets_are_scattered() -> None:
    scatter = rival("PacketScatter")()
    scatter.random = random.Random(1)
    four = [subflow(number, 10 * (number + 1), 10, 0) for number in range(4)]
    drawn = [scatter.choose(NEW, four, context()) for _ in range(4000)]
    assert all(900 < drawn.count(number) < 1100 for number in range(4))
