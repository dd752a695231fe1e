"""From a parsed TOML file to a `Document`: every part for itself, then what must agree between them."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from mptcplab.scenario import amounts, checks, traces
from mptcplab.scenario.algorithms import Named
from mptcplab.scenario.buffers import BufferRule
from mptcplab.scenario.checks import Parts
from mptcplab.scenario.connections import Connection, Sender, Traffic, traffic_key
from mptcplab.scenario.endpoints import Endpoint, Limits
from mptcplab.scenario.errors import Part, Problem, ScenarioError, show
from mptcplab.scenario.lines import Places
from mptcplab.scenario.links import MEDIUM, WAYS, Link, Side
from mptcplab.scenario.machines import Testbed
from mptcplab.scenario.model import DURATION, Document, Event, Head, Measure, Path, Topology
from mptcplab.scenario.traces import Trace, TraceFile, TraceFileError
from mptcplab.scenario.value_types import Table, told

if TYPE_CHECKING:
    from mptcplab.plugins.loading import Source

_POSITION = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")
_NAME = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,62}[^\s\x00-\x1f\x7f])?")
_EXAMPLES = {
    "medium": "[medium.air]",
    "link": "[link.wifi]",
    "path": "[path.home]",
    "connection": "[connection.download]",
}
_PLUGIN_KEYS = ("congestion", "scheduler", "path_manager")
T = TypeVar("T", bound=Table)
S = TypeVar("S", bound=Sender)


def parse(text: str, source: str) -> dict[str, Any]:
    """The text as TOML; a syntax error becomes a `ScenarioError` with line and column."""
    try:
        # tomllib takes memory with the square of a key's parts.
        if _LONG_KEY.search(text) or _is_deep(data := tomllib.loads(text)):
            raise RecursionError
        return data
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        position = _POSITION.search(message)
        reason = (message[: position.start()] if position else message).strip()
        lines = text.split("\n")
        at_end = position is None or position["line"] is None
        line = len(lines) if position is None or at_end else int(position["line"])
        column = None if position is None or at_end else int(position["column"])
        found = "the end of the file" if at_end else show(lines[line - 1].strip())
        expected = f"TOML ({reason[0].lower()}{reason[1:]})"
        raise ScenarioError([Problem(source, "", found, expected, line, column)]) from None
    except (RecursionError, ValueError):
        # Python's own limits: the depth of its stack, and the digits that it converts.
        raise ScenarioError(
            [Problem(source, "", "values that are too deeply nested or too long", "a scenario")]
        ) from None


def _is_deep(data: object) -> bool:
    """Whether values are nested more deeply than any scenario's, and than recursion reaches."""
    level = [data]
    for _ in range(_DEEPEST):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


_DEEPEST: Final = 32


class Reader:
    """Reads the parts of a scenario and keeps what is wrong."""

    def __init__(self, places: Places, folder: FilePath) -> None:
        self._places = places
        self._folder = folder
        self.problems: list[Problem] = []

    def _report(self, key: tuple[Part, ...], found: str, expected: str) -> None:
        self.problems.append(self._places.problem(key, found, expected))

    def _folders(self, key: tuple[Part, ...]) -> tuple[FilePath, ...]:
        """Where a file is looked for that this key names: beside the scenario; an override's also from where one is."""
        return (self._folder, FilePath()) if self._places.is_overridden(key) else (self._folder,)

    def _part(self, model: type[T], value: object, *key: Part) -> T | None:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self._report((*key, *detail["loc"]), *told(detail))
            return None

    def _named(self, model: type[T], data: Mapping[str, Any], key: str) -> dict[str, T | None]:
        tables = data.get(key, {})
        if not isinstance(tables, dict):
            self._report((key,), show(tables), f"tables with names, such as {_EXAMPLES[key]}")
            return {}
        for name in tables:
            if not _NAME.fullmatch(name):
                self._report((key, name), show(name), "a name of 1 to 64 printable characters, no space around it")
        return {name: self._part(model, table, key, name) for name, table in tables.items()}

    def _optional(self, model: type[T], data: Mapping[str, Any], key: str) -> T | None:
        return self._part(model, data[key], key) if key in data else None

    def _traffic(self, data: Mapping[str, Any]) -> dict[str, Traffic | None]:
        if Traffic.are_named(data.get("traffic")):
            return self._named(Traffic, data, "traffic")
        return {"": self._part(Traffic, data["traffic"], "traffic")} if "traffic" in data else {}

    def _events(self, data: Mapping[str, Any]) -> list[Event | None]:
        items = data.get("event", [])
        if not isinstance(items, list):
            self._report(("event",), show(items), "an array of events, each under [[event]] with two brackets")
            return []
        return [self._part(Event, item, "event", index) for index, item in enumerate(items)]

    def _endpoints(self, data: Mapping[str, Any]) -> list[Endpoint | None]:
        items = data.get("endpoint", [])
        if not isinstance(items, list):
            self._report(("endpoint",), show(items), "an array of endpoints, each under [[endpoint]] with two brackets")
            return []
        return [self._part(Endpoint, item, "endpoint", index) for index, item in enumerate(items)]

    def _traces(self, links: Mapping[str, Link | None]) -> dict[str, Trace]:
        """Those that links name, read."""
        found: dict[str, Trace] = {}
        for name, link in links.items():
            for prefix, side in _sides(link):
                if side.trace is None or side.trace.file in found:
                    continue
                where = ("link", name, *prefix, "trace")
                try:
                    trace = traces.read(self._folders((*where, "file")), side.trace)
                except TraceFileError as error:
                    self._report(where, error.found, error.expected)
                    continue
                base = FilePath(side.trace.file).name
                other = next((file for file in found if FilePath(file).name == base), None)
                if other is not None and found[other].sha256 != trace.sha256:
                    self._report(
                        where,
                        f"{show(side.trace.file)} and {show(other)}",
                        "different file names: a result keeps both files in one directory",
                    )
                found[side.trace.file] = trace
        return found

    def _plugins(self, senders: Mapping[tuple[Part, ...], Sender | None]) -> "dict[tuple[str, str], Source]":
        """Those that connections name, loaded; each connection's own parameters are checked."""
        found: dict[tuple[str, str], Source] = {}
        for where, sender in senders.items():
            for kind in _PLUGIN_KEYS if sender is not None else ():
                named: Named = getattr(sender, kind)
                if not named.is_plugin:
                    continue
                from mptcplab.plugins import PluginLoadError, loading  # for scenarios that have some

                try:
                    if ":" in named.name:
                        source = loading.of_file(
                            kind, named.name, self._folders((*where, kind, "plugin")), named.sha256
                        )
                    else:
                        source = loading.of_entry_point(kind, named.name)
                    loading.parameters(source, named.parameters)
                except PluginLoadError as error:
                    key = () if error.key is None else (error.key,)
                    self._report((*where, kind, *key), error.found, error.expected)
                    continue
                found[kind, named.name] = source
        return found

    def document(self, data: Mapping[str, Any], title: str) -> Document | None:
        """The whole; `title` stands where the file has none. What is wrong is in `problems`."""
        head = self._part(Head, data)
        parts = Parts(
            duration_ns=head.duration if head else _duration(data),
            media=self._named(MEDIUM.table(), data, "medium") if "medium" in data else {},
            links=self._named(Link, data, "link"),
            paths=self._named(Path, data, "path"),
            connections=self._named(Connection, data, "connection"),
            events=self._events(data),
            measure=self._part(Measure, data.get("measure", {}), "measure"),
            topology=self._optional(Topology, data, "topology"),
            traffic=self._traffic(data),
            endpoints=self._endpoints(data),
            limits=self._optional(Limits, data, "limits"),
        )
        checks.whole(data, self._report)
        checks.names(parts, self._report)
        checks.unread_paths(data, parts, self._report)
        checks.shared(parts, self._report)
        checks.stages(parts, self._report)
        checks.traced(parts, self._report)
        checks.ramps(parts, self._report)
        checks.shapers(parts, self._report)
        checks.metered(parts, self._report)
        checks.proxies(parts, self._report)
        checks.endpoints(parts, self._report)
        checks.times(parts, self._report)
        found = self._traces(parts.links)
        testbed = self._optional(Testbed, data, "testbed")
        senders: dict[tuple[Part, ...], Sender | None] = {
            ("connection", name): each for name, each in parts.connections.items()
        }
        senders.update((traffic_key(name), each) for name, each in parts.traffic.items())
        plugins = self._plugins(senders)
        checks.strides(parts, self._report)
        checks.shares(parts, self._report)
        if self.problems or head is None or parts.measure is None:
            return None
        document = Document(
            title=head.title or title,
            duration_ns=head.duration,
            seed=head.seed,
            links={name: _with_digests(link, found) for name, link in parts.links.items() if link},
            media={name: medium for name, medium in parts.media.items() if medium},
            paths={name: path for name, path in parts.paths.items() if path},
            connections={name: _with_plugins(each, plugins) for name, each in parts.connections.items() if each},
            events=tuple(event for event in parts.events if event),
            measure=parts.measure,
            topology=parts.topology,
            traffic={name: _with_plugins(traffic, plugins) for name, traffic in parts.traffic.items() if traffic},
            traces=found,
            testbed=testbed,
            links_by=head.links,
            plugins=plugins,
            endpoints=tuple(endpoint for endpoint in parts.endpoints if endpoint),
            limits=parts.limits,
            sysctl=head.sysctl,
        )
        checks.thresholds(document, self._report)
        return _with_buffers(document)


def _sides(link: Link | None) -> Sequence[tuple[tuple[Part, ...], Side]]:
    return [] if link is None else [((), link), (("down",), link.down), (("up",), link.up)]


def _with_digests(link: Link, found: Mapping[str, Trace]) -> Link:
    """The link with its traces as a complete scenario names them: by the name of the file and its digest."""

    def side(each: T) -> T:
        trace = getattr(each, "trace", None)
        if trace is None:
            return each
        named = TraceFile(file=trace.file, sha256=found[trace.file].sha256)
        return each.model_copy(update={"trace": named})

    return side(link.model_copy(update={"down": side(link.down), "up": side(link.up)}))


def _with_buffers(document: Document) -> Document:
    """The connections with sizes in place of rules for their receive buffers."""
    connections = dict(document.connections)
    for name, each in connections.items():
        if isinstance(each.receive_buffer, BufferRule):
            way = WAYS[each.direction == "up"]
            size = max(each.mss, amounts.buffer_bytes(each.receive_buffer, document, each.paths, way))
            connections[name] = each.model_copy(update={"receive_buffer": size})
    return replace(document, connections=connections)


def _with_plugins(sender: S, plugins: "Mapping[tuple[str, str], Source]") -> S:
    """The connections with their plug-ins as a complete scenario names them: with the digest of the file, and with
    parameters as the class takes them."""
    named: dict[str, Named] = {}
    for kind in _PLUGIN_KEYS:
        own: Named = getattr(sender, kind)
        if own.is_plugin:
            from mptcplab.plugins import loading  # for scenarios that have some

            source = plugins[kind, own.name]
            named[kind] = replace(own, sha256=source.sha256, parameters=loading.parameters(source, own.parameters))
    return sender.model_copy(update=named) if named else sender


def _duration(data: Mapping[str, Any]) -> int | None:
    """The duration where something else before the first table is wrong."""
    try:
        duration: int = DURATION.validate(data.get("duration"))
    except ValueError:
        return None
    return duration
