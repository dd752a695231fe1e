"""Every wrong scenario file of the table gets exactly the errors that it must get."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mptcplab.scenario import Scenario, ScenarioError

CASES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "wrong.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_wrong_file(case: dict[str, Any], filled: Callable[[str], str]) -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.from_toml(case["file"], source="wrong.toml")
    errors = [filled(error) for error in case["errors"]]
    assert [str(problem) for problem in raised.value.problems] == errors
    assert str(raised.value) == "\n".join(errors)


def test_the_table_is_long_and_has_no_case_twice() -> None:
    assert len(CASES) >= 40
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert len({case["file"] for case in CASES}) == len(CASES)


def test_no_message_is_the_validation_library_s() -> None:
    for line in (line for case in CASES for line in case["errors"]):
        for jargon in ("pydantic", "Input should", "type=", "input_value", "Field required", "Extra inputs"):
            assert jargon not in line


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(ScenarioError) as raised:
        Scenario.load(missing)
    assert (
        str(raised.value) == f"{missing}: found nothing readable (No such file or directory); expected a scenario file"
    )


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="found nothing readable"):
        Scenario.load(tmp_path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "capture.toml"
    path.write_bytes(b'title = "\xff"')
    with pytest.raises(ScenarioError) as raised:
        Scenario.load(path)
    assert (
        str(raised.value)
        == f"{path}: found a byte that is not valid UTF-8, at offset 9; expected a TOML file, which is UTF-8"
    )


def test_values_nested_beyond_reason() -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.from_toml("a = " + "[" * 20_000 + "]" * 20_000)
    assert len(raised.value.problems) == 1
