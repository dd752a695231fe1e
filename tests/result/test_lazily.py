"""What a run leaves for later, and what a scenario is asked only once: neither may be seen from outside."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from mptcplab import Result, Scenario, ScenarioError, _core, run
from mptcplab.results import laws
from mptcplab.results.columns import FRAMES, polars_schema
from mptcplab.results.run_frames import OutcomeTables
from mptcplab.scenario import canonical, describe, load

SCENARIOS = Path(__file__).parents[2] / "scenarios"
WITH_TRANSFERS = """
[connection.pages]
paths = ["lte"]
application = { kind = "requests", size = "8 kB", limit = "3 s" }
"""


@pytest.fixture
def real(scenario_file: Path) -> Result:
    """Three runs with samples, one of whose connections has columns of lists."""
    scenario_file.write_text(scenario_file.read_text(encoding="utf-8") + WITH_TRANSFERS, encoding="utf-8")
    return run(Scenario.load(scenario_file), repeat=3)


@pytest.mark.parametrize("name", FRAMES)
def test_the_frame_of_all_runs_is_that_of_each_run_by_run(real: Result, name: str) -> None:
    schema = polars_schema(name)
    each = [
        getattr(one, name).select(
            pl.lit(number, dtype=schema["repeat"]).alias("repeat"),
            pl.lit(one.seed, dtype=schema["seed"]).alias("seed"),
            pl.all(),
        )
        for number, one in real.runs
    ]
    whole = getattr(real, name)
    # A control's own columns, such as LIA's α, follow.
    assert list(whole.schema.items())[: len(schema)] == list(schema.items())
    assert whole.height > 0
    assert whole.equals(pl.concat(each))
    assert getattr(real.runs[0][1], name) is getattr(real.runs[0][1], name), "made once"


def test_nothing_is_made_before_it_is_asked_for(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(laws, "check", lambda *_: None)  # which looks at every run's rows, and keeps none
    monkeypatch.setattr(OutcomeTables, "frame", lambda _, name: asked.append(name) or pl.DataFrame())
    monkeypatch.setattr(OutcomeTables, "rows", lambda _, name: asked.append(name))
    run(scenario, repeat=2)
    assert [name for name in asked if name not in ("connections", "subflows", "links")] == []


@pytest.mark.parametrize("seen", [(), ("links", "samples"), tuple(FRAMES)])
def test_a_result_survives_pickling_and_copying(real: Result, seen: tuple[str, ...]) -> None:
    for name in seen:
        for _, one in real.runs:
            getattr(one, name)
    for other in (pickle.loads(pickle.dumps(real)), copy.copy(real), copy.deepcopy(real)):
        assert other == real
        assert other.to_json() == real.to_json()
        assert other.samples.equals(real.samples)
        assert other.scenario.description() == real.scenario.description(), "the scenario too"
    assert run(other.scenario, repeat=3) == real


def test_results_are_equal_when_all_that_was_found_is(scenario: Scenario) -> None:
    one = run(scenario, repeat=2)
    assert one == run(scenario, repeat=2)
    assert one.runs[0][1] != one.runs[1][1]
    lossy = scenario.with_("link.wifi.loss=1 %")
    assert one.runs[0][1] != run(lossy).runs[0][1]


def test_another_seed_is_as_if_it_stood_in_the_file(scenario: Scenario) -> None:
    text = scenario.to_toml()
    for seed in (0, 12, 2**64 - 1):
        quick, thorough = scenario.with_(seed=seed), scenario.with_(f"seed={seed}")
        assert (quick.seed, quick.to_toml(), quick.sha256()) == (seed, thorough.to_toml(), thorough.sha256())
        assert quick == thorough
        assert quick.description() == thorough.description()
        again = (each.with_("link.wifi.rate=1 Mbit/s") for each in (quick, thorough))
        assert len({each.to_toml() for each in again}) == 1
        assert run(quick).to_json() == run(thorough).to_json() == run(scenario, seed=seed).to_json()
    assert scenario.to_toml() == text, "the scenario itself keeps its seed"


@pytest.mark.parametrize("wrong", [-1, 2**64, 1.5, True, "x"])
def test_a_seed_that_is_none_is_told_as_ever(scenario: Scenario, wrong: Any) -> None:
    with pytest.raises(ScenarioError, match="seed: found ") as told:
        run(scenario, seed=wrong)
    with pytest.raises(ScenarioError) as as_ever:
        scenario.with_({"seed": wrong})
    assert str(told.value) == str(as_ever.value)


# Of programs the core is told nothing.
_SIMULATED = [file for file in sorted(SCENARIOS.glob("*.toml")) if 'kind   = "program"' not in file.read_text("utf-8")]


@pytest.mark.parametrize("file", _SIMULATED, ids=lambda file: file.stem)
def test_the_core_is_told_the_complete_description(
    file: Path, monkeypatch: pytest.MonkeyPatch, made_up_outcome: Any
) -> None:
    scenario = Scenario.load(file)
    told: list[Any] = []

    def simulate(description: str, progress: object = None) -> Any:
        told.append(json.loads(description))
        return made_up_outcome(told[-1])

    monkeypatch.setattr(_core, "simulate", simulate)
    monkeypatch.setattr(laws, "check", lambda *_: None)  # the numbers are made up
    if scenario.document.topology is not None:
        scenario = scenario.with_("topology.k=4")
    for through_wire in (False, True):
        run(scenario, repeat=2, seed=4, through_wire=through_wire)
    expected = [scenario.description(seed, through_wire) for through_wire in (False, True) for seed in (4, 5)]
    assert told == json.loads(json.dumps(expected))


def test_a_scenario_is_read_and_described_once(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    described: list[int] = []
    written: list[str] = []
    description, around_seed = describe.description, canonical.around_seed

    def count(document: Any, seed: int, through_wire: bool) -> Any:
        described.append(seed)
        return description(document, seed, through_wire)

    def note(document: Any) -> Any:
        written.append(document.title)
        return around_seed(document)

    def read(*_: Any) -> None:
        raise AssertionError("it has been found right")

    monkeypatch.setattr(describe, "description", count)
    monkeypatch.setattr(canonical, "around_seed", note)
    monkeypatch.setattr(load, "Reader", read)
    for seed in range(3):
        run(scenario, seed=seed, repeat=2)
    # Once for the core, and once for the laws that results obey.
    assert (len(described), len(written)) == (2, 1)


def test_a_changed_scenario_is_told_anew(scenario: Scenario) -> None:
    before = run(scenario)
    slower = scenario.with_("link.lte.up.rate=1 Mbit/s")
    after = run(slower)
    assert run(Scenario.from_toml(slower.to_toml())).runs == after.runs
    assert after.runs != before.runs
    assert run(scenario) == before
