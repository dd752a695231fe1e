"""docs/scenario-format.md is complete and true to the code."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from mptcplab import registry
from mptcplab.engines.catalogue import REMOTE
from mptcplab.scenario import Scenario, ScenarioError, units
from mptcplab.scenario.errors import show
from mptcplab.scenario.value_types import Table

REFERENCE = (Path(__file__).parents[2] / "docs" / "scenario-format.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", REFERENCE, flags=re.MULTILINE | re.DOTALL)


def models(base: type[Table] = Table) -> Iterator[type[Table]]:
    for model in base.__subclasses__():
        yield model
        yield from models(model)


@pytest.mark.parametrize("model", list(models()), ids=lambda model: model.__name__)
def test_every_key_is_described(model: type[Table]) -> None:
    for key in model.keys():  # noqa: SIM118  # the keys of a model, no dictionary
        described = f"`{key}`" in REFERENCE or f"[{key}]" in REFERENCE or f"[{key}." in REFERENCE
        assert described or f"{key} = " in REFERENCE, f"{model.__name__}.{key}"


def test_every_unit_is_described() -> None:
    for dimension in units.DIMENSIONS:
        for unit in dimension.units:
            assert f"`{unit}`" in REFERENCE


def test_every_algorithm_and_parameter_is_described() -> None:
    for family, entries in registry.FAMILIES.items():
        for entry in entries:
            assert f"`{entry.name}`" in REFERENCE or f'"{entry.name}"' in REFERENCE, (family, entry.name)
            for parameter in entry.parameters:
                # Those of queues, losses and middleboxes are in generated tables (tests/test_algorithm_pages.py).
                if not parameter.field:
                    assert f"`{parameter.name}` (`{show(parameter.default)}`" in REFERENCE, (entry.name, parameter.name)


def test_what_the_simulator_runs_is_what_the_reference_says() -> None:
    for entry in (
        entry for family in ("congestion", "schedulers", "path-managers") for entry in registry.FAMILIES[family]
    ):
        rows = [line for line in REFERENCE.splitlines() if line.startswith("|") and line.count("|") == 5]
        row = next(line for line in rows if f"`{entry.name}`" in line.split("|")[2])
        runs = row.rstrip("|").rsplit("|", 1)[1].strip()
        assert bool(runs) == ("sim" in entry.engines), row


def test_the_defaults_are_those_of_the_reference() -> None:
    """A scenario that names every default equals the one that names none."""
    shortest = """
        duration = "1 s"
        link.a = { rate = "1 Mbit/s", delay = "1 ms" }
        connection.c.paths = ["a"]
        connection.t = { paths = ["a"], protocol = "tcp" }
    """
    longest = """
        duration = "1 s"
        title = "scenario"
        seed = 1
        measure = { warmup = "0 s", sample = "100 ms" }
        link.a = { rate = "1 Mbit/s", delay = "1 ms", queue = "1 BDP", loss = "0 %" }
        [connection.c]
        paths = ["a"]
        protocol = "mptcp"
        congestion = { name = "lia", variant = "paper" }
        scheduler = { name = "min-rtt", reinjection = "none" }
        path_manager = "fullmesh"
        application = "bulk"
        direction = "down"
        start = "0 s"
        count = 1
        mss = "1460 B"
        receive_buffer = "auto"
        [connection.t]
        paths = ["a"]
        protocol = "tcp"
        congestion = "reno"
    """
    assert Scenario.from_toml(shortest) == Scenario.from_toml(longest)


@pytest.mark.parametrize(
    "queue", ['kind = "red", min = "5 packets", max = "9 packets", limit = "1 BDP"', 'kind = "codel"']
)
def test_the_defaults_of_queues(queue: str) -> None:
    link = f'link.a = {{ rate = "1 Mbit/s", delay = "1 ms", queue = {{ {queue} }} }}'
    scenario = Scenario.from_toml(f'duration = "1 s"\nconnection.c.paths = ["a"]\n{link}')
    written = scenario.document.links["a"].direction("up").queue.table()
    for key, value in written.items():
        if f"{key} = " in queue:
            continue
        text_of = f'"{value}"' if isinstance(value, str) else str(value).lower()
        rows = [line for line in REFERENCE.splitlines() if line.startswith(f"| `{key}` |")]
        row = next(row for row in rows if {"all", written["kind"]} & set(re.split(r" \| |, ", row)))
        assert f"`{text_of}`" in row, key


def test_the_example_is_a_scenario() -> None:
    example = next(text for language, text in BLOCKS if language == "toml")
    assert Scenario.from_toml(example).unsupported("sim") == []


def test_every_shown_line_is_right() -> None:
    shown = [text for language, text in BLOCKS if language == "toml"][1:]
    assert shown
    for line in (line for text in shown for line in text.splitlines()):
        text = f'duration = "1 s"\nconnection.c.paths = ["a"]\n[link.a]\nrate = "1 Mbit/s"\ndelay = "1 ms"\n{line}\n'
        Scenario.from_toml(text)


def test_the_overrides_that_are_shown_apply() -> None:
    root = Path(__file__).parents[2]
    commands = [line for _, text in BLOCKS for line in text.splitlines() if line.startswith("mptcplab run")]
    assert commands
    for command in commands:
        words = re.findall(r"'[^']*'|[^\s\"]+\"[^\"]*\"|\S+", command)
        overrides = [words[at + 1].strip("'") for at, word in enumerate(words) if word == "--set"]
        assert overrides
        Scenario.load(root / words[2] if (root / words[2]).exists() else words[2], overrides)


HOME = """\
title = "Home"
duration = "30 s"

[link.wifi]
delay = "12.5 ms"
rate = 25

[link.lte]
rate = "5 Mbit/s"
delay = "30 ms"

[connection.download]
protocol = "mptcp"
paths = ["wifi", "lt"]
"""


def test_the_errors_that_are_shown_are_given() -> None:
    shown = next(text for _, text in BLOCKS if text.startswith("home.toml:"))
    with pytest.raises(ScenarioError) as raised:
        Scenario.from_toml(HOME, "home.toml")
    assert str(raised.value) == shown.strip()


def test_commands_in_the_scenarios_apply() -> None:
    """Each ready-made scenario shows how it is varied."""
    root = Path(__file__).parents[2]
    found = 0
    for path in sorted((root / "scenarios").glob("*.toml")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("#   mptcplab run"):
                words = shlex.split(line)
                assert words[3] == f"scenarios/{path.name}"
                overrides = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
                engine = words[words.index("--engine") + 1] if "--engine" in words else "sim"
                scenario = Scenario.load(root / words[3], overrides)
                remote = REMOTE.get(engine)
                assert (scenario.unsupported(engine) if remote is None else remote.unsupported(scenario)) == []
                found += 1
    assert found
