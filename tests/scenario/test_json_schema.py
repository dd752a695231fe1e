"""The schemas for editors accept what mptcplab accepts, and refuse what nobody should write."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from mptcplab.cli import invoke
from mptcplab.scenario import json_schema

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
SWEEPS = sorted((ROOT / "scenarios" / "sweeps").glob("*.toml"))
WRONG: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "wrong.toml").read_text(encoding="utf-8"))["case"]


def errors(schema: dict[str, Any], text: str) -> list[str]:
    return [error.message for error in Draft7Validator(schema).iter_errors(tomllib.loads(text))]


def test_the_schemas_are_schemas() -> None:
    for schema in (json_schema.scenario(), json_schema.sweep()):
        Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("kind", ["scenario", "sweep"])
def test_the_command_prints_them(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["schema", kind]) == 0
    assert json.loads(capsys.readouterr().out) == getattr(json_schema, kind)()


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_ready_made_scenarios_are_accepted(file: Path) -> None:
    assert errors(json_schema.scenario(), file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("file", SWEEPS, ids=lambda file: file.stem)
def test_ready_made_sweeps_are_accepted(file: Path) -> None:
    assert errors(json_schema.sweep(), file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "link.a.rate = 25",
        'link.a.rate = "25 Mbps"',
        'link.a.delay = "25 Mbit/s"',
        'link.a.colour = "red"',
        'connection.c.congestion = "renot"',
        "connection.c.count = 0",
        'link.a.queue = { kind = "blue", limit = "1 BDP" }',
        'measure.sample = "sometimes"',
    ],
)
def test_slips_are_found(line: str) -> None:
    valid = 'duration = "1 s"\nlink.a.delay = "1 ms"\nlink.a.rate = "1 Mbit/s"\nconnection.c.paths = ["a"]\n'
    assert errors(json_schema.scenario(), valid) == []
    key = line.split(" = ")[0]
    kept = "".join(f"{each}\n" for each in valid.splitlines() if not each.startswith(f"{key} "))
    assert errors(json_schema.scenario(), f"{kept}{line}\n") != []
