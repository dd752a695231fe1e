"""The networks of a study as files, which give the item's numbers."""

import tomllib
from pathlib import Path

import mptcplab
import polars as pl
import pytest
from mptcplab import Scenario, ScenarioError, Sweep
from mptcplab.errors import Error
from mptcplab.reproduce import load_paper
from mptcplab.reproduce.export import _Point, _write, export

SHORT = """
duration = "1 s"
seed = 4
[link.one]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "20 packets"
[connection.m]
paths = ["one"]
"""


def test_the_files_pass_check_and_their_sweep_gives_the_items_numbers(tmp_path: Path) -> None:
    paper = load_paper("khalili-2013")
    written = export(paper, "table-2", tmp_path / "files", tmp_path / "out", quick=True, jobs=2)
    scenarios = [file for file in written if "sweep" not in file.name]
    titles = {Scenario.load(file).title for file in scenarios}
    assert "Table II: upgraded False, longer True" in titles
    assert len(scenarios) == len(titles) == 5, "three on sim and two on the engine model"
    sweep = next(file for file in written if "sweep" in file.name and 'engine = "sim"' in file.read_text())
    dataset = mptcplab.sweep(Sweep.load(sweep), out=tmp_path / "dataset", jobs=2)
    claims = mptcplab.reproduce("khalili-2013", items=["table-2"], quick=True, out=tmp_path / "out").claims
    found = dict(zip(claims["claim"], claims["found"], strict=True))
    before = dataset.connections.filter(pl.col("scenario") == "table-2-1.toml")
    for name in ("blue", "red"):
        rate = before.filter(pl.col("name") == name)["goodput_bps"].mean()
        assert isinstance(rate, float)
        assert str(found[f"{name}-before"]).startswith(f"{rate / 1e6:.2f} "), found


def test_seeds_that_are_not_consecutive_have_files_of_their_own(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(SHORT, "short.toml")
    points = [_Point(scenario, {"n": 1}, "sim", {3, 4, 5, 9}), _Point(scenario, {"n": 2}, "sim", {9})]
    written = _write(tmp_path, "figure-1", "Figure 1", points)
    seeds = {file.name: Scenario.load(file).seed for file in written if "sweep" not in file.name}
    assert seeds == {"figure-1-1.toml": 3, "figure-1-2.toml": 9, "figure-1-3.toml": 9}
    sweeps = [tomllib.loads(file.read_text()) for file in written if "sweep" in file.name]
    assert [(each["repeat"], each["scenario"]) for each in sweeps] == [
        (3, ["figure-1-1.toml"]),
        (1, ["figure-1-2.toml", "figure-1-3.toml"]),
    ]


@pytest.mark.parametrize(
    ("item", "told"), [("figure-4", "Figure 4 is calculated, not run"), ("figure-400", "has no item")]
)
def test_what_cannot_be_exported_leaves_nothing(tmp_path: Path, item: str, told: str) -> None:
    with pytest.raises(Error, match=told):
        export(load_paper("khalili-2013"), item, tmp_path / "files", tmp_path / "out", quick=True)
    assert not (tmp_path / "files").exists()


def test_a_directory_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(Error, match="is not an empty directory"):
        export(load_paper("khalili-2013"), "table-2", tmp_path, tmp_path / "out", quick=True)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def sweep_of(tmp_path: Path, text: str) -> Sweep:
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text(SHORT.replace("10 Mbit/s", "5 Mbit/s" if name == "b" else "10 Mbit/s"))
    (tmp_path / "sweep.toml").write_text(text)
    return Sweep.load(tmp_path / "sweep.toml")


def test_a_sweep_runs_several_scenarios_and_keeps_them(tmp_path: Path) -> None:
    text = 'scenario = ["a.toml", "b.toml"]\nrepeat = 2\n[variant]\n"link.one.delay" = ["10 ms", "20 ms"]\n'
    dataset = mptcplab.sweep(sweep_of(tmp_path, text), out=tmp_path / "out", jobs=1)
    rows = dataset.connections.group_by("scenario", "link.one.delay").len().sort("scenario", "link.one.delay")
    assert rows.rows() == [
        ("a.toml", "10 ms", 2),
        ("a.toml", "20 ms", 2),
        ("b.toml", "10 ms", 2),
        ("b.toml", "20 ms", 2),
    ]
    kept = [Scenario.load(file) for file in sorted((tmp_path / "out" / "scenarios").iterdir())]
    assert kept == [Scenario.load(tmp_path / "a.toml"), Scenario.load(tmp_path / "b.toml")]
    mptcplab.sweep(sweep_of(tmp_path, text), out=tmp_path / "out", jobs=1, resume=True)
    assert len(list((tmp_path / "out" / "scenarios").iterdir())) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("scenario = []", "expected each scenario once, one at least"),
        ('scenario = ["a.toml", "a.toml"]', "expected each scenario once, one at least"),
        ('scenario = ["a.toml", "c.toml"]', "and there is no"),
        ('scenario = ["a.toml", 5]', "found 5"),
        ('scenario = "a.toml"\n[variant]\nscenario = ["a.toml"]', "another key of the scenario"),
    ],
)
def test_what_is_wrong_with_several_scenarios(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        sweep_of(tmp_path, text)
    assert told in str(refused.value)
