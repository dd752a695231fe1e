"""The max-min fair goodputs of a scenario: what each connection would have if the links were shared so.

A link carries full segments with their headers, and what it or a link behind it loses at random takes capacity too. A
connection may use all of its paths, and divides its data over them as is best for all; controls, windows, queues and
acknowledgments have no part in it. Connections of one kind are alike.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import scipy.sparse as sp

from mptcplab.engines.model.connections import subflow_paths
from mptcplab.engines.model.refusals import Found, at
from mptcplab.engines.model.translate import Kind, key, random_loss
from mptcplab.models.max_min import max_min
from mptcplab.scenario import Scenario, UnsupportedError, units
from mptcplab.scenario.applications import Bulk, ConstantRate
from mptcplab.scenario.connections import Connection, traffic_key
from mptcplab.scenario.errors import show
from mptcplab.scenario.links import Link, Way, percentage_of
from mptcplab.scenario.model import Document

_STEADY: Final = "max-min shares are of capacities and connections that stay as they are"


def max_min_bps(scenario: Scenario) -> dict[str, float]:
    """The max-min fair goodput of one connection of each name, in bit/s.

    Raises UnsupportedError for links without a constant rate, and for connections that are not there all the time.
    """
    document = scenario.document
    # A link is named once, however many cross it.
    problems = {problem.key: problem for problem in at(scenario, list(_found(document)))}
    if problems:
        raise UnsupportedError("max-min", list(problems.values()))
    rows: list[int] = []
    columns: list[int] = []
    loads: list[float] = []
    owner: list[int] = []
    links: dict[str, int] = {}
    capacity: list[float] = []

    def put(link: str, rate: float, load: float) -> None:
        if link not in links:
            links[link] = len(capacity)
            capacity.append(rate)
        rows.append(links[link])
        columns.append(len(owner))
        loads.append(load)

    for user, (name, connection) in enumerate(document.connections.items()):
        kind = Kind(name, connection, ())
        for path in dict.fromkeys(subflow_paths(connection)):
            passed = 1.0
            for link in reversed(document.path_links(path)):
                direction = document.links[link].direction(kind.way)
                passed *= 1 - random_loss(direction)
                assert direction.rate_bps is not None, "refused before"
                sent = kind.wire_bytes / kind.payload_bytes / passed
                put(key(link, kind.way), direction.rate_bps, connection.count * sent)
            if isinstance(connection.application, ConstantRate):
                put(f"demand of {name}", connection.application.rate, 1.0)
            owner.append(user)
    found = max_min(
        sp.csr_array(sp.coo_array((loads, (rows, columns)), shape=(len(capacity), len(owner)))),
        np.asarray(capacity, dtype=np.float64),
        np.asarray(owner, dtype=np.intp),
    )
    return dict(zip(document.connections, map(float, found), strict=True))


def _found(document: Document) -> Iterator[Found]:
    if document.topology is not None:
        yield ("topology", "kind"), show(document.topology.kind), "links and connections written out"
    for name, traffic in document.traffic.items():
        yield (*traffic_key(name), "kind"), show(traffic.kind), "links and connections written out"
    for index, event in enumerate(document.events):
        moment = units.write(units.TIME, event.at)
        yield ("event", index), f"a change of {show(event.link)} at {moment}", f"no events: {_STEADY}"
    for name, connection in document.connections.items():
        yield from _connection(document, name, connection)
        for path in subflow_paths(connection):
            for link in document.path_links(path):
                yield from _link(link, document.links[link], Kind(name, connection, ()).way)


def _connection(document: Document, name: str, connection: Connection) -> Iterator[Found]:
    if not isinstance(connection.application, Bulk | ConstantRate):
        yield (
            ("connection", name, "application", "kind"),
            show(connection.application.kind),
            f'"bulk" or "rate": {_STEADY}',
        )
    if connection.start[1] > max(document.measure.warmup, 0):
        moment = units.write(units.TIME, connection.start[1])
        yield ("connection", name, "start"), show(moment), f"a start within measure.warmup: {_STEADY}"
    if connection.stop is not None and connection.stop < document.duration_ns:
        moment = units.write(units.TIME, connection.stop)
        yield ("connection", name, "stop"), show(moment), f"none before the end: {_STEADY}"


def _link(name: str, link: Link, way: Way) -> Iterator[Found]:
    direction = link.direction(way)
    if link.medium is not None:
        yield ("link", name, "medium"), show(link.medium), f"none: {_STEADY}"
    for extra in ("variation", "shaper", "duplicate", "trace"):
        if getattr(direction, extra):
            yield ("link", name, *link.origin(way, extra)), f"a value for {extra}", f"none: {_STEADY}"
    lost = percentage_of(direction.loss)
    if lost is None or lost == 1:
        found = show(direction.loss.kind) if lost is None else "100 %"
        yield ("link", name, *link.origin(way, "loss")), found, "a percentage below 100 %"
