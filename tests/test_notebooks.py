"""Every notebook in docs/notebooks runs from top to bottom and prints what it is committed with, its numbers to 5 %."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def texts(notebook: Any) -> Iterator[str]:
    """What the cells print and return; pictures and HTML aside."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stdout":
                yield output.text
            elif output.output_type == "execute_result" and "image/png" not in output.data:
                yield output.data["text/plain"]


NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")


def agree(now: str, before: str) -> bool:
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (now, before)]
    same_words = NUMBER.sub("", now).split() == NUMBER.sub("", before).split()
    return same_words and numbers[0] == pytest.approx(numbers[1], rel=0.05, abs=0.02)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:PendingDeprecationWarning")
def test_a_notebook_runs_and_says_what_it_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    committed = nbformat.read(path, as_version=4)
    run = nbformat.read(path, as_version=4)
    NotebookClient(run, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}).execute()
    said = list(texts(committed))
    assert said, f"{path.name} is committed without its outputs: make notebooks"
    for now, before in zip(texts(run), said, strict=True):
        assert agree(now, before), f"{path.name} says something else by now (make notebooks, and look at it):\n{now}"


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS
