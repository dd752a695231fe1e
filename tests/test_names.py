"""Names that mean something to whatever they pass through: HTML, expressions, shells, patterns, files, consoles."""

import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mptcplab
import pytest
import tomli_w
import vl_convert
from mptcplab import cli, plots
from mptcplab.capture.settings import Capture
from mptcplab.scenario import Scenario

HOSTILE = (
    'Wi-Fi "5G"',
    "it's",
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
    "a.b[0]",
    "x\\y",
    "\\",
    "</script><script>x()</script>",
    "<img src=x onerror=x()>",
    "&amp;",
    "{{ 7*7 }}",
    "{name}",
    "%s%n",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "'; touch pwned; '",
    "../../pwned",
    "/etc/passwd",
    "-rf",
    "*",
    ".*(",
    ":x:",
    "[red]",
    "[/]",
    "null",
    "datum.value",
    "t",
    "value",
    "series",
    "a:Q",
    "total",
    "ß∂ 语言 🙂",
    "\u202edlrow",
    "x\u2028y",
    "CON",
    "a" * 64,
)
ALPHABET = [*"\"'\\.[](){}<>&;:|*?$`%#=,/~^!@+- ab0é\u2028\u202e🙂", *HOSTILE]
RANDOM = int(os.environ.get("MPTCPLAB_NAMES", "12"))
"""Drawn in addition."""
TOGETHER = 17
PATHS = 8
"""Of a connection: subflows of our transport."""


def drawn() -> Iterator[str]:
    dice = random.Random(1)
    for _ in range(RANDOM):
        yield "".join(dice.choices(ALPHABET, k=dice.randint(1, 9)))[:64].strip() or "x"


NAMES = list(dict.fromkeys([*HOSTILE, *drawn()]))
GROUPS = [NAMES[at : at + TOGETHER] for at in range(0, len(NAMES), TOGETHER)]


def document(names: list[str]) -> dict[str, Any]:
    """Links, connections and events of these names."""
    return {
        "title": names[0],
        "duration": "1 s",
        "link": {name: {"rate": "2 Mbit/s", "delay": "5 ms"} for name in names},
        "connection": {
            name: {"paths": names[at : at + PATHS]}
            if at % PATHS == 0
            else {"paths": [name], "protocol": "tcp", "congestion": "reno"}
            for at, name in enumerate(names)
        },
        "event": [{"at": "0.5 s", "link": name, "set": {"rate": "3 Mbit/s"}} for name in names],
        "measure": {"sample": "100 ms"},
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def wellformed(place: Path) -> None:
    """Nothing was written elsewhere, and nothing was run."""
    assert [entry.name for entry in place.parent.iterdir()] == ["here"]
    assert not list(place.rglob("*pwned"))


@pytest.mark.parametrize("names", GROUPS, ids=range(len(GROUPS)))
def test_a_result_of_these_names(place: Path, names: list[str]) -> None:
    """Each panel is drawn, with its reading of values; what is saved is read back with the same names."""
    scenario = Scenario.from_toml(tomli_w.dumps(document(names)))
    assert Scenario.from_toml(scenario.to_toml()).sha256() == scenario.sha256()
    (place / "captures").mkdir()
    result = mptcplab.run(scenario, capture=Capture(place / "captures", 0))
    assert result.links["name"].unique(maintain_order=True).to_list() == names
    figures = plots.figures(result)
    assert [figure.name for figure in figures] == ["goodput", "windows", "rtts", "lia_alpha", "waiting", "queues"]
    for panel in (panel for figure in figures for panel in figure.panels):
        data = {name: frame.to_dicts() for name, frame in panel.data.items()}
        # Whole, with tooltips and selections, as the page shows it.
        assert "<svg" in vl_convert.vegalite_to_svg(json.dumps({**panel.spec, "datasets": data}))
    result.save(place / "out", captures=place / "captures")
    assert len(list((place / "out" / "captures").iterdir())) == 2 * len(names)
    page = (place / "out" / "report.html").read_text(encoding="utf-8")
    assert "<script>x()" not in page
    assert "<img src=x" not in page
    assert "49" not in page if names == ["{{ 7*7 }}"] else True
    back = mptcplab.Result.load(place / "out")
    assert back.subflows["path"].to_list() == result.subflows["path"].to_list()
    wellformed(place)


def test_the_commands(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is told the same names by file, by key and as a factor, and prints them as they are."""
    names = ["constructor", ":x:", "[red]", "a.b[0]", "$(touch pwned)", "it's", '"', "<b>"]
    (place / "n.toml").write_text(tomli_w.dumps(document(names)), encoding="utf-8")
    sweep = {"scenario": "n.toml", "design": {"kind": "grid"}, "repeat": 2}
    keys = [f"link.{json.dumps(name)}.delay" for name in names]
    factors = {key: ["1 ms", "2 ms"] for key in keys[:2]}
    (place / "s.toml").write_text(tomli_w.dumps({**sweep, "factor": factors}), encoding="utf-8")

    def call(*words: str) -> str:
        status = cli.invoke(list(words))
        told = capsys.readouterr()
        assert status == 0, told.err
        return told.out

    for key in keys:
        call("check", "n.toml", "--set", f"{key}=1 ms")
    told = call("run", "n.toml", "--out", "out")
    for name in names:
        assert name in told
    assert json.loads(call("run", "n.toml", "--json"))["links"][0]["name"] == "constructor"
    call("run", "n.toml", "--repeat", "2", "--out", "out")
    call("compare", "n.toml", "--vary", f"{keys[3]}=1 ms,2 ms", "--repeat", "2")
    call("sweep", "s.toml", "--out", "swept", "--jobs", "1")
    assert cli.invoke(["run", "n.toml", "--set", "link.:x:.rate=[red]"]) == 2
    assert ":x:" in capsys.readouterr().err
    plain = ["--set", 'connection.constructor.congestion="reno"', "--set", "event=[]"]
    script = call("export", "n.toml", "--to", "netns", *plain)
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
    lines = [line for line in script.splitlines() if "touch pwned" in line and not line.startswith("#")]
    assert all("'$(touch pwned)" in line for line in lines), "between single quotes nothing is run"
    wellformed(place)
