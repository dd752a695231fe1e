"""Where the keys of a TOML text stand: `tomllib` keeps no positions, and an error should name the line."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from mptcplab.scenario.errors import Part, Problem, dotted

Key = tuple[Part, ...]
_TOKEN = re.compile(
    r"""
    (?P<triple>\"{3}|'{3})       # the beginning of a string of several lines
    | "(?:[^"\\\n]|\\.)*"       # a string
    | '[^'\n]*'
    | (?P<comment>\#[^\n]*)
    | (?P<open>[\[{]) | (?P<close>[\]}])
    | (?P<end>\n)
    """,
    re.VERBOSE,
)
_ENDS = {
    '"""': re.compile(r'(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}', re.DOTALL),
    "'''": re.compile(r"(?:[^']|'{1,2}(?!'))*'{3,5}"),
}


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
    """The line, from 1, of every key of a text that `tomllib` reads; in time that grows with its length."""
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    last = _last_lines(text)
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
            end = last.get(start, start) + 1
            try:
                _record(table, tomllib.loads("\n".join(lines[start:end])), start + 1, found)
            except tomllib.TOMLDecodeError:
                return found
        start = end
    return found


def _last_lines(text: str) -> dict[int, int]:
    """Of each statement of more than one line the first and the last line, from 0."""
    found: dict[int, int] = {}
    line = first = depth = at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["triple"]:
            end = _ENDS[token["triple"]].match(text, at)
            if end is None:
                break
            line += text.count("\n", at, end.end())
            at = end.end()
        elif token["open"]:
            depth += 1
        elif token["close"]:
            depth -= 1
        elif token["end"]:
            if depth <= 0:
                if line > first:
                    found[first] = line
                first, depth = line + 1, 0
            line += 1
    if line > first:
        found[first] = line
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
        if key not in self._lines and any(changed[: len(key)] == key for changed in self._overridden):
            return Problem(self._override_name, dotted(key), found, expected)  # a table that only an override has
        return Problem(self._source, dotted(key), found, expected, line_of(key, self._lines))
