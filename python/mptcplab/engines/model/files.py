"""Files by the round model: how long each takes, where the engine's equilibrium has nothing to say."""

from collections.abc import Iterator
from dataclasses import dataclass

from mptcplab.engines.model.connections import subflow_paths
from mptcplab.engines.model.translate import Kind, random_loss, rate_bps, route_rtt_s
from mptcplab.models.rounds import RoundModel, RoundPath, Transfer, ready_times_s, transfer
from mptcplab.scenario import Scenario
from mptcplab.scenario.applications import File
from mptcplab.scenario.connections import Connection
from mptcplab.scenario.links import Way, percentage_of
from mptcplab.scenario.model import Document


@dataclass(frozen=True)
class Carried:
    """A connection's file."""

    name: str
    connection: Connection
    size_bytes: int
    paths: tuple[str, ...]
    found: Transfer


def transfers(scenario: Scenario) -> list[Carried]:
    """Every file's transfer."""
    document = scenario.document
    return [_carried(document, name, connection) for name, connection in document.connections.items()]


def _carried(document: Document, name: str, connection: Connection) -> Carried:
    assert isinstance(connection.application, File), "asked before"
    way: Way = "up" if connection.direction == "up" else "down"
    kind = Kind(name, connection, ())
    paths, names = [], tuple(subflow_paths(connection))
    for path in names:
        passed, narrowest = 1.0, float("inf")
        for link in document.path_links(path):
            direction = document.links[link].direction(way)
            if percentage_of(direction.loss) is not None:
                passed *= 1 - random_loss(direction)
            narrowest = min(narrowest, rate_bps(direction))
        # The capacity in data: a segment's headers are on the wire too.
        paths.append(
            RoundPath(
                route_rtt_s(document, connection, path), 1 - passed, narrowest * kind.payload_bytes / kind.wire_bytes
            )
        )
    tcp = connection.tcp
    model = RoundModel(
        initial_window=tcp.initial_window,
        initial_threshold=tcp.initial_ssthresh or 2**16,
        restart_window=1,
        segment_bytes=kind.payload_bytes,
        ack_bytes=0,
        segments_per_ack=tcp.segments_per_ack,
    )
    at_once = connection.path_manager.parameters.get("at_once") is True
    ready = ready_times_s([path.rtt_s for path in paths], sender_opens=way == "up", at_once=at_once)
    select = connection.protocol == "mptcp" and connection.scheduler.name == "dmptcp"
    found = transfer(connection.application.size, paths, model, ready_s=ready, select=select)
    return Carried(name, connection, connection.application.size, names, found)


def connection_rows(carried: list[Carried], duration_s: float) -> Iterator[dict[str, object]]:
    """As the engine's frame has them; what does not end within the run has no completion."""
    for each in carried:
        first, last = each.connection.start
        start = (first + last) / 2e9
        ends = start + each.found.receiver_s <= duration_s
        yield {
            "name": each.name,
            "index": 0,
            "protocol": each.connection.protocol,
            "congestion": each.connection.congestion.name,
            "scheduler": each.connection.scheduler.name if each.connection.protocol == "mptcp" else None,
            "paths": list(each.connection.paths),
            "start_s": first / 1e9 if first == last else None,
            "goodput_bps": 8 * each.size_bytes / each.found.receiver_s,
            "bytes_delivered": each.size_bytes if ends else None,
            "completion_s": each.found.receiver_s if ends else None,
        }


def subflow_rows(carried: list[Carried]) -> Iterator[dict[str, object]]:
    """What each path carried, losses counted."""
    for each in carried:
        total = sum(each.found.segments)
        for number, (path, sent) in enumerate(zip(each.paths, each.found.segments, strict=True)):
            yield {
                "connection": each.name,
                "index": 0,
                "subflow": number,
                "path": path,
                "goodput_bps": 8 * each.size_bytes / each.found.receiver_s * sent / total,
                "share": sent / total,
                "segments_sent": round(sent),
            }


def notes(carried: list[Carried], duration_s: float) -> Iterator[str]:
    """What to keep in mind."""
    yield "files computed with the round model: queues do not overflow, and a timeout costs one round"
    late = [each.name for each in carried if each.connection.start[1] / 1e9 + each.found.receiver_s > duration_s]
    if late:
        yield f"not complete within the scenario's duration: {', '.join(late)}"
