"""What an engine cannot do yet, by name: nothing that a scenario asks for is left out silently."""

from mptcplab import registry
from mptcplab.scenario.algorithms import Named
from mptcplab.scenario.connections import Connection, Sender, traffic_key
from mptcplab.scenario.errors import Part, Problem, one_of, show
from mptcplab.scenario.fat_tree import parts
from mptcplab.scenario.lines import Places
from mptcplab.scenario.links import WAYS, Link, Queue
from mptcplab.scenario.model import LINKS_BY, Document

Key = tuple[Part, ...]
Refusals = dict[Key, tuple[str, str]]

READERS = ("sim", "stack", "linux", "linux-virtual")
"""Engines whose receivers can read slowly or pause."""

MSS_ENGINES = ("sim", "stack", "linux", "linux-virtual")
"""Engines whose subflows can have segments of different sizes."""

MOST_CONNECTIONS = 64_512
"""Kinds of connections that the simulator tells apart: each calls a port of its own from 1024 on."""


def _offer(family: str, engine: str) -> str:
    return f"one that the {engine} engine supports: {one_of(registry.names(family, engine))}"


def _entry(refused: Refusals, key: Key, family: str, name: str, engine: str) -> None:
    entry = registry.find(family, name)
    if entry is None or engine not in entry.engines:
        refused[key] = (show(name), _offer(family, engine))


def _named(refused: Refusals, key: Key, family: str, named: Named, engine: str) -> None:
    if named.is_plugin:
        if engine not in registry.PLUGINS:
            refused[key] = (f"the plug-in {show(named.name)}", _offer(family, engine))
        return
    _entry(refused, key, family, named.name, engine)
    entry = registry.find(family, named.name)
    for parameter in entry.parameters if entry is not None and key not in refused else ():
        runs = parameter.runs.get(engine)
        given = named.parameters.get(parameter.name, parameter.default)
        if runs is not None and given not in runs:
            offer = one_of([show(value) for value in runs])
            refused[(*key, parameter.name)] = (
                show(given),
                f"what the {engine} engine supports: {offer}",
            )


def _link(refused: Refusals, key: Key, link: Link, engine: str) -> None:
    for way in WAYS:
        direction = link.direction(way)
        if direction.trace is not None and engine not in registry.TRACES:
            offer = f"a rate: the {engine} engine does not support traces"
            refused[(*key, *link.origin(way, "trace"))] = (show(direction.trace.file), offer)
        _queue(refused, (*key, *link.origin(way, "queue")), direction.queue, engine)
        _entry(refused, (*key, *link.origin(way, "loss"), "kind"), "losses", direction.loss.kind, engine)

    for size, largest in (("mtu", link.mtu), ("mss", link.mss)):
        if largest is not None and engine not in MSS_ENGINES:
            refused[(*key, size)] = (f"{largest} B", f"none: the {engine} engine has packets of one size")
    for index, box in enumerate(link.middleboxes):
        entry = registry.find("middleboxes", box.kind)
        if entry is None or engine not in entry.engines:
            refused[(*key, "middleboxes", index)] = (show(box.kind), f"none: the {engine} engine has no middleboxes")


def _queue(refused: Refusals, key: Key, queue: Queue, engine: str) -> None:
    _entry(refused, (*key, "kind"), "queues", queue.kind, engine)


def _connection(refused: Refusals, key: Key, connection: Sender, engine: str) -> None:
    _named(refused, (*key, "congestion"), "congestion", connection.congestion, engine)
    if connection.protocol == "mptcp":
        _named(refused, (*key, "scheduler"), "schedulers", connection.scheduler, engine)
        _named(refused, (*key, "path_manager"), "path-managers", connection.path_manager, engine)
    _entry(refused, (*key, "application"), "applications", connection.application.kind, engine)
    if engine not in READERS and isinstance(connection, Connection):
        for each in ("read_rate", "read"):
            if getattr(connection, each) is not None:
                offer = f"none, or an engine whose receivers read slowly: {one_of(READERS)}"
                refused[(*key, each)] = ("a value", offer)


def unsupported(document: Document, engine: str, places: Places) -> list[Problem]:
    """Everything in the scenario that this engine does not support, each with what it expects."""
    refused: Refusals = {}
    if document.links_by != LINKS_BY[0] and engine in ("stack", "linux"):
        refused["links",] = (show(document.links_by), f"{show(LINKS_BY[0])}, or the engine linux-virtual")
    if document.sysctl and engine != "linux":
        offer = "none, or an engine whose hosts have kernels of their own: linux or linux-virtual"
        refused["sysctl",] = (f"{len(document.sysctl)} of a kernel's parameters", offer)
    if document.topology is not None:
        _entry(refused, ("topology", "kind"), "topologies", document.topology.kind, engine)
        _queue(refused, ("topology", "queue"), document.topology.queue, engine)
        if document.topology.host_queue is not None:
            _queue(refused, ("topology", "host_queue"), document.topology.host_queue, engine)
    for name, traffic in document.traffic.items():
        key = traffic_key(name)
        _entry(refused, (*key, "kind"), "traffic", traffic.kind, engine)
        _connection(refused, key, traffic, engine)
    if document.topology is not None:
        hosts = document.topology.hosts
        senders = parts([traffic.share for traffic in document.traffic.values()], hosts)
        kinds = zip(document.traffic.values(), senders, strict=True)
        count = sum(sending * (hosts - 1) if each.kind == "all-to-all" else sending for each, sending in kinds)
        if count > MOST_CONNECTIONS:
            refused[("topology", "k")] = (
                f"{document.topology.k}, which makes {count} connections",
                f"at most {MOST_CONNECTIONS} of them",
            )
    for name, link in document.links.items():
        _link(refused, ("link", name), link, engine)
    for name, connection in document.connections.items():
        _connection(refused, ("connection", name), connection, engine)
    for index, event in enumerate(document.events):
        if event.set.loss is not None:
            _entry(refused, ("event", index, "set", "loss", "kind"), "losses", event.set.loss.kind, engine)
    return [places.problem(key, found, expected) for key, (found, expected) in refused.items()]
