"""Errors in a scenario: location, value found, value expected."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import Error
from mptcplab.hints import did_you_mean as did_you_mean

Part = str | int
"""One step of a key: a name in a table or an index in an array."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST = 80


def dotted(parts: Iterable[Part]) -> str:
    """A key as one writes it: `link.wifi.rate`, `event.0.at`, `link."a.b".rate`."""
    return ".".join(
        part if isinstance(part, str) and _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False)
        for part in parts
    )


def _whole(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 8 * _LONGEST:
        # Python refuses to write numbers of thousands of digits, and nobody would read them.
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        inside = ", ".join(f"{dotted([str(key)])} = {_whole(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_whole(item) for item in value)}]"
    return str(value)


def show(value: object) -> str:
    """A value as TOML writes it, cut when it is long."""
    text = _whole(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def one_of(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def searched(folders: Sequence[Path]) -> str:
    """Where a file was looked for: the scenario's directory, which is the first, and the current one."""
    return f"the scenario's directory: {folders[0]}{', or to the current directory' if len(folders) > 1 else ''}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, or that an engine cannot do."""

    file: str
    """The file, or `--set` for an override."""
    key: str
    """Dotted; empty when it is about the whole file."""
    found: str
    expected: str
    line: int | None = None
    """From 1; absent when it is not known."""
    column: int | None = None

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        key = f"{self.key}: " if self.key else ""
        return f"{where}: {key}found {self.found}; expected {self.expected}"


class ScenarioError(Error):
    """The scenario is invalid; `problems` lists every error."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)


class UnsupportedError(Error):
    """The scenario is valid, but the engine does not support it; `problems` lists everything unsupported."""

    def __init__(self, engine: str, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.engine = engine
        self.problems = list(problems)
