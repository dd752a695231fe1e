"""The tables of the studies: kept in studies/results with the version they were made with, and drawn into the pages.

A page has `<!-- study: NAME -->` and `<!-- end -->`; between them stands what the study printed. With
`<!-- study: NAME 2 3 -->` it is only the second and third table. A line printed below a table belongs to that table.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "studies" / "results"
PAGES: Final = ROOT / "docs"
_MARK: Final = re.compile(
    r"(?P<begin><!-- study: (?P<study>[\w-]+)(?P<parts>(?: \d+)*) -->\n).*?(?P<end><!-- end -->)", re.S
)


@dataclass
class Table:
    """A table that a study printed."""

    title: str
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Lines printed below it."""

    def markdown(self) -> str:
        """As a page shows it."""
        lines = (f"| {' | '.join(cells)} |" for cells in (self.header, ["---"] * len(self.header), *self.rows))
        return "\n\n".join([f"**{self.title}**", "\n".join(lines), *self.notes])


@dataclass(frozen=True)
class Results:
    """What a study printed, and with what it was made."""

    study: str
    version: str
    tables: Sequence[Table]
    kernel: str = ""
    """The guest's Linux, where there was one."""

    def write(self, place: Path = RESULTS) -> None:
        """Keep it, one row a line."""
        rows = {f'"row {number} {at}"': row for number, t in enumerate(self.tables) for at, row in enumerate(t.rows)}
        data: dict[str, Any] = asdict(self)
        for number, table in enumerate(data["tables"]):
            table["rows"] = [f"row {number} {at}" for at in range(len(table["rows"]))]
        text = json.dumps(data, ensure_ascii=False, indent=1)
        for name, row in rows.items():
            text = text.replace(name, json.dumps(row, ensure_ascii=False), 1)
        place.mkdir(exist_ok=True)
        (place / f"{self.study}.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, study: str, place: Path = RESULTS) -> "Results":
        """What is kept of a study."""
        data: Mapping[str, Any] = json.loads((place / f"{study}.json").read_text(encoding="utf-8"))
        return cls(**{**data, "tables": [Table(**each) for each in data["tables"]]})

    def markdown(self, parts: Sequence[int] = ()) -> str:
        """The tables as a page shows them, and where they come from."""
        chosen = [self.tables[part - 1] for part in parts] if parts else self.tables
        linux = f" and Linux {self.kernel}" if self.kernel else ""
        made = f"*`python -m studies {self.study}`, with mptcplab {self.version}{linux}.*"
        return "\n\n".join([*(table.markdown() for table in chosen), made])


def drawn(text: str, place: Path = RESULTS) -> str:
    """A page with its tables drawn anew from what is kept."""

    def fill(mark: re.Match[str]) -> str:
        parts = [int(part) for part in mark["parts"].split()]
        return f"{mark['begin']}\n{Results.read(mark['study'], place).markdown(parts)}\n\n{mark['end']}"

    return _MARK.sub(fill, text)


def draw_pages() -> None:
    """Draw the tables of every page."""
    for page in sorted(PAGES.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := drawn(text)) != text:
            page.write_text(new, encoding="utf-8")
