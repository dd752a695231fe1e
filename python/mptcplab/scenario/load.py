"""A scenario, from its file to what an engine needs."""

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from mptcplab import registry, shipped
from mptcplab.scenario import canonical, describe, support
from mptcplab.scenario.errors import Problem, ScenarioError, UnsupportedError, did_you_mean
from mptcplab.scenario.lines import Key, Places
from mptcplab.scenario.model import Document
from mptcplab.scenario.overrides import FILE, apply
from mptcplab.scenario.read import Reader, parse

T = TypeVar("T")


class Scenario:
    """A scenario that was found right. Immutable; equal to another when both mean the same run."""

    __slots__ = ("_data", "_derived", "_overridden", "_text", "document", "name", "source")

    document: Document
    """The parts, validated and in base units."""
    name: str
    """The file's name without its ending."""
    source: str
    """The file, as errors name it."""

    def __init__(
        self,
        data: dict[str, Any],
        text: str,
        source: str,
        changes: Sequence[str] = (),
        overridden: Sequence[Key] = (),
    ) -> None:
        """From parsed TOML and the text that it came from; `load` and `from_toml` are the ways in."""
        self._data = copy.deepcopy(data)
        self._text = text
        self.source = source
        self.name = "scenario" if source.startswith("<") else Path(source).stem
        keys, problems = apply(self._data, changes)
        self._overridden = [*overridden, *keys]
        folder = Path() if source.startswith("<") else Path(source).parent
        reader = Reader(self._places(), folder)
        document = reader.document(self._data, self.name)
        problems += reader.problems
        if problems or document is None:
            raise ScenarioError(problems)
        self.document = document
        self._derived: dict[str, Any] = {}

    def _places(self) -> Places:
        return Places(self._text, self.source, self._overridden, FILE)

    @classmethod
    def load(cls, path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> "Scenario":
        """Reads a file, or a ready-made scenario by its name ("wifi-lte") where there is no file of that name.

        Raises `ScenarioError`, which lists every error in the file; also when the file cannot be read.
        """
        source = os.fspath(path)
        if shipped.is_name(source) and not Path(source).exists():
            file = shipped.scenario_file(source)
            if file is None:
                hint = did_you_mean(source, shipped.scenario_names())
                expected = f"a scenario file or the name of a ready-made scenario{hint}"
                raise ScenarioError([Problem(source, "", "neither of this name", expected)])
            source = str(file)
        try:
            text = Path(source).read_bytes().decode("utf-8-sig")
        except OSError as error:
            found = f"nothing to read ({error.strerror or error})"
            raise ScenarioError([Problem(source, "", found, "a scenario file")]) from error
        except UnicodeDecodeError as error:
            found = f"a byte that is no UTF-8, at offset {error.start}"
            raise ScenarioError([Problem(source, "", found, "a TOML file, which is UTF-8")]) from None
        return cls.from_toml(text, source, overrides)

    @classmethod
    def from_toml(cls, text: str, source: str = "<string>", overrides: Sequence[str] = ()) -> "Scenario":
        """Reads a text; `source` is what errors call it."""
        return cls(parse(text, source), text, source, overrides)

    def with_overrides(self, overrides: Sequence[str]) -> "Scenario":
        """This scenario with keys changed, each as `key=value`; raises `ScenarioError`."""
        return Scenario(self._data, self._text, self.source, overrides, self._overridden)

    def with_seed(self, seed: int) -> "Scenario":
        """This scenario with another seed; nothing is read or checked again. Raises `ScenarioError`."""
        if type(seed) is not int or not 0 <= seed < 2**64:
            return self.with_overrides([f"seed={seed}"])
        other = copy.copy(self)
        other._data = {**self._data, "seed": seed}
        other._overridden = [*self._overridden, ("seed",)]
        other.document = replace(self.document, seed=seed)
        other._derived = self._derived
        return other

    def derived(self, what: str, make: Callable[[], T]) -> T:
        """What `make` gives: made once for this scenario and those that are the same but for the seed.

        `what` names it. It must not depend on the seed, and goes with the last of these scenarios.
        """
        if what not in self._derived:
            self._derived[what] = make()
        made: T = self._derived[what]
        return made

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """All but what can be derived again."""
        return None, {name: getattr(self, name) for name in self.__slots__} | {"_derived": {}}

    @property
    def title(self) -> str:
        """The title; the name where the file has none."""
        return self.document.title

    @property
    def duration_ns(self) -> int:
        """Virtual time at which the run ends."""
        return self.document.duration_ns

    @property
    def seed(self) -> int:
        """The seed of the file."""
        return self.document.seed

    def to_toml(self) -> str:
        """The complete scenario: every default written out, one text for all the ways to say the same."""
        before, after = self.derived("toml", lambda: canonical.around_seed(self.document))
        return f"{before}{self.seed}{after}"

    def sha256(self) -> str:
        """Of `to_toml`, in hexadecimal."""
        return sha256(self.to_toml().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.to_toml() == other.to_toml() if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.title}>"

    def unsupported(self, engine: str) -> list[Problem]:
        """What this engine cannot do yet; `ValueError` for a name that is no engine's."""
        if engine not in registry.ENGINES:
            raise ValueError(f"no engine is called {engine}; there are {', '.join(registry.ENGINES)}")
        return support.unsupported(self.document, engine, self._places())

    def description(self, seed: int | None = None, through_wire: bool = False) -> dict[str, Any]:
        """The complete description for the simulation core; raises `UnsupportedError` for what it cannot do."""
        problems = self.unsupported("sim")
        if problems:
            raise UnsupportedError("sim", problems)
        seed = self.seed if seed is None else seed
        if not 0 <= seed < 2**64:
            raise ValueError(f"a seed is a whole number from 0 to {2**64 - 1}, not {seed}")
        return describe.description(self.document, seed, through_wire)
