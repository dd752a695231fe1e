"""A file of Minitopo: `key:value` lines, and what is wrong with them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from mptcplab.files import read
from mptcplab.scenario.errors import Problem, did_you_mean, one_of, show

T = TypeVar("T")


@dataclass
class File:
    """A file of `key:value` lines: each key with its values and their lines."""

    name: str
    problems: list[Problem] = field(default_factory=list)
    values: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "File":
        """Every line; those that are none become problems."""
        file = cls(str(path))
        try:
            lines = read(path).decode().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            file.problems.append(Problem(file.name, "", f"nothing readable ({error})", "a file of Minitopo"))
            lines = []
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            key, colon, value = line.strip().partition(":")
            if not colon:
                file.problems.append(Problem(file.name, "", show(line.strip()), "key:value", number))
            else:
                file.values.setdefault(key, []).append((value, number))
        return file

    def report(self, key: str, found: str, expected: str, line: int | None = None) -> None:
        """A problem at a key's last line, or at `line`."""
        if line is None and key in self.values:
            line = self.values[key][-1][1]
        self.problems.append(Problem(self.name, key, found, expected, line))

    def get(self, key: str, default: str) -> str:
        """A key's value; it may have one only."""
        values = self.values.get(key, [(default, 0)])
        if len(values) > 1:
            self.report(key, f"{len(values)} values", "one")
        return values[-1][0]

    def choose(self, key: str, default: str, known: Mapping[str, T]) -> T:
        """What a key's value stands for."""
        value = self.get(key, default)
        if value not in known:
            self.report(key, show(value), f"{one_of(list(known))}{did_you_mean(value, known)}")
            return known[default]
        return known[value]

    def number(self, key: str, text: str, convert: Callable[[str], float], least: float, what: str) -> float:
        """A number of at least `least`; at a key that has another, a problem."""
        try:
            value = convert(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            self.report(key, show(text), what)
            return max(least, 1)
        return value

    def unknown(self, known: Callable[[str], bool], names: tuple[str, ...]) -> None:
        """Report the keys that nobody knows."""
        for key in self.values:
            if not known(key):
                self.report(key, "an unknown key", f"{one_of(names)}{did_you_mean(key, names)}")
