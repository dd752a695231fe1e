"""What the page sends, as a scenario: its text, its data, and where it came from."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mptcplab import shipped
from mptcplab.lab import exact_json
from mptcplab.lab.limits import Limits
from mptcplab.lab.merge import merged
from mptcplab.scenario import Problem, Scenario, ScenarioError
from mptcplab.scenario.errors import Part, dotted, show
from mptcplab.scenario.lines import Places
from mptcplab.scenario.read import parse

NAME: Final = "scenario.toml"
"""What errors call the scenario of the page."""
OPENED: Final = "opened"
"""The origin of what was read from the file of the command line."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a scenario came from: what files it names are looked for there, and no others."""

    folder: Path
    name: str
    """What a scenario without a title is called."""
    files: frozenset[str]
    """The trace files that the original names."""

    @classmethod
    def of(cls, name: str | None, opened: Path | None) -> "Origin":
        """That of a ready-made scenario, of the opened file, or of neither."""
        file = opened if name == OPENED else shipped.scenario_file(name) if name else None
        if file is None:
            return cls(Path("/nonexistent"), "scenario", frozenset())
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError):
            return cls(file.parent, file.stem, frozenset())
        return cls(file.parent, file.stem, frozenset(name for _, name in _traces(data, ())))


@dataclass(frozen=True, slots=True)
class Given:
    """A scenario of the page that can be run."""

    scenario: Scenario
    text: str
    """TOML, with the comments of the text it came from."""
    data: dict[str, Any]


def read(text: str, data: object, origin: Origin, limits: Limits) -> Given:
    """The scenario of a text and of the data that have changed since it was written; None is no change.

    Raises ScenarioError with everything that is wrong, in the words of the command line.
    """
    if data is not None:
        try:
            plain = exact_json.from_json(data)
        except ValueError as error:
            raise ScenarioError([Problem(NAME, "", str(error) or "tables in tables", "a scenario")]) from None
        if not isinstance(plain, dict):
            raise ScenarioError([Problem(NAME, "", show(plain), "a scenario, a table")])
        text = merged(text, plain)
    parsed = parse(text, NAME)
    refused = _refused(parsed, origin, Places(text, NAME, (), ""))
    if refused:
        raise ScenarioError(refused)
    try:
        scenario = Scenario.from_toml(text, str(origin.folder / f"{origin.name}.toml"))
    except ScenarioError as error:
        raise ScenarioError([_without_folder(problem, origin) for problem in error.problems]) from None
    too_much = _too_much(scenario, limits)
    if too_much:
        raise ScenarioError(too_much)
    return Given(scenario, text, parsed)


def _without_folder(problem: Problem, origin: Origin) -> Problem:
    """As the page knows it: it need not learn where files are on the server."""
    found = problem.found.replace(f"{origin.folder}/", "")
    return Problem(NAME, problem.key, found, problem.expected, problem.line, problem.column)


def _tables(value: object, key: tuple[Part, ...]) -> Iterator[tuple[tuple[Part, ...], Mapping[str, Any]]]:
    if isinstance(value, dict):
        yield key, value
        for name, inner in value.items():
            yield from _tables(inner, (*key, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _tables(inner, (*key, index))


def _traces(data: object, key: tuple[Part, ...]) -> Iterator[tuple[tuple[Part, ...], str]]:
    for place, table in _tables(data, key):
        named = table.get("trace")
        file = named.get("file") if isinstance(named, dict) else named
        if isinstance(file, str):
            yield (*place, "trace"), file


def _refused(data: dict[str, Any], origin: Origin, places: Places) -> list[Problem]:
    """What would read a file or run a program that the page has no business with."""
    problems = [
        places.problem(key, show(file), "a trace named by the opened scenario; use mptcplab run for others")
        for key, file in _traces(data, ())
        if file not in origin.files
    ]
    for key, table in _tables(data, ()):
        if "plugin" in table:
            found = show(table["plugin"])
            problems.append(
                places.problem((*key, "plugin"), found, "the name of an algorithm; use mptcplab run for plug-ins")
            )
        if table.get("kind") == "program":
            expected = "another application; use mptcplab run for programs"
            problems.append(places.problem((*key, "kind"), '"program"', expected))
    return problems


def _too_much(scenario: Scenario, limits: Limits) -> list[Problem]:
    """What would take more of the server than a page should."""
    document = scenario.document
    count = sum(connection.count for connection in document.connections.values())
    if document.topology is not None:
        count += document.topology.hosts * max(1, len(document.traffic))
    if count > limits.connections:
        found = f"{count} connections"
        return [Problem(NAME, _most(scenario), found, f"at most {limits.connections} on the page; more: mptcplab run")]
    sample = document.measure.sample
    if sample is not None:
        subflows = sum(each.count * len(each.paths) for each in document.connections.values())
        links = 2 * len(document.links)
        if document.topology is not None:
            subflows += sum(each.subflow_count() for each in document.traffic.values()) * document.topology.hosts
            links += 6 * document.topology.hosts
        rows = (document.duration_ns // sample) * (subflows + links)
        if rows > limits.samples:
            found = f"{rows} samples"
            expected = f'at most {limits.samples}, with a longer sample such as "1 s", or "never"'
            return [Problem(NAME, "measure.sample", found, expected)]
    return []


def _most(scenario: Scenario) -> str:
    """The key of what makes up most connections."""
    if scenario.document.topology is not None:
        return "topology.k"
    name, _ = max(scenario.document.connections.items(), key=lambda item: item[1].count)
    return dotted(("connection", name, "count"))
