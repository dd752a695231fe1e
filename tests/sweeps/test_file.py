"""Sweep files: what they mean, and what is said of wrong ones before anything is run or written."""

from pathlib import Path

import pytest
from mptcplab import cli
from mptcplab.scenario import ScenarioError, UnsupportedError
from mptcplab.sweeps.file import Sweep
from mptcplab.sweeps.sweep import design_csv, make_plan

ROOT = Path(__file__).parents[2]


def test_the_ready_made_sweep_is_right() -> None:
    made = make_plan(Sweep.load(ROOT / "scenarios" / "sweeps" / "two-paths.toml"))
    assert (len(made.values), len(made.runs)) == (10, 40)


def test_the_ready_made_sweep_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Path(Sweep.load("two-paths").source).name == "two-paths.toml"
    with pytest.raises(ScenarioError, match='did you mean "two-paths"'):
        Sweep.load("two-path")
    (tmp_path / "two-paths").write_text('scenario = "wifi-lte"\nrepeat = 3')
    own = Sweep.load("two-paths")
    assert (own.repeat, own.scenario.title) == (3, "Wi-Fi and LTE at home")
    (tmp_path / "own.toml").write_text('scenario = "wifi-lt"')
    with pytest.raises(ScenarioError, match="the path of a scenario file"):
        Sweep.load(tmp_path / "own.toml")


def test_a_grid_takes_lists_levels_and_ranges(sweep_file: Path) -> None:
    sweep_file.write_text(
        """
scenario = "base.toml"
[design]
kind = "grid"
[factor]
"link.one.rate" = ["1 Mbit/s", "2 Mbit/s", "5 Mbit/s"]
link.two.delay = { from = "0 ms", to = "20 ms", levels = 3 }
""",
        encoding="utf-8",
    )
    made = make_plan(Sweep.load(sweep_file))
    assert design_csv(made).splitlines()[:4] == [
        "point,link.one.rate,link.two.delay",
        "0,1 Mbit/s,0 s",
        "1,1 Mbit/s,10 ms",
        "2,1 Mbit/s,20 ms",
    ]
    assert len(made.runs) == 9
    assert made.labels[4] == {"point": 4, "link.one.rate": 2e6, "link.two.delay": 0.01, "variant": "", "repeat": 0}


def test_variants_may_be_tables_and_numbers_and_are_crossed(sweep_file: Path) -> None:
    sweep_file.write_text(
        """
scenario = "base.toml"
repeat = 2
[variant]
"connection.m.congestion" = ["lia", { name = "lia", variant = "linux" }]
"connection.m.count" = [1, 3]
""",
        encoding="utf-8",
    )
    made = make_plan(Sweep.load(sweep_file))
    assert [label["variant"] for label in made.labels[::2]] == [
        "lia · 1",
        "lia · 3",
        '{"name": "lia", "variant": "linux"} · 1',
        '{"name": "lia", "variant": "linux"} · 3',
    ]
    assert [label["connection.m.count"] for label in made.labels[::2]] == [1.0, 3.0, 1.0, 3.0]
    assert len({run.name for run in made.runs}) == 8


def test_runs_are_named_by_all_that_matters_and_nothing_else(sweep_file: Path) -> None:
    names = [run.name for run in make_plan(Sweep.load(sweep_file)).runs]
    assert len(set(names)) == 20
    assert [run.name for run in make_plan(Sweep.load(sweep_file)).runs] == names
    base = sweep_file.parent / "base.toml"
    text = base.read_text(encoding="utf-8")
    base.write_text(text.replace('"5 ms"', '"5000 us"') + '[measure]\nsample = "10 ms"\n', encoding="utf-8")
    assert [run.name for run in make_plan(Sweep.load(sweep_file)).runs] == names, "the same said otherwise"
    base.write_text(text.replace('"2 s"', '"3 s"'), encoding="utf-8")
    assert not set(names) & {run.name for run in make_plan(Sweep.load(sweep_file)).runs}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"base.toml"', '"nothing.toml"', ':2: scenario: found "nothing.toml", and'),
        ('scenario = "base.toml"', "", "scenario: found nothing; expected the path of a scenario file"),
        ("repeat = 2", "repeat = 0", ":3: repeat: found 0; expected a whole number from 1 to 1000000"),
        ("repeat = 2", "repaet = 2", ':3: repaet: found an unknown key "repaet"; expected one of the keys scenario,'),
        (
            "repeat = 2",
            'engine = "simm"',
            ':3: engine: found "simm"; expected "sim", "model", "stack", "linux" or "linux-virtual"',
        ),
        (
            'kind = "lhs"',
            'kind = "wps"',
            ':6: design.kind: found "wps"; expected "wsp", "lhs", "grid", "random" or "adaptive"; did',
        ),
        ('kind = "lhs"', "", "design.kind: found nothing"),
        ("points = 5", "", "design.points: found nothing; expected the number of points"),
        ("points = 5", "points = 0", ":7: design.points: found 0"),
        ("points = 5", "points = 5\ncandidates = 9", "lhs does not use them"),
        ("points = 5", "points = 5\nlevels = 9", ':8: design.levels: found an unknown key "levels"'),
        (
            'kind = "lhs"\npoints = 5',
            'kind = "grid"\npoints = 5',
            ":7: design.points: found 5; expected a grid without it",
        ),
        ('kind = "lhs"\npoints = 5', 'kind = "wsp"\npoints = 5\ncandidates = 2', "5 points cannot be chosen among 2"),
        ('[design]\nkind = "lhs"\npoints = 5', "", "found factors without a [design]"),
        (
            '["1 ms", "25 ms"]',
            '["25 ms", "1 ms"]',
            ':11: factor."link.two.delay": found "25 ms" to "1 ms"; expected a range',
        ),
        ('["1 ms", "25 ms"]', '["1 ms", "25 kB"]', "expected two values of the same kind"),
        ('["1 ms", "25 ms"]', '["1 kB", "25 kB"]', ':11: factor."link.two.delay": found "'),
        (
            '"link.two.delay"',
            '"link.three.delay"',
            ':11: factor."link.three.delay": found "three"; expected the link "one"',
        ),
        ('"link.two.delay"', '"link.two.delya"', ':11: factor."link.two.delya": found an unknown key "delya"'),
        (
            '"link.two.delay"',
            '"seed"',
            ':11: factor.seed: found "seed"; expected another key of the scenario',
        ),
        ('["lia", "olia"]', '["lia", "oliaa"]', ':14: variant."connection.m.congestion": found "oliaa"'),
        ('["lia", "olia"]', '["lia", "lia"]', "each value once"),
        ('["lia", "olia"]', '"lia"', "an array of its values"),
        ('"connection.m.congestion" =', '"link.one.rate" =', "among the factors too"),
        ("[factor]", "[factor", "found"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    sweep_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    text = sweep_file.read_text(encoding="utf-8")
    assert old in text
    sweep_file.write_text(text.replace(old, new, 1), encoding="utf-8")
    status = cli.invoke(["sweep", str(sweep_file), "--out", str(tmp_path / "out")])
    err = capsys.readouterr().err
    assert (status, said in err) == (2, True), err
    assert f"{sweep_file}:" in err
    assert not (tmp_path / "out").exists()


def test_what_is_wrong_with_the_scenario_is_said_of_the_scenario(sweep_file: Path) -> None:
    base = sweep_file.parent / "base.toml"
    base.write_text(base.read_text(encoding="utf-8").replace('"2 s"', '"2 h"'), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"base\.toml:2: duration: found"):
        Sweep.load(sweep_file)


def test_what_the_engine_cannot_do_is_said_of_the_sweep(sweep_file: Path) -> None:
    text = sweep_file.read_text(encoding="utf-8").replace(
        "[variant]", '[variant]\n"connection.m.application" = ["bulk", { kind = "rate", rate = "1 Mbit/s" }]'
    )
    sweep_file.write_text('engine = "model"\n' + text, encoding="utf-8")
    with pytest.raises(UnsupportedError, match=r'sweep\.toml:15: variant\."connection\.m\.application": found "rate"'):
        make_plan(Sweep.load(sweep_file))
