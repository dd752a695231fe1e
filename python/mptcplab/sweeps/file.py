"""A sweep file: a scenario, factors with their ranges, a design of points, variants crossed with every point."""

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from mptcplab import designs, files, shipped
from mptcplab.designs import DesignError, Factor, FactorError
from mptcplab.designs.plain import Floats
from mptcplab.engines.catalogue import ENGINES, with_kernels
from mptcplab.scenario import Problem, Scenario, ScenarioError
from mptcplab.scenario.errors import did_you_mean, one_of, show
from mptcplab.scenario.lines import Key, Places
from mptcplab.scenario.load import plain as as_toml
from mptcplab.scenario.load import read_named
from mptcplab.scenario.overrides import FILE
from mptcplab.scenario.read import parse

KINDS: Final = ("wsp", "lhs", "grid", "random", "adaptive")
_KEYS: Final = ("scenario", "engine", "repeat", "design", "factor", "variant")
_ADAPTIVE_KEYS: Final = ("response", "start", "rounds")
_DESIGN_KEYS: Final = ("kind", "points", "seed", "candidates", *_ADAPTIVE_KEYS)
_ROUNDS: Final = 4
_MOST_REPEATS: Final = 1_000_000
_OWN: Final = ("seed", "point", "variant", "engine", "kernel", "repeat", "scenario")
"""Columns of the dataset, which a factor cannot be."""


def _is_engine(name: str) -> bool:
    base, colon, kernel = name.partition(":")
    return base in ENGINES and (not colon or (ENGINES[base].kernels and kernel != ""))


@dataclass(frozen=True)
class Design:
    """How the points are chosen."""

    kind: str = "grid"
    points: int | None = None
    seed: int = 1
    candidates: int | None = None
    response: str = ""
    """Of an adaptive design: the metric whose changes it follows."""
    start: int = 0
    """How many of its points are a WSP design, before anything is known."""
    rounds: int = _ROUNDS
    """In how many parts the others are chosen."""

    def parts(self) -> list[int]:
        """How many points each round of an adaptive design adds, as equal as can be."""
        whole, more = divmod((self.points or 0) - self.start, self.rounds)
        return [whole + (part < more) for part in range(self.rounds)]


@dataclass(frozen=True)
class Sweep:
    """A sweep that was found right; its scenarios are validated as they are made."""

    source: str
    """The file, as errors name it."""
    text: str
    scenario: Scenario
    """The base; the first of several."""
    engine: str
    repeat: int
    design: Design
    factors: tuple[Factor, ...]
    variants: Mapping[str, tuple[Any, ...]]
    """Keys of the scenario and the values that each takes."""
    _places: Places = field(repr=False)
    kernels: tuple[str, ...] = ()
    """Of the engine linux-virtual, each at every point; without any it has the one of its name, or the only one."""
    others: tuple[str, ...] = ()
    """Further engines, on each of which every point runs too."""
    bases: Mapping[str, Scenario] = field(default_factory=dict)
    """Where there are several, all by their names; `scenario` is then the first of `variants`."""
    built: bool = False
    """Whether no file was read: errors then have no lines."""
    grown: Floats | None = field(default=None, repr=False, compare=False)
    """Of an adaptive design: the points so far."""

    @property
    def engines(self) -> tuple[str, ...]:
        """Those that every point runs on: one for each engine and kernel."""
        return tuple(with_kernels([self.engine, *self.others], self.kernels))

    def labels(self) -> list[tuple[str, dict[str, str]]]:
        """Each of `engines` with the columns that tell its runs from those of the others."""
        if self.others:
            return [(engine, {"engine": engine}) for engine in self.engines]
        kernels = self.kernels or (None,)
        return [
            (engine, {} if kernel is None else {"kernel": kernel})
            for engine, kernel in zip(self.engines, kernels, strict=True)
        ]

    def with_kernels(self, kernels: Sequence[str]) -> "Sweep":
        """The same with a run for each of these kernels. Raises ValueError when its engine has none to choose."""
        if self.others or not ENGINES[self.engine.partition(":")[0]].kernels:
            raise ValueError(f'{self.source}: found engine = "{self.engine}"; kernels are of engine = "linux-virtual"')
        return replace(self, engine=self.engine.partition(":")[0], kernels=tuple(kernels))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Sweep":
        """Read a sweep file, or a ready-made one by its name, and its scenario.

        Raises ScenarioError with everything that is wrong.
        """
        text, source = read_named(path, "a sweep file", shipped.sweep_file, shipped.sweep_names)
        reader = _Reader(Places(text, source, (), ""))
        return reader.sweep(parse(text, source), source, text)

    @classmethod
    def build(
        cls,
        scenario: Scenario,
        vary: Mapping[str, Sequence[Any]] | None = None,
        *,
        factors: Mapping[str, Any] | None = None,
        design: Mapping[str, Any] | None = None,
        engine: str | Sequence[str] = "sim",
        repeat: int = 1,
        source: str = "<sweep>",
    ) -> "Sweep":
        """A sweep from its parts: what a sweep file has under `variant`, `factor` and `design`, as dictionaries.

        `vary` has keys of the scenario with the values that are combined with each other and with every point.

        Raises ScenarioError with everything that is wrong.

        >>> from mptcplab import Scenario, Sweep
        >>> base = Scenario.load("two-equal-paths")
        >>> Sweep.build(base, {"duration": ["10 s", "20 s"]}, repeat=3).crossed()
        [{'duration': '10 s'}, {'duration': '20 s'}]
        """
        import tomli_w

        data: dict[str, Any] = {
            "scenario": "scenario.toml",
            "engine": engine if isinstance(engine, str) or len(engine) != 1 else engine[0],
            "repeat": repeat,
            "design": None if design is None else dict(design),
            "factor": None if factors is None else dict(factors),
            "variant": None if vary is None else {key: as_toml(values) for key, values in vary.items()},
        }
        data = {key: as_toml(value) for key, value in data.items() if value is not None}
        try:
            text = tomli_w.dumps(data)
        except (TypeError, ValueError) as error:
            raise ScenarioError([Problem(source, "", str(error), "values that a TOML file may have")]) from None
        try:
            made = _Reader(Places(text, source, (), ""), scenario).sweep(data, source, text)
        except ScenarioError as error:
            problems = [
                replace(each, line=None, column=None, key=each.key.removeprefix("variant.")) for each in error.problems
            ]
            raise ScenarioError(problems) from None
        return replace(made, built=True)

    def with_points(self, points: Floats) -> "Sweep":
        """The same with these points of the unit cube, as an adaptive design finds them."""
        return replace(self, grown=points)

    def with_repeat(self, repeat: int) -> "Sweep":
        """The same with so many runs per point; of one that was built."""
        assert self.built, "a file says how many"
        text = re.sub(r"(?m)^repeat = \d+$", f"repeat = {repeat}", self.text, count=1)
        return replace(self, repeat=repeat, text=text)

    def points(self) -> Floats:
        """The design in the unit cube, shape (points, factors). Raises ScenarioError when there is none such."""
        design, count = self.design, len(self.factors)
        try:
            if not count:
                return np.zeros((1, 0))
            if design.kind == "grid":
                return designs.grid([len(each.values) or each.levels or 0 for each in self.factors])
            if self.grown is not None:
                return self.grown
            points = design.start if design.kind == "adaptive" else design.points or 0
            if design.kind in ("wsp", "adaptive"):
                return designs.wsp(points, count, seed=design.seed, candidates=design.candidates)
            made = designs.latin_hypercube if design.kind == "lhs" else designs.random
            return made(points, count, seed=design.seed)
        except DesignError as error:
            raise ScenarioError([self._places.problem(("design",), str(error), "a known design")]) from None

    def crossed(self) -> list[dict[str, Any]]:
        """Every variant: the value of each of its keys."""
        return [dict(zip(self.variants, values, strict=True)) for values in itertools.product(*self.variants.values())]

    @staticmethod
    def name_of(variant: Mapping[str, Any]) -> str:
        """What a variant is called."""
        return " · ".join(plain(value) for value in variant.values())

    def at(self, values: Mapping[str, Any]) -> Scenario:
        """The scenario with these keys changed. Raises ScenarioError that names the sweep file's line."""
        base = self.bases[values["scenario"]] if self.bases else self.scenario
        try:
            # A value is written as TOML: a name such as "1" stays a string.
            return base.with_(*(f"{key}={_toml(value)}" for key, value in values.items() if key != "scenario"))
        except ScenarioError as error:
            raise ScenarioError([self._own(problem) for problem in error.problems]) from None

    def refused(self, problems: Sequence[Problem]) -> list[Problem]:
        """Problems of a scenario of this sweep, in the words of its file."""
        return [self._own(problem) for problem in problems]

    def _own(self, problem: Problem) -> Problem:
        if problem.file != FILE:
            return problem
        if self.built:
            return replace(problem, file=self.source)
        parts = problem.key.split(".")
        for table, keys in (("factor", [each.key for each in self.factors]), ("variant", list(self.variants))):
            for key in keys:
                own = key.split(".")
                if parts[: len(own)] == own or own[: len(parts)] == parts:
                    return self._places.problem((table, key), problem.found, problem.expected)
        return problem


def plain(value: object) -> str:
    """A string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _toml(value: object) -> str:
    """A value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)


class _Reader:
    def __init__(self, places: Places, scenario: Scenario | None = None) -> None:
        """`scenario` is there where there is no file to name it."""
        self._places = places
        self._given = scenario
        self.problems: list[Problem] = []

    def _wrong(self, key: Key, found: str, expected: str) -> None:
        self.problems.append(self._places.problem(key, found, expected))

    def _whole(self, table: Mapping[str, Any], key: Key, default: int | None, low: int, high: int) -> int | None:
        value = table.get(str(key[-1]), default)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        if value is not default:
            self._wrong(key, show(value), f"a whole number from {low} to {high}")
        return default

    def _known(self, table: Mapping[str, Any], key: Key, names: Sequence[str]) -> None:
        for name in table:
            if name not in names:
                self._wrong(
                    (*key, name),
                    f"an unknown key {show(name)}",
                    f"one of the keys {', '.join(names)}{did_you_mean(name, names)}",
                )

    def _table(self, data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        value = data.get(name, {})
        if isinstance(value, dict):
            return value
        self._wrong((name,), show(value), f"a table, [{name}]")
        return {}

    def sweep(self, data: Mapping[str, Any], source: str, text: str) -> Sweep:
        self._known(data, (), _KEYS)
        engines = self._engines(data.get("engine", "sim"))
        repeat = self._whole(data, ("repeat",), 1, 1, _MOST_REPEATS) or 1
        factors = self._factors(data)
        design = self._design(data, factors)
        variants = self._variants(data, {each.key for each in factors})
        bases = self._bases(data, source)
        for scenario in bases.values():
            if scenario.seed + repeat > 2**64:
                self._wrong(("repeat",), f"{repeat} runs from seed {scenario.seed}", f"seeds up to {2**64 - 1}")
        if design.response and not self.problems:
            self._response(design.response, bases, [each.key for each in factors])
        if self.problems:
            raise ScenarioError(self.problems)
        first, several = next(iter(bases.values())), len(bases) > 1
        return Sweep(
            source,
            text,
            first,
            engines[0],
            repeat,
            design,
            factors,
            {"scenario": tuple(bases), **variants} if several else variants,
            self._places,
            others=engines[1:],
            bases=bases if several else {},
        )

    def _response(self, response: str, bases: Mapping[str, Scenario], factors: Sequence[str]) -> None:
        """A metric that no run has is found before anything runs; links are known once one did."""
        from mptcplab.comparison.metric import MetricError, of_connection

        for scenario in () if response.startswith("link.") else bases.values():
            try:
                of_connection(response, list(scenario.document.connections), factors)
            except MetricError as error:
                self._wrong(("design", "response"), show(response), f"a metric ({error})")

    def _bases(self, data: Mapping[str, Any], source: str) -> dict[str, Scenario]:
        """The scenario, or several in an array, by what the file calls them."""
        given = data.get("scenario")
        names = given if isinstance(given, list) else [given]
        if not names or any(name in names[:at] for at, name in enumerate(names)):
            self._wrong(("scenario",), show(given), "each scenario once, one at least")
            return {}
        read = {str(name): self._scenario(name, source) for name in names}
        return {name: scenario for name, scenario in read.items() if scenario is not None}

    def _engines(self, given: object) -> tuple[str, ...]:
        """The engine, or several in an array."""
        several = given if isinstance(given, list) else [given]
        if not several or any(name in several[:at] for at, name in enumerate(several)):
            self._wrong(("engine",), show(given), "each engine once, one at least")
        for name in several:
            if not isinstance(name, str) or not _is_engine(name):
                hint = did_you_mean(name, ENGINES) if isinstance(name, str) else ""
                expected = f"{one_of([show(each) for each in ENGINES])}, or an array of them{hint}"
                self._wrong(("engine",), show(name), expected)
        return tuple(map(str, several)) or ("sim",)

    def _scenario(self, name: object, source: str) -> Scenario | None:
        if self._given is not None:
            return self._given
        if not isinstance(name, str) or not name:
            found = "nothing" if name is None else show(name)
            self._wrong(
                ("scenario",),
                found,
                "the path of a scenario file, relative to this one, or the name of a ready-made scenario",
            )
            return None
        file = Path(source).parent / name
        if shipped.is_name(name) and not files.exists(file):
            file = shipped.scenario_file(name) or file
        try:
            return Scenario.load(file)
        except ScenarioError as error:
            if not files.exists(file):
                self._wrong(("scenario",), f"{show(name)}, and there is no {file}", "the path of a scenario file")
            else:
                self.problems += error.problems
            return None

    def _design(self, data: Mapping[str, Any], factors: Sequence[Factor]) -> Design:
        table = self._table(data, "design")
        if factors and "design" not in data:
            self._wrong((), "factors without a [design]", f"a [design] with kind = {one_of([show(n) for n in KINDS])}")
            return Design()
        self._known(table, ("design",), _DESIGN_KEYS)
        kind = table.get("kind", "grid" if not factors else None)
        if not isinstance(kind, str) or kind not in KINDS:
            hint = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
            found = "nothing" if kind is None else show(kind)
            self._wrong(("design", "kind"), found, f"{one_of([show(name) for name in KINDS])}{hint}")
            return Design()
        points = self._whole(table, ("design", "points"), None, 1, 1_000_000)
        seed = self._whole(table, ("design", "seed"), 1, 0, 2**64 - 1) or 0
        candidates = self._whole(table, ("design", "candidates"), None, 1, 1_000_000)
        if kind == "grid":
            for name in ("points", "seed", "candidates"):
                if name in table:
                    self._wrong(
                        ("design", name), show(table[name]), "a grid without it: its factors determine the points"
                    )
            for each in factors:
                if not each.values and each.levels is None:
                    self._wrong(
                        ("factor", each.key), "a range without levels", "a list, or { from = …, to = …, levels = 5 }"
                    )
        elif "points" not in table:
            self._wrong(("design", "points"), "nothing", "the number of points, a whole number")
        if kind != "adaptive":
            for name in _ADAPTIVE_KEYS:
                if name in table:
                    self._wrong(("design", name), show(table[name]), f"no {name}, which only adaptive has")
        if kind in ("lhs", "random") and "candidates" in table:
            self._wrong(("design", "candidates"), show(candidates), f"no candidates: {kind} does not use them")
        if kind != "grid":
            for each in factors:
                if each.levels is not None:
                    self._wrong(("factor", each.key, "levels"), show(each.levels), "no levels, which only a grid has")
        design = Design(kind, points, seed, candidates)
        return self._adaptive(table, design, factors) if kind == "adaptive" and points is not None else design

    def _adaptive(self, table: Mapping[str, Any], design: Design, factors: Sequence[Factor]) -> Design:
        points = design.points or 0
        start = self._whole(table, ("design", "start"), max(1, points // 3), 1, 1_000_000) or 1
        if start >= points:
            self._wrong(("design", "start"), str(start), f"fewer than all {points} points")
            return design
        rounds = self._whole(table, ("design", "rounds"), min(_ROUNDS, points - start), 1, points - start) or 1
        response = table.get("response")
        if not isinstance(response, str) or not response:
            found = "nothing" if response is None else show(response)
            self._wrong(("design", "response"), found, 'the metric that it follows, such as "m.goodput"')
            return design
        for each in factors:
            if each.values and len(each.values) > 2:
                self._wrong(("factor", each.key), show(list(each.values)), "a range: a list of words has no distances")
        return replace(design, response=response, start=start, rounds=rounds)

    def _factors(self, data: Mapping[str, Any]) -> tuple[Factor, ...]:
        design = data.get("design")
        listed = isinstance(design, dict) and design.get("kind") == "grid"
        found = []
        for key, given in _dotted(self._table(data, "factor")):
            if key in _OWN:
                self._wrong(("factor", key), show(key), "another key of the scenario; use repeat for seeds")
                continue
            try:
                found.append(designs.factor(key, given, listed=listed))
            except FactorError as error:
                self._wrong(("factor", key), error.found, error.expected)
        return tuple(found)

    def _variants(self, data: Mapping[str, Any], factors: set[str]) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for key, given in _dotted(self._table(data, "variant")):
            where = ("variant", key)
            if not isinstance(given, list) or not given:
                self._wrong(where, show(given), "an array of its values")
            elif key in factors:
                self._wrong(where, f"{show(key)} among the factors too", "a key that is either a factor or a variant")
            elif key in _OWN:
                self._wrong(where, show(key), "another key of the scenario; use repeat for seeds")
            elif any(value in given[:at] for at, value in enumerate(given)):
                self._wrong(where, show(given), "each value once")
            else:
                found[key] = tuple(given)
        return found


def _dotted(table: Mapping[str, Any], *prefix: str) -> Iterator[tuple[str, Any]]:
    """Keys with their values; `link.one.rate` without quotes makes tables within tables and means the same."""
    for name, value in table.items():
        if isinstance(value, dict) and not {"from", "to", "values", "levels", "scale"} & value.keys():
            yield from _dotted(value, *prefix, name)
        else:
            yield ".".join((*prefix, name)), value
