"""docs/algorithms: a page for whatever runs, its five parts, and numbers that are those of the simulator."""

import json
import re
from pathlib import Path

import pytest
from mptcplab import registry

from tools import algorithms
from tools.figures.studies import STUDIES
from tools.figures.study import FIGURES, PAGES, with_tables

ROOT = Path(__file__).parents[1]
FAMILIES = ("congestion", "schedulers", "path-managers", "queues")
ALGORITHMS = {algorithms.page(family, name): name for family in FAMILIES for name in registry.names(family, "sim")}
HEADINGS = ["Theory", "Scope", "Limits", "Validation", "References"]
MOST_BYTES = 200_000


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("file", "name"), ALGORITHMS.items())
def test_whatever_the_simulator_runs_has_a_page_with_all_parts(file: str, name: str) -> None:
    text = page(file)
    assert text.startswith(f"# {name}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    validation = text.split("## Validation")[1].split("## References")[0]
    if "<!-- table: " in validation:
        assert re.search(r"!\[[^\]]+\]\(figures/[\w-]+\.svg\)", text)
    else:
        tests = re.findall(r"`(\w+)` in `([\w./-]+\.rs)`", validation)
        assert tests, "neither a table of a study nor a test"
        for test, source in tests:
            assert f"fn {test}()" in (ROOT / source).read_text(encoding="utf-8"), test
    assert f"({file}.md)" in page("README"), "not in the index"


def test_no_page_is_of_something_that_does_not_run() -> None:
    assert {file.stem for file in PAGES.glob("*.md")} == {"README", *ALGORITHMS}


@pytest.mark.parametrize("file", algorithms.pages(), ids=lambda file: file.stem)
def test_tables_of_algorithms_are_what_they_declare(file: Path) -> None:
    assert algorithms.filled(file) == file.read_text(encoding="utf-8"), "python -m tools.algorithms writes them anew"


@pytest.mark.parametrize("family", algorithms.FAMILIES)
def test_every_algorithm_of_the_transport_shows_its_parameters(family: str) -> None:
    for name in registry.names(family, "sim"):
        assert "<!-- algorithms: parameters -->" in page(algorithms.page(family, name)), name
    assert f"<!-- algorithms: {family} -->" in page("README")


@pytest.mark.parametrize("file", sorted(PAGES.glob("*.md")), ids=lambda file: file.stem)
def test_tables_are_drawn_from_the_stored_numbers(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert with_tables(text, STUDIES) == text, "python -m tools.figures draws them anew"


def test_a_changed_number_is_noticed() -> None:
    assert "| 1 % | " in page("reno")
    wrong = page("reno").replace("| 1 % | ", "| 1 % | 9", 1)
    assert with_tables(wrong, STUDIES) == page("reno") != wrong
    study = STUDIES["reno-response"]
    row = study.stored()[0]
    assert study.differences([row]) == []
    assert "window" in study.differences([{**row, "window": 1.2 * row["window"]}])[0]
    assert "not stored" in study.differences([{**row, "loss": 0.5}])[0]


def test_figures_are_there_and_small() -> None:
    shown = {
        name for file in PAGES.glob("*.md") for name in re.findall(r"figures/([\w-]+)\.svg", file.read_text("utf-8"))
    }
    assert {file.name for file in FIGURES.glob("*")} == {f"{n}.svg" for n in shown} | {f"{n}.json" for n in STUDIES}
    for name in shown:
        drawing = (FIGURES / f"{name}.svg").read_bytes()
        assert drawing.startswith(b"<svg")
        assert len(drawing) < MOST_BYTES


@pytest.mark.parametrize("name", STUDIES)
def test_stored_numbers_keep_the_bounds_of_the_pages(name: str) -> None:
    study = STUDIES[name]
    assert json.loads(study.file.read_text(encoding="utf-8"))["study"] == name
    assert study.bounds
    assert [text for text, holds in study.bounds.items() if not holds(study.stored())] == []


@pytest.mark.parametrize("name", STUDIES)
def test_a_part_of_the_numbers_is_what_the_simulator_says_now(name: str) -> None:
    study = STUDIES[name]
    found = study.sample()
    assert found
    assert study.differences(found) == [], f"if it is meant to differ: python -m tools.figures {name}"
