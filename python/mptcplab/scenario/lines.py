"""Where the keys of a TOML text stand: `tomllib` keeps no positions, and an error should name the line."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from mptcplab.scenario.errors import Part, Problem, dotted

Key = tuple[Part, ...]
# A value that is longer than this is not searched for: each of its lines is one attempt to parse.
_LONGEST_STATEMENT = 500


def _header(line: str, counts: dict[Key, int]) -> Key:
    """The key of `[a.b]` or `[[a]]`, with the index of the table meant where a part is an array of tables."""
    rest: Any = tomllib.loads(line)
    key: Key = ()
    while rest:
        name, rest = next(iter(rest.items()))
        key += (name,)
        if isinstance(rest, list):
            counts[key] = counts.get(key, -1) + 1
            rest = rest[0]
        if key in counts:
            key += (counts[key],)
    return key


def _record(prefix: Key, value: object, line: int, found: dict[Key, int]) -> None:
    items: Sequence[tuple[Part, object]] = ()
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for part, inner in items:
        found.setdefault((*prefix, part), line)
        _record((*prefix, part), inner, line, found)


def key_lines(text: str) -> dict[Key, int]:
    """The line, from 1, of every key of a text that `tomllib` reads.

    A statement ends with the first line at which it parses, so strings and arrays of several lines need no lexer.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    found: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    table: Key = ()
    start = 0
    while start < len(lines):
        end = start + 1
        stripped = lines[start].strip()
        if stripped.startswith("["):
            table = _header(stripped, counts)
            for length in range(1, len(table) + 1):
                found.setdefault(table[:length], start + 1)
        elif stripped and not stripped.startswith("#"):
            while True:
                try:
                    _record(table, tomllib.loads("\n".join(lines[start:end])), start + 1, found)
                    break
                except tomllib.TOMLDecodeError:
                    end += 1
                    if end > len(lines) or end - start > _LONGEST_STATEMENT:
                        return found
        start = end
    return found


def line_of(key: Key, lines: Mapping[Key, int]) -> int | None:
    """The line of a key, or of the nearest table around it."""
    return next((lines[key[:length]] for length in range(len(key), 0, -1) if key[:length] in lines), None)


class Places:
    """Says of a key where it was given: a line of the text, or an override."""

    def __init__(self, text: str, source: str, overridden: Sequence[Key], override_name: str) -> None:
        self._text = text
        self._source = source
        self._overridden = overridden
        self._override_name = override_name
        # Looked for only when there is something to report.
        self._lines: dict[Key, int] | None = None

    def is_overridden(self, key: Key) -> bool:
        """Whether an override gave this key or a table around it."""
        return any(key[: len(changed)] == changed for changed in self._overridden)

    def problem(self, key: Key, found: str, expected: str) -> Problem:
        """A problem of this key."""
        if self.is_overridden(key):
            return Problem(self._override_name, dotted(key), found, expected)
        if self._lines is None:
            self._lines = key_lines(self._text)
        return Problem(self._source, dotted(key), found, expected, line_of(key, self._lines))
