"""Every notebook in docs/notebooks runs and prints what tests/notebooks.json has of it, but for small changes."""

import json
import re
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest

from tools.notebooks import NOTEBOOKS, SAID, executed, strip, texts

NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
RULES = re.compile(r"[─═│┌┬┐├┼┤└┴┘╞╪╡┆-]+")
"""The rules of a printed table: as long as its longest number."""


def agree(now: str, before: str, tolerance: float = 0.05) -> bool:
    """Whether words are the same and numbers nearly so: within the tolerance, or one unit of the last digit printed."""
    numbers = [NUMBER.findall(text) for text in (now, before)]
    words = [RULES.sub(" ", NUMBER.sub("", text)).split() for text in (now, before)]
    return words[0] == words[1] and all(
        float(one) == pytest.approx(float(other), rel=tolerance, abs=1.001 * unit(other))
        for one, other in zip(*numbers, strict=True)
    )


def unit(number: str) -> float:
    """One unit of the last digit of a number; 0 for a whole one."""
    exponent = int(Decimal(number).as_tuple().exponent)
    return 0.0 if exponent >= 0 else 10.0**exponent


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:PendingDeprecationWarning")
def test_a_notebook_runs_and_says_what_it_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    run = executed(path)
    said = json.loads(SAID.read_text(encoding="utf-8")).get(path.stem)
    assert said, f"tests/notebooks.json lacks {path.name}: make notebooks"
    for now, before in zip(texts(run), said, strict=True):
        # What a gallery notebook concludes rests on sizes; a fix of the transport may move the digits of a short run.
        tolerance = 0.05 if path.stem == "scenario-a" else 0.2
        assert agree(now, before, tolerance), (
            f"{path.name} says something else by now (make notebooks, and look at it):\n{now}"
        )


def test_notebooks_are_kept_without_outputs(tmp_path: Path) -> None:
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        copy = tmp_path / path.name
        copy.write_bytes(path.read_bytes())
        strip(copy)
        assert copy.read_bytes() == path.read_bytes(), f"{path.name} has outputs: make notebooks"
        assert all(not cell.get("outputs") for cell in nbformat.read(path, as_version=4).cells)


def test_what_agrees() -> None:
    table = "┌──────┐\n│ 10.0 │\n└──────┘"
    assert agree("┌───────┐\n│ 10.03 │\n└───────┘", table)
    assert not agree(table.replace("10.0", "11.0"), table)
    assert agree(table.replace("10.0", "11.0"), table, tolerance=0.2)
    assert not agree("lia 10.0", "olia 10.0")
    assert agree("1.93e7", "1.9e7")
    assert not agree("1.9e8", "1.9e7")
    assert not agree("0.010", "0.018"), "a small number is held to as much as a large one"
    assert agree("0.010", "0.011")
    assert not agree("3 runs", "4 runs")
