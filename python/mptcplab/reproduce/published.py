"""What a paper prints: `published.toml`.

title = "…"
authors = ["…"]
year = 2013
principal = ["table-1/lia-aggregate"]   # the claims that matter most, ITEM/CLAIM: the first screen of the report

[[item]]
id = "table-1"
kind = "table"                  # or "figure", "section", "future" (what the paper leaves for later)
number = "I"                    # as the paper has it
page = 5                        # or, where the text has no pages: section = "4.1"
caption = "…"

[[item.value]]                  # a number that is printed
key = "lia-aggregate"
number = 52.0
unit = "Mbit/s"

[[item.statement]]              # a sentence that can be tested, for a figure without printed numbers
id = "falls"
text = "…"
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mptcplab.errors import Error
from mptcplab.scenario.errors import one_of, show
from mptcplab.scenario.lines import Key, Places

FUTURE: Final = "future"
"""What the paper leaves for later: repeated, and not counted among its claims."""
_KINDS: Final = ("table", "figure", "section", FUTURE)


class PublishedError(Error):
    """`published.toml` is wrong: every problem that was found, with file and line."""


@dataclass(frozen=True)
class Value:
    """A number that the paper prints."""

    key: str
    number: float
    unit: str = ""


@dataclass(frozen=True)
class Item:
    """A table or a figure of the paper, or a section that claims what neither shows."""

    id: str
    kind: str
    number: str
    page: int | None
    caption: str
    values: Mapping[str, Value] = field(default_factory=dict)
    """By their keys."""
    statements: Mapping[str, str] = field(default_factory=dict)
    """Texts by their ids."""
    section: str = ""
    """Where the text has no pages."""

    def __getitem__(self, key: str) -> float:
        """The number printed under this key."""
        return self.values[key].number

    @property
    def name(self) -> str:
        """`Table 5.3`, `Figure 9`, `Future work 7.1`."""
        return f"{'Future work' if self.is_future else self.kind.capitalize()} {self.number}"

    @property
    def is_future(self) -> bool:
        """Whether the paper leaves it for later, and claims nothing."""
        return self.kind == FUTURE

    @property
    def place(self) -> str:
        """`Page 5`, `Section 4.1`."""
        return f"Section {self.section}" if self.page is None else f"Page {self.page}"


@dataclass(frozen=True)
class Published:
    """A paper's `published.toml`."""

    title: str
    authors: tuple[str, ...]
    year: int
    items: Mapping[str, Item]
    """By their ids, in the order of the file."""
    principal: tuple[str, ...] = ()
    """The claims that matter most: `ITEM/CLAIM`, in this order."""


def read(file: Path) -> Published:
    """Read and check a `published.toml`. Raises PublishedError, OSError."""
    text = file.read_text(encoding="utf-8")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PublishedError(f"{file}: {error}") from None
    reader = _Reader(Places(text, str(file), (), ""))
    published = reader.published(data)
    if reader.found:
        raise PublishedError("\n".join(reader.found))
    return published


class _Reader:
    def __init__(self, places: Places) -> None:
        self._places = places
        self.found: list[str] = []

    def _wrong(self, key: Key, found: str, expected: str) -> None:
        self.found.append(str(self._places.problem(key, found, expected)))

    def _get(self, table: Mapping[str, Any], key: Key, kind: type | tuple[type, ...], expected: str) -> Any:  # noqa: ANN401
        value = table.get(str(key[-1]))
        if isinstance(value, bool) or not isinstance(value, kind) or value == "":
            self._wrong(key, "nothing" if value is None else show(value), expected)
            return None
        return value

    def _known(self, table: Mapping[str, Any], key: Key, names: tuple[str, ...]) -> None:
        for name in table:
            if name not in names:
                self._wrong((*key, name), f"an unknown key {show(name)}", f"one of {', '.join(names)}")

    def _tables(self, table: Mapping[str, Any], key: Key) -> Iterator[tuple[Key, dict[str, Any]]]:
        items = table.get(str(key[-1]), [])
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            self._wrong(key, show(items), f"tables under [[{'.'.join(str(part) for part in key)}]]")
            return
        for at, item in enumerate(items):
            yield (*key, at), item

    def _again(self, key: Key, name: object, names: Mapping[str, object]) -> bool:
        if name in names:
            self._wrong(key, f"{show(name)} twice", "each once")
            return True
        return name is None

    def published(self, data: Mapping[str, Any]) -> Published:
        self._known(data, (), ("title", "authors", "year", "principal", "item"))
        title = self._get(data, ("title",), str, "the paper's title")
        year = self._get(data, ("year",), int, "the year, a whole number")
        authors = self._get(data, ("authors",), list, "an array of names") or []
        items: dict[str, Item] = {}
        for key, table in self._tables(data, ("item",)):
            item = self._item(key, table)
            if not self._again((*key, "id"), item.id, items):
                items[item.id] = item
        principal = self._get({"principal": [], **data}, ("principal",), list, "an array of ITEM/CLAIM") or []
        for each in principal:
            if str(each).split("/", 1)[0] not in items:
                self._wrong(("principal",), show(each), "ITEM/CLAIM with the id of an item")
        return Published(title, tuple(str(name) for name in authors), year, items, tuple(map(str, principal)))

    def _item(self, key: Key, table: Mapping[str, Any]) -> Item:
        self._known(table, key, ("id", "kind", "number", "page", "section", "caption", "value", "statement"))
        kind = self._get(table, (*key, "kind"), str, one_of([show(name) for name in _KINDS]))
        if kind is not None and kind not in _KINDS:
            self._wrong((*key, "kind"), show(kind), one_of([show(name) for name in _KINDS]))
        values: dict[str, Value] = {}
        for place, each in self._tables(table, (*key, "value")):
            self._known(each, place, ("key", "number", "unit"))
            name = self._get(each, (*place, "key"), str, "a key, a string")
            number = self._get(each, (*place, "number"), (int, float), "the printed number")
            unit = self._get({"unit": " ", **each}, (*place, "unit"), str, "a unit, a string") or ""
            if not self._again((*place, "key"), name, values) and number is not None:
                values[name] = Value(name, float(number), unit.strip())
        statements: dict[str, str] = {}
        for place, each in self._tables(table, (*key, "statement")):
            self._known(each, place, ("id", "text"))
            name = self._get(each, (*place, "id"), str, "an id, a string")
            text = self._get(each, (*place, "text"), str, "a sentence that can be tested")
            if not self._again((*place, "id"), name, {**values, **statements}) and text is not None:
                statements[name] = text
        if not values and not statements:
            self._wrong(key, "an item without values or statements", "[[item.value]] or [[item.statement]] tables")
        section = self._get(table, (*key, "section"), str, "the section") if "section" in table else ""
        paged = "page" in table or "section" not in table
        return Item(
            id=self._get(table, (*key, "id"), str, 'an id, such as "table-5.3"'),
            kind=str(kind),
            number=str(self._get(table, (*key, "number"), (str, int), "its number in the paper")),
            page=self._get(table, (*key, "page"), int, "the page, a whole number") if paged else None,
            caption=self._get(table, (*key, "caption"), str, "the caption"),
            values=values,
            statements=statements,
            section=section or "",
        )
