"""A study: numbers that runs give, a figure of them, tables for pages, and the bounds that they must keep."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mptcplab.plots import Figure, write_static

Row = dict[str, Any]
Rows = list[Row]
Table = list[list[str]]
Columns = Mapping[str, str | Callable[[Row], str]]
"""Each title with a format of a row's values, such as "{share:.1%}", or with what makes the text of a row."""

PAGES: Final = Path(__file__).resolve().parents[2] / "docs" / "algorithms"
FIGURES: Final = PAGES / "figures"
NOTHING: Final = 5e-4
"""What counts as 0, such as one packet lost of thousands; a loss of 0.01 must be able to be wrong."""
TOLERANCE: Final = 0.1
"""Between what is stored and the same run now: a change of the transport may change every random draw."""

_MARK: Final = re.compile(
    r"(?P<begin><!-- table: (?P<study>[\w-]+)(?: (?P<part>[\w-]+))? -->\n).*?(?P<end><!-- end -->)", re.S
)


@dataclass(frozen=True)
class Study:
    """One study."""

    name: str
    key: tuple[str, ...]
    """The columns that tell one row from another."""
    measure: Callable[[], Rows]
    sample: Callable[[], Rows]
    """A part of the same rows that takes about a second."""
    figures: Callable[[Rows], list[Figure]]
    table: Callable[[Rows, str], Table]
    """Header and rows of the table for a part, "" for the whole."""
    bounds: Mapping[str, Callable[[Rows], bool]] = field(default_factory=dict)
    """What must hold, in words, and whether it does."""

    @property
    def file(self) -> Path:
        """Where its numbers are."""
        return FIGURES / f"{self.name}.json"

    def stored(self) -> Rows:
        """Its numbers as they were written."""
        rows: Rows = json.loads(self.file.read_text(encoding="utf-8"))["rows"]
        return rows

    def make(self) -> None:
        """Run it and write its numbers and figures."""
        rows = [{column: _short(value) for column, value in row.items()} for row in self.measure()]
        broken = [text for text, holds in self.bounds.items() if not holds(rows)]
        FIGURES.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
        self.file.write_text(f'{{\n  "study": "{self.name}",\n  "rows": [\n{lines}\n  ]\n}}\n', encoding="utf-8")
        write_static(self.figures(rows), FIGURES)
        for picture in FIGURES.glob("*.png"):  # pages show drawings
            picture.unlink()
        if broken:
            raise AssertionError(f"{self.name}: does not hold: {'; '.join(broken)}")

    def differences(self, found: Rows) -> list[str]:
        """Where rows that were measured now are not those that are stored."""
        stored = {tuple(row[column] for column in self.key): row for row in self.stored()}
        wrong = []
        for row in found:
            name = tuple(row[column] for column in self.key)
            before = stored.get(name)
            if before is None:
                wrong.append(f"{self.name} {name}: not stored")
                continue
            for column, value in row.items():
                if isinstance(value, float) and not _near(value, before[column]):
                    wrong.append(f"{self.name} {name}: {column} is {_said(value)}, stored {_said(before[column])}")
        return wrong


def percent(part: float, digits: int = 0) -> str:
    """A part of one, for a table."""
    return f"{part * 100:.{digits}f} %"


def filled(rows: Iterable[Row], columns: Columns) -> Table:
    """A table of these rows."""
    table = [list(columns)]
    for row in rows:
        cells = (form(row) if callable(form) else form.format_map(row).replace("%", " %") for form in columns.values())
        table.append(list(cells))
    return table


def _said(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.4g}"


def _near(value: float | None, stored: float | None) -> bool:
    if value is None or stored is None:  # nothing was found
        return value is stored
    return math.isclose(value, stored, rel_tol=TOLERANCE, abs_tol=NOTHING)


def _short(value: object) -> object:
    """Five significant digits: what the last bits of a C library could change is cut off."""
    if not isinstance(value, float) or value == 0:
        return value
    return round(value, 4 - math.floor(math.log10(abs(value))))


def with_tables(text: str, studies: Mapping[str, Study]) -> str:
    """A page with its tables drawn anew from what is stored."""

    def drawn(mark: re.Match[str]) -> str:
        study = studies[mark["study"]]
        header, *body = study.table(study.stored(), mark["part"] or "")
        if not body:
            raise LookupError(f"{mark['study']} has no rows for {mark['part']!r}")
        rule = ["---"] * len(header)
        lines = [f"| {' | '.join(cells)} |" for cells in (header, rule, *body)]
        return mark["begin"] + "\n" + "\n".join(lines) + "\n\n" + mark["end"]

    return _MARK.sub(drawn, text)


def write_tables(studies: Mapping[str, Study]) -> None:
    """Draw the tables of every page."""
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(with_tables(page.read_text(encoding="utf-8"), studies), encoding="utf-8")
