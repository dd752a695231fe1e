"""The contract suites on plug-ins: the examples conform, and what is broken is caught."""

import importlib.util
from pathlib import Path
from typing import Any

import mptcplab
import pytest
from mptcplab import testing
from mptcplab.plugins import (
    Bind,
    CongestionControl,
    Join,
    PathManager,
    PluginError,
    Rule,
    Scheduler,
    Send,
    Subflows,
    Window,
)
from mptcplab.scenario import Scenario

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_examples_conform() -> None:
    testing.check_congestion_control(example("reno").Reno)
    testing.check_scheduler(example("min_rtt").MinRtt)
    testing.check_path_manager(example("fullmesh").Fullmesh)
    testing.check_path_manager(example("fullmesh").Fullmesh, attempts=2)


class Vegas(CongestionControl):
    """Enough of a whole control: one segment a window, half on loss."""

    def __init__(self, *, growth: float = 1.0) -> None:
        self.growth = growth

    def on_ack(self, subflows: Subflows, r: int, ack: Any) -> Window:
        view = subflows[r]
        more = self.growth * ack.acked_segments / view.cwnd if ack.cwnd_limited else 0
        return Window(view.cwnd + more, view.ssthresh)

    def on_loss(self, subflows: Subflows, r: int, now_ns: int) -> float:
        return max(subflows[r].cwnd / 2, 2.0)


def test_a_whole_control_conforms_or_does_not() -> None:
    testing.check_congestion_control(Vegas)
    with pytest.raises(AssertionError, match=r"Vegas: step \d+: a window grows by no more than was acknowledged"):
        testing.check_congestion_control(Vegas, growth=1000.0)


class Rises(Rule):
    def increase(self, subflows: Subflows, r: int) -> float:
        return 0.0

    def decrease(self, subflows: Subflows, r: int) -> float:
        return subflows[r].cwnd * 2


class Random(Rule):
    """Has a state that objects share."""

    calls = 0

    def increase(self, subflows: Subflows, r: int) -> float:
        Random.calls += 1
        return 1 / (Random.calls + 1)


class Backups(Scheduler):
    """Sends on backups too."""

    def choose(self, demand: Any, subflows: Subflows, context: Any) -> int | Send | None:
        return next((each.id for each in reversed(list(subflows)) if each.usable), None)


class Eager(PathManager):
    def on_event(self, event: Any, context: Any) -> list[Any]:
        return [Join(0, 0)]


def test_what_is_broken_is_caught() -> None:
    with pytest.raises(AssertionError, match="a loss does not raise the window"):
        testing.check_congestion_control(Rises)
    with pytest.raises(AssertionError, match=r"the same operations give the same|joins again starts afresh"):
        testing.check_congestion_control(Random)
    with pytest.raises(AssertionError, match="a backup carries data only where no other subflow works"):
        testing.check_scheduler(Backups)
    with pytest.raises(AssertionError, match=r"a path that was closed for good is not tried again"):
        testing.check_path_manager(Eager)


class Raises(Rule):
    def increase(self, subflows: Subflows, r: int) -> float:
        raise ValueError("never")


def test_a_call_that_raises_and_another_kind() -> None:
    with pytest.raises(PluginError, match=r"the congestion control Raises, called at .* failed in increase: ValueErr"):
        testing.check_congestion_control(Raises)
    with pytest.raises(TypeError, match="Rises does not derive from Scheduler"):
        testing.check_scheduler(Rises)  # type: ignore[arg-type]


class Ahead(Scheduler):
    """Binds all data to the subflow of the smallest RTT, whatever its window."""

    def choose(self, demand: Any, subflows: Subflows, context: Any) -> Bind | None:
        works = [each for each in subflows if each.active and not each.potentially_failed]
        usual = [each for each in works if not each.backup] or works
        fresh = [each for each in usual if each.id not in demand.tried] or usual
        best = min(fresh, key=lambda each: each.srtt_ns, default=None)
        assert context.available_bytes > 0
        return None if best is None else Bind(best.id, context.available_bytes)


class Both(Ahead):
    """Everything on every subflow that has room."""

    def choose(self, demand: Any, subflows: Subflows, context: Any) -> Send | None:  # type: ignore[override]
        able = [each for each in subflows if each.usable]
        usual = [each.id for each in able if not each.backup]
        return Send(usual) if usual else None


def test_binding_ahead_conforms() -> None:
    testing.check_scheduler(Ahead)


def test_binding_and_sets_carry_data(network: str) -> None:
    """A download with all data bound ahead, and one whose segments go over both paths."""
    source = EXAMPLES.parents[1] / "tests" / "plugins" / "network.toml"
    file = Path(__file__).name
    goodput = {}
    for name in ("Ahead", "Both"):
        override = f'connection.download.scheduler={{ plugin = "{file}:{name}" }}'
        result = mptcplab.run(Scenario.from_toml(network, str(source), [override]))
        goodput[name] = result.connections["goodput_bps"][0]
    # The same over both paths is at most the faster one's rate.
    assert 1e6 < goodput["Both"] < 20e6
    assert goodput["Ahead"] > 1e6


class Draws(Scheduler):
    """Any that can take a segment, by its own random numbers: two objects of one seed draw the same."""

    def choose(self, demand: Any, subflows: Subflows, context: Any) -> int | None:
        working = [each for each in subflows if each.active and not each.potentially_failed]
        able = [each for each in subflows if each.usable and (not each.backup or all(w.backup for w in working))]
        fresh = [each for each in able if each.id not in demand.tried] or able
        return self.random.choice(fresh).id if fresh else None


def test_random_numbers_belong_to_the_seed() -> None:
    testing.check_scheduler(Draws)
