"""`mptcplab.run`: seeds, jobs, progress, errors, interruption."""

import inspect
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import mptcplab
import pytest
from mptcplab import Scenario, _core, registry
from mptcplab.engines import catalogue, runner

Outcomes = Callable[[Mapping[str, Any]], Any]

PLAIN = """
duration = "10 s"

[link.one]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 packets"

[connection.c]
paths = ["one"]
protocol = "tcp"
congestion = "reno"

[measure]
warmup = "1 s"
"""


def test_a_seed_replaces_that_of_the_scenario(scenario: Scenario, made_up_core: None) -> None:
    result = mptcplab.run(scenario, seed=3)
    assert result.provenance.seed == 3
    assert result.connections["seed"].to_list() == [3, 3, 3]
    assert result.scenario.seed == 3, "the scenario as run says so"


def test_repeat_counts_the_seeds_up(scenario: Scenario, made_up_core: None) -> None:
    result = mptcplab.run(scenario, repeat=3)
    keys = result.links.select("repeat", "seed").unique(maintain_order=True).rows()
    assert keys == [(0, 7), (1, 8), (2, 9)]


def test_jobs_do_not_change_the_result(scenario: Scenario, made_up_core: None) -> None:
    one, four = mptcplab.run(scenario, repeat=6, jobs=1), mptcplab.run(scenario, repeat=6, jobs=4)
    assert one.to_json() == four.to_json()
    assert one.samples.equals(four.samples)


def test_progress_rises_to_one(scenario: Scenario, made_up_core: None) -> None:
    seen: list[float] = []
    mptcplab.run(scenario, repeat=2, progress=seen.append)
    assert seen == [0.25, 0.5, 0.75, 1.0]


def test_an_engine_nobody_knows_is_wrong_input(scenario: Scenario) -> None:
    with pytest.raises(mptcplab.UnknownEngineError, match="no engine 'ns2'; choose from sim, model, stack, linux"):
        mptcplab.run(scenario, "ns2")


def test_registry_and_catalogue_agree_on_the_engines() -> None:
    # What one that runs kernels can do depends on the kernel, so that no row of the registry can say it.
    catalogued = {name for name, engine in catalogue.ENGINES.items() if not engine.kernels}
    assert set(registry.ENGINES) == catalogued


@pytest.mark.parametrize("engine", catalogue.ALL.values(), ids=lambda engine: engine.name)
def test_an_engine_takes_what_its_row_says(engine: catalogue.Engine) -> None:
    """`runner` and `unsupported` are found by the name of a module: here each row's is loaded."""
    takes = inspect.signature(engine.runner).parameters
    assert ("capture" in takes) == engine.captures
    assert {"seed", "progress", "through_wire", *engine.arguments} <= set(takes)
    # Between machines of one's own a scenario has to say which.
    scenario = Scenario.load("testbed-a-wifi") if engine.name in catalogue.REMOTE else Scenario.from_toml(PLAIN)
    assert engine.unsupported(scenario) == []


@pytest.mark.parametrize("wrong", [{"repeat": 0}, {"jobs": 0}])
def test_counts_are_at_least_one(scenario: Scenario, wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        mptcplab.run(scenario, **wrong)  # type: ignore[arg-type]


def test_what_the_simulator_cannot_run_is_refused(scenario: Scenario) -> None:
    program = '{ kind = "program", client = "true", server = "true" }'
    changed = scenario.with_(f"connection.download.application={program}")
    with pytest.raises(mptcplab.UnsupportedError) as refused:
        mptcplab.run(changed)
    assert "program" in str(refused.value.problems[0])


def test_a_failed_run_ends_the_series(
    scenario: Scenario, made_up_outcome: Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulate(description: str, progress: object = None) -> Any:
        parsed = json.loads(description)
        if parsed["seed"] == 8:
            raise mptcplab.SimulationError("made up")
        return made_up_outcome(parsed)

    monkeypatch.setattr(_core, "simulate", simulate)
    with pytest.raises(mptcplab.SimulationError, match="made up"):
        mptcplab.run(scenario, repeat=3)


def test_an_interruption_keeps_what_is_finished(
    scenario: Scenario, made_up_outcome: Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C arrives during the second of three runs, where the core raises it; the third never begins."""
    begun: list[int] = []

    def simulate(description: str, progress: Callable[[float], None] | None = None) -> Any:
        parsed = json.loads(description)
        begun.append(parsed["seed"])
        if parsed["seed"] == 8:
            raise KeyboardInterrupt
        return made_up_outcome(parsed)

    monkeypatch.setattr(_core, "simulate", simulate)
    with pytest.raises(mptcplab.Interrupted, match="interrupted after 1 of 3 runs") as stopped:
        mptcplab.run(scenario, repeat=3)
    assert begun == [7, 8]
    assert stopped.value.finished is not None
    assert stopped.value.finished.connections["seed"].unique().to_list() == [7]


def test_an_interruption_of_several_jobs_keeps_what_is_finished(
    scenario: Scenario, made_up_outcome: Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C arrives while two of four runs are on their way; they end early, the last never begins."""
    begun: list[int] = []
    two = threading.Barrier(3)

    def simulate(description: str, progress: Callable[[float], None] | None = None) -> Any:
        parsed = json.loads(description)
        begun.append(parsed["seed"])
        if parsed["seed"] > 7:
            two.wait()
            while True:  # until the progress call raises, as the core does
                time.sleep(0.001)
                assert progress is not None
                progress(1.0)
        return made_up_outcome(parsed)

    def wait(*_: Any, **__: Any) -> Any:
        two.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(_core, "simulate", simulate)
    monkeypatch.setattr(runner, "wait", wait)
    with pytest.raises(mptcplab.Interrupted, match="interrupted after 1 of 4 runs") as stopped:
        mptcplab.run(scenario, repeat=4, jobs=2)
    assert sorted(begun) == [7, 8, 9]
    assert stopped.value.finished is not None
    assert stopped.value.finished.connections["seed"].unique().to_list() == [7]


def test_provenance_names_what_has_to_be_known(scenario: Scenario, made_up_core: None) -> None:
    origin = mptcplab.run(scenario).provenance
    assert origin.version == mptcplab.__version__
    assert origin.scenario_sha256 == scenario.sha256()
    assert {"numpy", "polars"} <= origin.packages.keys()
