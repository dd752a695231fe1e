"""The machine of a work: what its results were made on, entry by entry with its source; `machine.toml`.

[[entry]]
id = "packet"                   # by which the study takes the value
name = "Packets, with their headers"
value = 1040
unit = "B"
source = "digit"                # "text"; "digit", what printed digits imply; "default", the public default of that
                                # program at that date; "assumed"
why = "every subflow rate of tables III to VI is a multiple of 8 · 1040 bit / 100.1 s"
text = 1000                     # what the text alone says or lets one assume, where that is something else
here = "…"                      # what this study has instead, where it cannot have the value

What ran is judged (docs/decisions/0020-chance-has-a-rule.md). An item that uses an entry with a `text` of its own is
repeated by the text alone as well, and both are reported.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mptcplab.errors import Error
from mptcplab.scenario.errors import one_of, show

FILE: Final = "machine.toml"
SOURCES: Final = {
    "text": "the text",
    "digit": "printed digits",
    "default": "that program's default at that date",
    "assumed": "assumed",
}
Setting = str | int | float | bool


class MachineError(Error):
    """`machine.toml` is wrong."""


@dataclass(frozen=True)
class Entry:
    """One thing of the machine."""

    id: str
    name: str
    value: Setting
    source: str
    """A key of SOURCES."""
    why: str
    """Where the source says so."""
    unit: str = ""
    text: Setting | None = None
    """What the text alone says, where that is something else."""
    here: str = ""
    """What the study has instead, where it cannot have the value."""

    def shown(self, value: Setting | None) -> str:
        """`1040 B`."""
        if value is None:
            return ""
        said = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        return f"{said} {self.unit}".strip()


@dataclass(frozen=True)
class Machine:
    """All entries, by their ids, in the order of the file."""

    entries: Mapping[str, Entry] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a string or a number, as the file has it
        """The value that ran, of an entry on which the text says nothing else; an error otherwise."""
        entry = self.entries[key]
        if entry.text is not None:
            raise MachineError(f"{key} has two readings: take it from the context")
        return entry.value


class Reading:
    """The machine as an item of a study sees it: what ran, or the text alone. It notes what it is asked for."""

    def __init__(self, machine: Machine, *, by_text: bool = False) -> None:
        self._machine = machine
        self.by_text = by_text
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a string or a number, as the file has it
        """The value of an entry in this reading. Raises KeyError."""
        entry = self._machine.entries[key]
        self.asked.add(key)
        return entry.text if self.by_text and entry.text is not None else entry.value

    @property
    def has_two(self) -> bool:
        """Whether something was asked for that the text alone reads otherwise."""
        return any(self._machine.entries[key].text is not None for key in self.asked)


def read(file: Path) -> Machine:
    """Read and check a `machine.toml`; without one there are no entries. Raises MachineError, OSError."""
    if not file.exists():
        return Machine()
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise MachineError(f"{file}: {error}") from None
    found: list[str] = [f"{key}: found an unknown key; expected [[entry]] tables" for key in data if key != "entry"]
    entries: dict[str, Entry] = {}
    for at, table in enumerate(data.get("entry", [])):
        problems = _problems(table)
        found += [f"entry.{at}.{problem}" for problem in problems]
        if not problems:
            if table["id"] in entries:
                found.append(f"entry.{at}.id: found {show(table['id'])} twice; expected each once")
            entries[table["id"]] = Entry(**table)
    if found:
        raise MachineError("\n".join(f"{file}: {each}" for each in found))
    return Machine(entries)


_NEEDED: Final = ("id", "name", "value", "source", "why")
_OPTIONAL: Final = ("unit", "text", "here")


def _problems(table: Mapping[str, Any]) -> list[str]:
    found = [f"{key}: found nothing; expected a value" for key in _NEEDED if key not in table]
    found += [
        f"{key}: found an unknown key; expected {one_of([*_NEEDED, *_OPTIONAL])}"
        for key in table
        if key not in (*_NEEDED, *_OPTIONAL)
    ]
    for key in ("id", "name", "source", "why", "unit", "here"):
        if key in table and (not isinstance(table[key], str) or not table[key].strip()):
            found.append(f"{key}: found {show(table[key])}; expected a text")
    for key in ("value", "text"):
        if key in table and not isinstance(table[key], str | int | float):
            found.append(f"{key}: found {show(table[key])}; expected a text or a number")
    if table.get("source") not in (None, *SOURCES) and isinstance(table.get("source"), str):
        found.append(f"source: found {show(table['source'])}; expected {one_of([show(each) for each in SOURCES])}")
    if "text" in table and table.get("text") == table.get("value"):
        found.append("text: found the value itself; expected none where the text says the same")
    return found


def rows(machine: Machine) -> list[dict[str, str]]:
    """The table of the machine in a report."""
    return [
        {
            "name": entry.name,
            "value": entry.shown(entry.value),
            "source": f"{SOURCES[entry.source]}: {entry.why}",
            "text": entry.shown(entry.text),
            "here": entry.here,
        }
        for entry in machine.entries.values()
    ]
