"""What each command loads: modules are counted and named, for a time would depend on the machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from mptcplab.bpf import NAMES
from mptcplab.cli import bpf
from mptcplab.cli.app import COMMANDS, app, loaded
from mptcplab.models.control_names import PREDICTED
from mptcplab.models.predict import CONTROLS

CODE = """
import json, sys
from mptcplab.cli import invoke
try:
    status = invoke(sys.argv[1:])
except SystemExit as leaves:  # what a shell asks for is answered within click
    status = leaves.code
print()
print(json.dumps([status or 0, sorted(sys.modules)]))
"""
SLOW = {
    "altair", "dask", "numpy", "pandas", "polars", "pydantic", "pyroute2", "rich", "scipy", "typing_extensions",
    "vl_convert", "email", "importlib.metadata", "mptcplab.scenario.load", "mptcplab.engines.runner",
    "mptcplab.results.result", "mptcplab.models.predict", "mptcplab.capture.analysis", "mptcplab.reproduce",
    "mptcplab.designs", "mptcplab.bpf", "mptcplab.stack", "mptcplab.sweeps.sweep",
}  # fmt: skip
"""Together they take several times as long to load as all that these commands need."""
PLOTS = {"altair", "vl_convert", "mptcplab.plots", "mptcplab.render.report", "mptcplab.render.page"}
OTHERS = {"scipy", "pandas", "dask", "pyroute2", "mptcplab.designs", "mptcplab.reproduce", "mptcplab.engines.linux"}

BRIEF = ("--set", "duration=1 s", "--set", "measure.warmup=0 s", "--set", "event=[]")


def modules(*arguments: str, **environment: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    status, names = json.loads(done.stdout.splitlines()[-1])
    assert status == 0, done.stderr
    return set(names)


def completing(words: str) -> dict[str, str]:
    return {
        "_MPTCPLAB_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), (), ("list",), ("list", "scenarios"), ("completion", "bash")]
    + [(name, "--help") for name in COMMANDS],
)
def test_what_answers_at_once_loads_nothing_slow(arguments: tuple[str, ...]) -> None:
    # The doctor draws with rich.
    found = modules(*arguments)
    assert found & (SLOW - ({"rich", "typing_extensions"} if arguments[0:1] == ("doctor",) else set())) == set()
    assert len([name for name in found if name.startswith("mptcplab")]) <= 18


@pytest.mark.parametrize("words", ["mptcplab ", "mptcplab run wi", "mptcplab run x --engine s", "mptcplab predict -"])
def test_the_completion_of_a_shell_loads_nothing_slow(words: str) -> None:
    assert modules(**completing(words)) & SLOW == set()


def test_a_run_on_the_terminal_draws_no_plots_and_makes_no_arrays_or_data_frames(scenario_file: Path) -> None:
    found = modules("run", str(scenario_file), *BRIEF)
    without = PLOTS | OTHERS | {"numpy", "polars", "mptcplab.models", "mptcplab.capture.analysis", "mptcplab.plugins"}
    assert found & without == set()


def test_json_needs_no_arrays_or_data_frames(scenario_file: Path) -> None:
    found = modules("run", str(scenario_file), "--json", *BRIEF)
    assert found & (PLOTS | OTHERS | {"numpy", "polars", "rich"}) == set()


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (("check", "wifi-lte"), PLOTS | {"numpy", "scipy", "polars", "rich"}),
        (
            ("predict", "-p", "0.01,0.02", "-r", "20,20"),
            PLOTS | {"polars", "scipy", "pydantic", "mptcplab.scenario.load"},
        ),
        (("design", "lhs", "--points", "4", "--dimensions", "2"), PLOTS | {"polars", "mptcplab.engines.runner"}),
    ],
)
def test_a_command_loads_what_it_needs(arguments: tuple[str, ...], without: set[str]) -> None:
    assert modules(*arguments) & without == set()


def test_the_laboratory_serves_before_anything_is_drawn() -> None:
    code = "import json, sys; import mptcplab.lab.app; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & {"altair", "numpy", "polars", "scipy", "vl_convert"} == set()


def test_every_command_is_where_the_table_says() -> None:
    context = click.Context(app)
    assert app.list_commands(context) == list(COMMANDS)
    for name, (home, _) in COMMANDS.items():
        assert loaded(home).get_short_help_str(), name


def test_names_that_are_written_twice_agree() -> None:
    assert tuple(CONTROLS) == PREDICTED
    assert bpf.NAMES == NAMES


def test_a_shell_gets_scenarios_papers_and_engines() -> None:
    def completed(words: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", "from mptcplab.cli import main; main()"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **completing(words)},
        )
        return [line.split(",", 1)[1] for line in done.stdout.splitlines() if line.startswith("plain,")]

    assert completed("mptcplab re") == ["reproduce"]
    assert "wifi-lte" in completed("mptcplab run wi")
    assert completed("mptcplab run wifi-lte --engine stack-") == ["stack-linux"]
    assert completed("mptcplab reproduce khal") == ["khalili-2013"]
    assert completed("mptcplab list que") == ["queues"]
