"""What the engine `model` cannot do, beyond the algorithms that the registry says it has not."""

from collections.abc import Iterator
from typing import Final

from mptcplab.engines.model.connections import is_of_files, subflow_paths
from mptcplab.scenario import Problem, Scenario, units
from mptcplab.scenario.applications import File
from mptcplab.scenario.connections import traffic_key
from mptcplab.scenario.errors import Part, show
from mptcplab.scenario.links import WAYS, Link, Way, percentage_of
from mptcplab.scenario.model import Document

Found = tuple[tuple[Part, ...], str, str]
"""What is refused: key, value found, value expected."""

_CONTROLS: Final = ("reno", "lia")
_SCHEDULERS: Final = ("min-rtt", "dmptcp")
_LONG_TERM: Final = "the model engine computes only the steady state"


def unsupported(scenario: Scenario) -> list[Problem]:
    """Everything in the scenario that the engine does not support, each with what it expects."""
    # One complaint a key: the registry may have refused it already, or a value holds for both directions.
    problems: dict[str, Problem] = {}
    document = scenario.document
    from_rules = [*_found(document), *_files(document)]
    for problem in (*scenario.unsupported("model"), *at(scenario, from_rules)):
        problems.setdefault(problem.key, problem)
    return list(problems.values())


def at(scenario: Scenario, found: list[Found]) -> list[Problem]:
    """Problems with the line that they are on."""
    places = scenario.places()
    return [places.problem(*each) for each in found]


def _found(document: Document) -> Iterator[Found]:
    if document.topology is not None:
        yield ("topology", "kind"), show(document.topology.kind), "links and connections written out"
    for name, traffic in document.traffic.items():
        yield (*traffic_key(name), "kind"), show(traffic.kind), "connections written out"
    for name, link in document.links.items():
        if link.medium is not None:
            yield ("link", name, "medium"), show(link.medium), "none: the model engine has no shared medium"
        for way in WAYS:
            yield from _direction(("link", name), link, way)
    yield from _connections(document)
    yield from _two_ways(document)
    for index, event in enumerate(document.events):
        moment = units.write(units.TIME, event.at)
        yield ("event", index), f"a change of {show(event.link)} at {moment}", f"no events: {_LONG_TERM}"


def _direction(key: tuple[Part, ...], link: Link, way: Way) -> Iterator[Found]:
    direction = link.direction(way)
    for extra in ("variation", "shaper", "jitter", "reorder", "duplicate"):
        if getattr(direction, extra):
            yield (*key, *link.origin(way, extra)), f"a value for {extra}", f"none: {_LONG_TERM}"
    if direction.trace is not None:
        yield (*key, *link.origin(way, "trace")), show(direction.trace.file), f"a rate: {_LONG_TERM}"
    if getattr(direction.queue, "ecn", False):
        yield (*key, *link.origin(way, "queue"), "ecn"), "true", "false: the model engine has no marks"
    if percentage_of(direction.loss) == 1:
        yield (*key, *link.origin(way, "loss")), "100 %", "less: with this loss no data gets through"


def _connections(document: Document) -> Iterator[Found]:
    if is_of_files(document):
        return  # a file has a beginning and an end
    warmup = units.write(units.TIME, document.measure.warmup)
    for name, connection in document.connections.items():
        if connection.start[1] > max(document.measure.warmup, 0):
            moment = units.write(units.TIME, connection.start[1])
            expected = f"a start within measure.warmup, {show(warmup)}: {_LONG_TERM}"
            yield ("connection", name, "start"), show(moment), expected
        if connection.stop is not None and connection.stop < document.duration_ns:
            moment = units.write(units.TIME, connection.stop)
            yield ("connection", name, "stop"), show(moment), f"none before the end: {_LONG_TERM}"


def _files(document: Document) -> Iterator[Found]:
    """What the round model has no rules for."""
    if not is_of_files(document):
        for name, connection in document.connections.items():
            if isinstance(connection.application, File):
                expected = "only files or only bulk traffic: there is no model for a mix"
                yield ("connection", name, "application", "kind"), show("file"), expected
        return
    users: dict[str, str] = {}
    for name, connection in document.connections.items():
        if connection.congestion.name not in _CONTROLS:
            expected = f"one of {', '.join(_CONTROLS)} for a file: the round model has no other controls"
            yield ("connection", name, "congestion"), show(connection.congestion.name), expected
        if connection.protocol == "mptcp" and connection.scheduler.name not in _SCHEDULERS:
            expected = f"one of {', '.join(_SCHEDULERS)} for a file: the round model has no other schedulers"
            yield ("connection", name, "scheduler"), show(connection.scheduler.name), expected
        if connection.count > 1:
            yield (
                ("connection", name, "count"),
                str(connection.count),
                "1 for a file: the round model cannot share links",
            )
        for path in subflow_paths(connection):
            for link in document.path_links(path):
                if link in users:
                    expected = (
                        f"links of its own: {show(users[link])} crosses {show(link)}, and the round model "
                        "cannot share links"
                    )
                    yield ("connection", name, "paths"), show(path), expected
                users.setdefault(link, name)


def _two_ways(document: Document) -> Iterator[Found]:
    """Data both ways over one link: queues of acknowledgments have no model."""
    first: dict[str, tuple[str, str]] = {}
    for name, connection in document.connections.items():
        for path in connection.paths:
            for link in document.path_links(path):
                earlier, way = first.setdefault(link, (name, connection.direction))
                if way != connection.direction:
                    found = f"{show(connection.direction)} over {show(link)}, which {show(earlier)} crosses {way}"
                    yield (
                        ("connection", name, "direction"),
                        found,
                        "data in one direction per link: the model engine has no queues of ACKs",
                    )
                    return
