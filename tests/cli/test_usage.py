"""Command lines that are wrong, documents instead of tables, and standard input: in the words of the laboratory."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mptcplab import Scenario

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rn",), "error: there is no command 'rn'; did you mean \"run\"?"),
        (("run", "wifi-lte", "--sed", "3"), 'error: there is no option --sed; did you mean "--seed"?'),
        (("run", "wifi-lte", "--seed", "-1"), "error: --seed: found -1; expected a whole number, at least 0"),
        (("lab", "--port", "99999"), "error: --port: found 99999; expected a whole number from 0 to 65535"),
        (("probe", "--server", "--minutes", "0"), "error: --minutes: found 0.0; expected a number from 0.05 to 1440"),
        (("run", "wifi-lte", "--repeat", "x"), "error: --repeat: found 'x'; expected a whole number, at least 1"),
        (("run", "wifi-lte", "--seed"), "error: --seed: found no value; expected one after it"),
        (("run",), "error: FILE is missing"),
        (("run", "wifi-lte", "x", "y"), "error: found x y; expected no further argument"),
        (("kernel", "build", "--hz", "3"), "error: --hz: found '3'; expected one of 100, 250, 300, 1000"),
        (("list", "congestian"), 'did you mean "congestion"?'),
        (("run", "wifi-lt"), 'did you mean "wifi-lte"?'),
        (("sweep", "two-path", "--out", "x"), 'did you mean "two-paths"?'),
        (("predict", "-p", "1x", "-r", "20"), "found '1x'; expected numbers with commas, such as 0.01,0.02 or 1 %,2 %"),
    ],
)
def test_a_wrong_command_line_is_told_with_what_would_do(call: Call, arguments: tuple[str, ...], said: str) -> None:
    done = call(*arguments)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_every_error_of_a_file_at_once(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(
        'duration = "5 s"\n[link.a]\nbandwidth = "10 Mbit/s"\n[connection.m]\npaths = ["a", "b"]\ncongestion = "lai"\n'
        '[connection.n]\npaths = ["zz"]\n',
        encoding="utf-8",
    )
    err = call("check", file).err
    assert 'found an unknown key "bandwidth"' in err
    assert 'did you mean "rate"?' in err
    for key in ("connection.m.congestion", "connection.m.paths.1", "connection.n.paths.0"):
        assert key in err


def test_units_of_predict_are_those_of_scenarios(call: Call) -> None:
    plain = call("predict", "-p", "0.01,0.02", "-r", "20,30", "--json").out
    assert call("predict", "-p", "1 %,2%", "-r", "20 ms,0.03 s", "--json").out == plain


def test_a_scenario_from_standard_input(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s").to_toml()
    given = SimpleNamespace(buffer=io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", given)
    done = call("run", "-", "--json")
    assert (done.status, json.loads(done.out)["duration_s"]) == (0, 1.0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"duration = 3\n")))
    refused = call("check", "-")
    assert refused.status == 2
    assert "<standard input>:1: duration" in refused.err


def test_documents_instead_of_tables(call: Call, tmp_path: Path) -> None:
    names = [entry["name"] for entry in json.loads(call("list", "congestion", "--json").out)["congestion"]]
    assert {"lia", "olia", "cubic"} <= set(names)
    checked = json.loads(call("check", "wifi-lte", "--json").out)
    assert checked["engines"][0] == {"name": "sim", "supported": True, "problems": []}
    assert {section["title"] for section in json.loads(call("doctor", "--json").out)} >= {"sim", "linux"}
    design = json.loads(call("design", "grid", "--points", 4, "--factor", "a.b=1 ms..3 ms", "--json").out)
    assert design["points"][0]["a.b"] == "1 ms"
    assert isinstance(json.loads(call("kernel", "list", "--json").out), list)
    base = Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    (tmp_path / "base.toml").write_text(base.to_toml(), encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(
        'scenario = "base.toml"\n[variant]\nduration = ["1 s", "2 s"]\n', encoding="utf-8"
    )
    swept = json.loads(call("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out", "--json").out)
    assert (swept["points"], swept["runs"], swept["ran"]) == (1, 2, 2)
    assert [each["settings"]["duration"] for each in swept["comparison"]["settings"]] == ["1 s", "2 s"]


@pytest.mark.parametrize("command", [("run", "nowhere.toml"), ("sweep", "nowhere.toml", "--out", "x"), ("rn",)])
def test_errors_come_before_what_loads_slowly(command: tuple[str, ...]) -> None:
    code = (
        "import sys\nfrom mptcplab import cli\n"
        f"status = cli.invoke({list(command)!r})\n"
        "slow = {'pydantic', 'polars', 'scipy', 'numpy', 'altair'} & set(sys.modules)\n"
        "assert (status, slow) == (2, set()), (status, slow)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
