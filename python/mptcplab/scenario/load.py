"""A scenario, from its file to what an engine needs."""

import copy
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from mptcplab import files, registry, shipped
from mptcplab.scenario import canonical, describe, support
from mptcplab.scenario.errors import Problem, ScenarioError, UnsupportedError, did_you_mean
from mptcplab.scenario.lines import Key, Places
from mptcplab.scenario.model import Document
from mptcplab.scenario.overrides import FILE, Change, apply
from mptcplab.scenario.read import Reader, parse

T = TypeVar("T")


class Scenario:
    """A valid scenario. It is immutable, and equal to another scenario if both describe the same run."""

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
        changes: Sequence[str | Change] = (),
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
        reader = Reader(self.places(), folder)
        document = reader.document(self._data, self.name)
        problems += reader.problems
        if problems or document is None:
            raise ScenarioError(problems)
        self.document = document
        self._derived: dict[str, Any] = {}

    def places(self) -> Places:
        """Where keys stand in the file, for the problems that an engine reports.

        >>> from mptcplab import Scenario
        >>> text = 'duration = "1 s"\\n[link.a]\\nrate = "1 Mbit/s"\\ndelay = "1 s"\\n[connection.m]\\npaths = ["a"]\\n'
        >>> print(Scenario.from_toml(text, "a.toml").places().problem(("link", "a", "rate"), '"1 Mbit/s"', "more"))
        a.toml:3: link.a.rate: found "1 Mbit/s"; expected more
        """
        return Places(self._text, self.source, self._overridden, FILE)

    @classmethod
    def load(cls, path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> "Scenario":
        """Read a file or, if there is no file of that name, a ready-made scenario ("wifi-lte").

        Raises `ScenarioError`, which lists all errors in the file, also if the file cannot be read.

        >>> from mptcplab import Scenario
        >>> Scenario.load("wifi-lte", overrides=["link.wifi.rate=10 Mbit/s"]).name
        'wifi-lte'
        >>> Scenario.load("wifi-lt")
        Traceback (most recent call last):
        mptcplab.scenario.errors.ScenarioError: wifi-lt: found neither a file nor a ready-made name;
        expected a scenario file or the name of a ready-made one; did you mean "wifi-lte"?
        """
        text, source = read_named(path, "a scenario file", shipped.scenario_file, shipped.scenario_names)
        return cls.from_toml(text, source, overrides)

    @classmethod
    def from_toml(cls, text: str, source: str = "<string>", overrides: Sequence[str] = ()) -> "Scenario":
        """Read a scenario from a string; errors refer to it as `source`.

        Raises `ScenarioError`, which lists every error.

        >>> from mptcplab import Scenario
        >>> text = '''
        ... duration = "5 s"
        ... link.a = { rate = "10 Mbit/s", delay = "10 ms" }
        ... connection.m.paths = ["a"]
        ... '''
        >>> Scenario.from_toml(text).document.links["a"].direction("down").delay_ns
        10000000
        """
        return cls(parse(text, source), text, source, overrides)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], name: str = "scenario") -> "Scenario":
        """Create a scenario from the keys of a scenario file (docs/scenario-format.md), as a dictionary.

        Quantities are strings with units, as in a file. Tuples count as lists. `name` is the name of the scenario.
        Trace files are searched relative to the current directory.

        Raises `ScenarioError`, which lists every error.

        >>> from mptcplab import Scenario
        >>> link = {"rate": "10 Mbit/s", "delay": "10 ms"}
        >>> scenario = Scenario.from_dict(
        ...     {"duration": "5 s", "link": {"a": link}, "connection": {"m": {"paths": ["a"]}}}
        ... )
        >>> scenario.duration_ns
        5000000000
        """
        scenario = cls(plain(data), "", "<dict>")
        scenario.name = name
        return scenario

    @classmethod
    def build(
        cls,
        *,
        duration: str,
        links: Mapping[str, Mapping[str, Any]] | None = None,
        media: Mapping[str, Mapping[str, Any]] | None = None,
        connections: Mapping[str, Mapping[str, Any]] | None = None,
        paths: Mapping[str, Sequence[str]] | None = None,
        events: Sequence[Mapping[str, Any]] = (),
        warmup: str | None = None,
        sample: str | None = None,
        topology: Mapping[str, Any] | None = None,
        traffic: Mapping[str, Any] | None = None,
        testbed: Mapping[str, Any] | None = None,
        endpoints: Sequence[Mapping[str, Any]] = (),
        limits: Mapping[str, Any] | None = None,
        title: str | None = None,
        seed: int = 1,
        name: str = "scenario",
    ) -> "Scenario":
        """Create a scenario from parts returned by `mptcplab.link`, `mptcplab.connection` and `mptcplab.event`.

        `paths` lists the links of each path, starting at the client; each link is also a path of the same name.

        Raises `ScenarioError`, which lists every error.

        >>> from mptcplab import Scenario, connection, link
        >>> scenario = Scenario.build(
        ...     duration="20 s",
        ...     links={"wifi": link(rate="25 Mbit/s", delay="12 ms"), "lte": link(rate="30 Mbit/s", delay="32 ms")},
        ...     connections={"download": connection(["wifi", "lte"], congestion="olia")},
        ...     warmup="2 s",
        ... )
        >>> scenario.document.connections["download"].congestion.name
        'olia'
        """
        measure = {key: value for key, value in (("warmup", warmup), ("sample", sample)) if value is not None}
        parts = {
            "title": title,
            "duration": duration,
            "seed": seed,
            "medium": media,
            "link": links,
            "path": None if paths is None else {key: {"links": list(value)} for key, value in paths.items()},
            "connection": connections,
            "event": list(events) or None,
            "measure": measure or None,
            "topology": topology,
            "traffic": traffic,
            "testbed": testbed,
            "endpoint": list(endpoints) or None,
            "limits": limits,
        }
        return cls.from_dict({key: value for key, value in parts.items() if value is not None}, name)

    def with_(self, *changes: Mapping[str, object] | str, **keys: object) -> "Scenario":
        """Return a copy of this scenario with some keys changed.

        Each of `changes` is a mapping from dotted keys, as in error messages, to values like those of `from_dict`, or
        text as for `--set`: `"link.wifi.rate=10 Mbit/s"`. `keys` are top-level keys. Of one key the last change counts.

        Raises `ScenarioError` if a key or a value is invalid.

        >>> from mptcplab import Scenario
        >>> scenario = Scenario.load("wifi-lte").with_({"link.wifi.rate": "10 Mbit/s"}, duration="30 s", seed=3)
        >>> scenario.to_dict()["link"]["wifi"]["rate"], scenario.seed
        ('10 Mbit/s', 3)
        >>> scenario.with_("link.wifi.rate=5 Mbit/s", "seed=4").seed
        4
        """
        if not changes and keys.keys() == {"seed"}:
            seed = keys["seed"]
            if type(seed) is int and 0 <= seed < 2**64:
                return self._with_seed(seed)
        given: list[str | Change] = []
        for change in changes:
            if isinstance(change, str):
                given.append(change)
            else:
                given += [(key, plain(value)) for key, value in change.items()]
        given += [(key, plain(value)) for key, value in keys.items()]
        other = Scenario(self._data, self._text, self.source, given, self._overridden)
        other.name = self.name
        return other

    def _with_seed(self, seed: int) -> "Scenario":
        """A copy that is not checked again: of many runs each has another seed."""
        other = copy.copy(self)
        other._data = {**self._data, "seed": seed}
        other._overridden = [*self._overridden, ("seed",)]
        other.document = replace(self.document, seed=seed)
        other._derived = self._derived
        return other

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """All but what can be derived again."""
        return None, {name: getattr(self, name) for name in self.__slots__} | {"_derived": {}}

    @property
    def title(self) -> str:
        """The title, or the name if the file has no title."""
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
        """The complete scenario as TOML: all defaults written out, in a canonical form.

        >>> from mptcplab import Scenario
        >>> scenario = Scenario.load("wifi-lte")
        >>> Scenario.from_toml(scenario.to_toml()) == scenario
        True
        """
        before, after = once(self, "toml", lambda: canonical.around_seed(self.document))
        return f"{before}{self.seed}{after}"

    def to_dict(self) -> dict[str, Any]:
        """The complete scenario as a dictionary for `from_dict`.

        >>> from mptcplab import Scenario
        >>> Scenario.load("wifi-lte").to_dict()["link"]["wifi"]["delay"]
        '12.5 ms'
        """
        return tomllib.loads(self.to_toml())

    def sha256(self) -> str:
        """The SHA-256 of `to_toml`, in hexadecimal.

        >>> from mptcplab import Scenario
        >>> scenario = Scenario.load("wifi-lte")
        >>> scenario.sha256() == scenario.with_({"link.wifi.rate": "10 Mbit/s"}).sha256()
        False
        """
        return sha256(self.to_toml().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.to_toml() == other.to_toml() if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {self.title}>"

    def unsupported(self, engine: str) -> list[Problem]:
        """What this engine does not support; raises `ValueError` for an unknown engine.

        >>> from mptcplab import Scenario
        >>> scenario = Scenario.load("lte-trace")
        >>> scenario.unsupported("sim")
        []
        >>> scenario.unsupported("model")[0].key
        'link.lte.down.trace'
        """
        if engine not in registry.ENGINES:
            raise ValueError(f"there is no engine {engine!r}; choose from {', '.join(registry.ENGINES)}")
        found = once(
            self, f"unsupported by {engine}", lambda: support.unsupported(self.document, engine, self.places())
        )
        return list(found)

    def description(self, seed: int | None = None, through_wire: bool = False) -> dict[str, Any]:
        """The complete description for the simulation core, in base units.

        Raises `UnsupportedError` if the engine `sim` does not support the scenario, `ValueError` for an invalid seed.

        >>> from mptcplab import Scenario
        >>> Scenario.load("wifi-lte").description(seed=7)["seed"]
        7
        """
        problems = self.unsupported("sim")
        if problems:
            raise UnsupportedError("sim", problems)
        seed = self.seed if seed is None else seed
        if not 0 <= seed < 2**64:
            raise ValueError(f"a seed must be a whole number from 0 to {2**64 - 1}, not {seed}")
        return describe.description(self.document, seed, through_wire)


def once(scenario: Scenario, what: str, make: Callable[[], T]) -> T:
    """The result of `make`, computed once for this scenario and all that differ from it only in the seed.

    `what` names it. It must not depend on the seed, and is released with the last of these scenarios.
    """
    known = scenario._derived
    if what not in known:
        known[what] = make()
    made: T = known[what]
    return made


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever a caller gives
    """As TOML would have read it: dictionaries and lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def read_named(
    path: str | os.PathLike[str],
    kind: str,
    ready_made: Callable[[str], Path | None],
    names: Callable[[], Sequence[str]],
) -> tuple[str, str]:
    """The text of a file or, if there is no file of that name, of a ready-made one; and the file as errors name it.

    Raises ScenarioError.
    """
    source = os.fspath(path)
    if shipped.is_name(source) and not files.exists(source):
        file = ready_made(source)
        if file is None:
            expected = f"{kind} or the name of a ready-made one{did_you_mean(source, names())}"
            raise ScenarioError([Problem(source, "", "neither a file nor a ready-made name", expected)])
        source = str(file)
    try:
        return files.read(source).decode("utf-8-sig"), source
    except OSError as error:
        raise ScenarioError([Problem(source, "", f"nothing readable ({error.strerror or error})", kind)]) from error
    except UnicodeDecodeError as error:
        found = f"a byte that is not valid UTF-8, at offset {error.start}"
        raise ScenarioError([Problem(source, "", found, "a TOML file, which is UTF-8")]) from None
