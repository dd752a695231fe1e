"""Where plug-ins run: several jobs, sweeps, saved results, entry points, the engine stack."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mptcplab
import pytest
from mptcplab import machine
from mptcplab.cli.app import invoke
from mptcplab.plugins import PluginLoadError, loading
from mptcplab.scenario import Scenario, ScenarioError

HEAD = "from mptcplab.plugins import *\n"
GENTLE = (
    HEAD
    + '''
class Gentle(Rule):
    """Gives up less on a loss."""

    def __init__(self, *, beta: float = 0.7, noise: bool = False) -> None:
        self.beta = beta
        self.noise = noise

    def increase(self, subflows, r):
        return (self.random.random() if self.noise else 1) / subflows[r].cwnd

    def decrease(self, subflows, r):
        return self.beta * subflows[r].cwnd
'''
)
LINE = 'congestion = { plugin = "own.py:Gentle", beta = 0.8 }'


def test_jobs_and_seeds(write: Callable[[str, str], Path]) -> None:
    scenario = Scenario.load(write(GENTLE, LINE.replace("0.8", "0.8, noise = true")))
    one = mptcplab.run(scenario, repeat=4)
    assert one.runs == mptcplab.run(scenario, repeat=4, jobs=3).runs
    assert len(set(one.connections["goodput_bps"].to_list())) == 4
    quiet = mptcplab.run(scenario.with_("connection.download.congestion.noise=false"), repeat=4)
    assert quiet.connections["goodput_bps"].to_list() != one.connections["goodput_bps"].to_list()


def test_parameters_matter_and_are_written(write: Callable[[str, str], Path]) -> None:
    scenario = Scenario.load(write(GENTLE, LINE))
    goodput = [
        mptcplab.run(scenario.with_(f"connection.download.congestion.beta={beta}")).connections["goodput_bps"][0]
        for beta in ("0.5", "0.8", "1")
    ]
    assert goodput[0] < goodput[1] < goodput[2]
    assert 'plugin = "own.py:Gentle"\nsha256 = "' in scenario.to_toml()
    assert "beta = 0.8" in scenario.to_toml()
    # A whole number where the class takes a fraction means the same.
    one = scenario.with_("connection.download.congestion.beta=1")
    assert one == scenario.with_("connection.download.congestion.beta=1.0")


def test_another_text_is_another_scenario(write: Callable[[str, str], Path]) -> None:
    before = Scenario.load(write(GENTLE, LINE)).sha256()
    assert Scenario.load(write(GENTLE + "# more\n", LINE)).sha256() != before


def test_a_result_keeps_the_file_and_runs_again(
    write: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(GENTLE, LINE)
    scenario = Scenario.load(file)
    (tmp_path / "own.py").unlink()
    result = mptcplab.run(pickle.loads(pickle.dumps(scenario)))
    result.save(tmp_path / "out")
    (kept,) = (tmp_path / "out" / "plugins").iterdir()
    source = scenario.document.plugins["congestion", "own.py:Gentle"]
    assert kept.name == f"{source.sha256[:12]}-own.py"
    assert kept.read_text(encoding="utf-8") == GENTLE
    assert json.loads((tmp_path / "out" / "result.json").read_text())["connections"][0]["congestion"] == "own.py:Gentle"
    # As in a process that has never seen the text.
    monkeypatch.setattr(loading, "_texts", {})
    monkeypatch.setattr(loading, "_modules", {})
    again = Scenario.load(tmp_path / "out" / "scenario.toml")
    assert again.sha256() == scenario.sha256()
    assert mptcplab.run(again).runs == result.runs
    kept.write_text(GENTLE + "# changed\n", encoding="utf-8")
    monkeypatch.setattr(loading, "_texts", {})
    with pytest.raises(ScenarioError, match="expected the plug-in with the SHA-256"):
        Scenario.load(tmp_path / "out" / "scenario.toml")


def test_an_override_names_a_file_of_the_current_directory(
    write: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(GENTLE, "")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    other = GENTLE + "# here\n"
    Path("mine.py").write_text(other, encoding="utf-8")
    key = "connection.download.congestion"
    mine = Scenario.load(file, [f'{key}={{ plugin = "mine.py:Gentle" }}'])
    assert mine.document.plugins["congestion", "mine.py:Gentle"].text == other
    assert (
        mine == mine.with_(seed=2).with_({"seed": 1}) == Scenario.load(file).with_({f"{key}.plugin": "mine.py:Gentle"})
    )
    # What is beside the scenario comes first.
    Path("own.py").write_text(other, encoding="utf-8")
    theirs = Scenario.load(file, [f'{key}={{ plugin = "own.py:Gentle" }}'])
    assert theirs.document.plugins["congestion", "own.py:Gentle"].text == GENTLE
    with pytest.raises(ScenarioError, match=r"none\.py.* or to the current directory"):
        Scenario.load(file, [f'{key}={{ plugin = "none.py:Gentle" }}'])
    # What the file itself names is not looked for elsewhere.
    with pytest.raises(
        ScenarioError, match=rf"named relative to the scenario's directory: {re.escape(str(tmp_path))}$"
    ):
        Scenario.load(write(GENTLE, LINE.replace("own.py", "mine.py")))


SWEEP = """
scenario = "scenario.toml"
repeat = 2
[design]
kind = "grid"
[factor]
"link.wifi.rate" = ["10 Mbit/s", "20 Mbit/s"]
[variant]
"connection.download.congestion" = ["reno", { plugin = "own.py:Gentle" }, { plugin = "own.py:Gentle", beta = 0.5 }]
"""


def test_a_sweep(write: Callable[[str, str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import polars as pl

    file = write(GENTLE, "")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    assert invoke(["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out"), "--jobs", "2"]) == 0
    found = pl.read_parquet(tmp_path / "out" / "connections" / "*.parquet")
    assert found.height == 12
    goodput = {
        name: frame.sort("point", "repeat")["goodput_bps"].to_list()
        for (name,), frame in found.group_by("connection.download.congestion")
    }
    plain, half = goodput["reno"], goodput['{"beta": 0.5, "plugin": "own.py:Gentle"}']
    assert plain == half, "0.5 is Reno"
    assert goodput['{"plugin": "own.py:Gentle"}'] != plain
    assert file.exists()


def test_a_sweep_whose_plugin_fails(
    write: Callable[[str, str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(GENTLE.replace("return self.beta *", "return self.gamma *"), "")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    assert invoke(["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out"), "--jobs", "2"]) == 1
    said = capsys.readouterr().err
    assert "has no attribute 'gamma'" in said
    assert "for the connection 'download' at its server" in said
    assert not (tmp_path / "out" / "connections").exists()


def test_the_name_of_a_run_has_the_text(write: Callable[[str, str], Path]) -> None:
    from mptcplab.sweeps.planned import plan

    names = {plan(Scenario.load(write(text, LINE)), 1).name for text in (GENTLE, GENTLE, GENTLE + "# more\n")}
    assert len(names) == 2


ENDLESS = (
    HEAD
    + """
import sys

class Own(Rule):
    call_limit_s = 600

    def increase(self, subflows, r):
        sys.stderr.write("begun\\n")
        sys.stderr.flush()
        while True:
            pass
"""
)


@pytest.mark.parametrize("options", [(), ("--jobs", "2", "--repeat", "2")], ids=["one job", "two jobs"])
def test_ctrl_c_ends_a_call_without_an_end(options: tuple[str, ...], write: Callable[[str, str], Path]) -> None:
    file = write(ENDLESS, 'congestion = { plugin = "own.py:Own" }')
    command = [
        str(Path(sys.executable).parent / "mptcplab"),
        "run",
        str(file),
        "--out",
        str(file.parent / "out"),
        *options,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert "interrupted after 0 of" in said
    assert not (file.parent / "out").exists()


def test_compare(write: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    file = write(GENTLE, LINE)
    assert invoke(["compare", str(file), "--engines", "sim,model"]) == 3
    assert 'the plug-in "own.py:Gentle"' in capsys.readouterr().err


PACKAGE_METADATA = "Metadata-Version: 2.1\nName: gentle\nVersion: 1.0\n"
ENTRY_POINTS = "[mptcplab.congestion]\ngentle = gentle_package:Gentle\nbroken = gentle_package:Missing\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that adds names."""
    site = tmp_path / "site"
    information = site / "gentle-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(PACKAGE_METADATA)
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    (site / "gentle_package.py").write_text(GENTLE)
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "gentle_package", raising=False)
    loading.installed.cache_clear()
    yield  # type: ignore[misc]
    loading.installed.cache_clear()


@pytest.mark.usefixtures("package")
def test_an_installed_package_adds_names(write: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    own = mptcplab.run(Scenario.load(write(GENTLE, LINE)))
    named = 'congestion = { name = "gentle", beta = 0.8 }'
    result = mptcplab.run(Scenario.load(write("", named)))
    assert result.subflows.equals(own.subflows)
    assert result.connections["congestion"].to_list() == ["gentle"]
    Scenario.load(write("", 'congestion = "gentle"'))
    assert invoke(["list", "congestion"]) == 0
    listed = " ".join(capsys.readouterr().out.split())  # how wide a column is depends on the terminal
    assert "gentle" in listed
    assert "Gives up less on a" in listed
    with pytest.raises(ScenarioError, match="Missing"):
        Scenario.load(write("", 'congestion = "broken"'))


def test_there_is_no_such_name(write: Callable[[str, str], Path]) -> None:
    with pytest.raises(ScenarioError, match='found "gentle"; expected a congestion control'):
        Scenario.load(write("", 'congestion = "gentle"'))
    with pytest.raises(PluginLoadError):
        loading.of_entry_point("congestion", "gentle")


MISSING = [finding.what for finding in machine.live() if not finding.good]
live = pytest.mark.skipif(
    bool(MISSING) and not os.environ.get("MPTCPLAB_REQUIRE_LIVE"), reason=f"the engine stack needs {', '.join(MISSING)}"
)


@pytest.mark.live
@live
def test_the_engine_stack(write: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    file = write(GENTLE, LINE)
    short = ['duration="2 s"', 'measure.warmup="0 s"']
    result = mptcplab.run(Scenario.load(file, short), "stack")
    assert result.connections["congestion"].to_list() == ["own.py:Gentle"]
    assert result.connections["goodput_bps"][0] > 1e6
    write(GENTLE.replace("return self.beta *", "return self.gamma *"), LINE)
    assert invoke(["run", str(file), "--engine", "stack"]) == 1
    said = capsys.readouterr().err
    assert "has no attribute 'gamma'" in said
    assert "for the connection 'download' at its server, failed in decrease" in said
