"""Tables of measurements in docs/ are those that commands wrote into the tree."""

import json
import re
from pathlib import Path

import mptcplab
import pytest

from studies import __main__ as studies
from studies.tables import PAGES, RESULTS, Results, drawn

MARKED = re.compile(r"<!-- (?:study|table|algorithms|made)\b[^>]*-->.*?<!-- end -->", re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
NUMBER = re.compile(r"[*+−\-–<>≈(]*\d")
KEPT = sorted(RESULTS.glob("*.json"))
OTHERS = {
    "advise.md": "rounded from what studies.advise and studies.advise_linux print of docs/data",
    "security.md": "what the tests that it names print, with the day; test_security.py looks for them",
}
"""Pages whose tables are not drawn here, and where they come from."""


def measured(text: str) -> list[str]:
    """The headers of tables of mostly numbers that no command writes."""
    found = []
    for table in TABLE.findall(FENCED.sub("", MARKED.sub("", text))):
        header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        cells = [cell for row in rows for cell in row[1:]]
        if cells and sum(NUMBER.match(cell) is not None for cell in cells) > 0.55 * len(cells):
            found.append(" | ".join(header))
    return found


@pytest.mark.parametrize("page", sorted(PAGES.rglob("*.md")), ids=lambda page: str(page.relative_to(PAGES)))
def test_tables_are_what_the_studies_kept(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert drawn(text) == text, "python -m studies trust draws all pages anew"
    if "decisions" not in page.parts and page.name not in OTHERS:
        assert measured(text) == [], "a table of measurements that no command writes"


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_what_is_kept_can_be_made_again_and_says_with_what(file: Path) -> None:
    assert file.stem in studies.STUDIES
    kept = Results.read(file.stem)
    assert kept.study == file.stem
    assert re.fullmatch(r"\d+\.\d+\.\d+", kept.version)
    assert tuple(map(int, kept.version.split("."))) <= tuple(map(int, mptcplab.__version__.split(".")[:3]))
    assert kept.kernel or file.stem not in studies.IN_GUESTS
    assert all(len(row) == len(table.header) for table in kept.tables for row in table.rows)
    shown = [page for page in PAGES.rglob("*.md") if f"<!-- study: {file.stem}" in page.read_text(encoding="utf-8")]
    assert shown, "no page shows it"


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    page = (PAGES / "validation" / "theory.md").read_text(encoding="utf-8")
    data = json.loads((RESULTS / "cubic-response.json").read_text(encoding="utf-8"))
    cell = data["tables"][0]["rows"][0][2]
    assert drawn(page.replace(f"| {cell} |", "| 9.999 |")) == page
    for file in KEPT:
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8").replace(f'"{cell}"', '"9.999"'))
    assert "| 9.999 |" in drawn(page, tmp_path)


def test_tables_of_measurements_are_told_from_others() -> None:
    assert measured("| p | C |\n|---|---|\n| 1 % | 1.31 |\n| 2 % | 1.29 |\n") == ["p | C"]
    assert measured("| key | meaning |\n|---|---|\n| rate | bits per second |\n| size | 10 or more |\n") == []
    assert measured("```\n| p | C |\n|---|---|\n| 1 | 2 |\n```\n") == []
    assert measured("<!-- study: x -->\n| p | C |\n|---|---|\n| 1 | 2 |\n<!-- end -->\n") == []


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    kept = Results.read("cubic-response")
    kept.write(tmp_path)
    assert (tmp_path / "cubic-response.json").read_bytes() == (RESULTS / "cubic-response.json").read_bytes()
