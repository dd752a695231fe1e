"""A scenario as a network of the models: links as segments per second, connections as users with routes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mptcplab.engines.model.connections import subflow_paths
from mptcplab.models.link_laws import Capacity, RedCurve
from mptcplab.models.network import Network, Route, User
from mptcplab.models.pert import Response
from mptcplab.models.pert_mix import Mixed
from mptcplab.models.queues import DropTail, EarlyResponse, Queue
from mptcplab.scenario.amounts import exact_packets, limit, round_trips_ns
from mptcplab.scenario.connections import Connection
from mptcplab.scenario.links import HEADERS_BYTES, WAYS, Direction, Way, percentage_of
from mptcplab.scenario.model import Document

SEGMENT_BYTES: Final = 1500
"""What capacities are counted in: a full IP packet of an Ethernet."""


# Options take from the MSS (RFC 6691): timestamps 12 (RFC 7323), DSS with 64-bit DATA_ACK and DSN 28 (RFC 8684 §3.3).
_OPTIONS_BYTES: Final = {"tcp": 12, "mptcp": 40}
_ACK_BYTES: Final = {"tcp": HEADERS_BYTES + 12, "mptcp": HEADERS_BYTES + 24}

MEAN_WINDOW: Final = 1.31
"""Mean window under memoryless losses times √p (Ott, Kemperman, Mathis 1996); the balance of means has √2."""

_LAWS: Final = {"lia": "lia-capped", "mppert": "mppert-capped", "epsilon": "epsilon-capped"}
"""Controls whose law in the network has another name: as they run they have their caps."""

_TAKEN: Final[Mapping[str, tuple[str, ...]]] = {"mppert": ("k",), "epsilon": ("epsilon",)}
"""The parameters of a control that its law has too."""

ACK_WAIT_S: Final = 0.04
"""The longest time that a receiver here holds an ACK back."""

RESPONDING: Final = ("pert", "mppert")
"""Controls that answer to queueing delay."""


@dataclass(frozen=True)
class Subflow:
    """One route of a user, by the path of the scenario."""

    path: str
    links: tuple[str, ...]
    random_loss: float


@dataclass(frozen=True)
class Kind:
    """A connection of the scenario: what theory has to know of it."""

    name: str
    connection: Connection
    subflows: tuple[Subflow, ...]

    def crosses(self, link: str, way: Way) -> bool:
        """Whether its data crosses this direction of a link."""
        return way == self.way and any(link in subflow.links for subflow in self.subflows)

    @property
    def payload_bytes(self) -> int:
        """Application data in a full segment."""
        return self.connection.mss - _OPTIONS_BYTES[self.connection.protocol]

    @property
    def wire_bytes(self) -> int:
        """A full segment as an IP packet."""
        return self.connection.mss + HEADERS_BYTES

    @property
    def ack_bytes(self) -> int:
        """An acknowledgment without data as an IP packet."""
        return _ACK_BYTES[self.connection.protocol]

    @property
    def way(self) -> Way:
        """The direction of its data."""
        return "up" if self.connection.direction == "up" else "down"

    @property
    def ack_way(self) -> Way:
        """The direction of its acknowledgments."""
        return "down" if self.way == "up" else "up"


@dataclass(frozen=True)
class Translation:
    """The network, its queues, and what its users are in the scenario, in the same order."""

    network: Network
    queues: dict[str, Queue]
    mixed: dict[str, list[Mixed | None]]
    """PERT's subflows on routes that they share with flows that answer to losses."""
    kinds: tuple[Kind, ...]
    packet_segments: dict[str, float]
    """Size of a packet on each link, in segments of 1500 bytes."""


def key(link: str, way: str) -> str:
    """Name in the network of a direction of a link."""
    return f"{link} {way}"


def random_loss(direction: Direction) -> float:
    """What the direction loses whatever its load."""
    probability = percentage_of(direction.loss)
    assert probability is not None, "refused before"
    return float(probability)


def rate_bps(direction: Direction) -> int:
    """Rate of a direction."""
    assert direction.rate_bps is not None, "refused before"
    return direction.rate_bps


def translate(document: Document) -> Translation:
    """The network of a scenario that the engine can do."""
    kinds = tuple(_kind(document, name, connection) for name, connection in document.connections.items())
    sizes: dict[str, list[float]] = {}
    for kind in kinds:
        for subflow in kind.subflows:
            for crossed in subflow.links:
                sizes.setdefault(key(crossed, kind.way), []).append(kind.wire_bytes / SEGMENT_BYTES)
    packet_segments = {name: sum(of_link) / len(of_link) for name, of_link in sizes.items()}
    rtts = round_trips_ns(document)
    links: dict[str, Capacity] = {}
    queues: dict[str, Queue] = {}
    for name, link in document.links.items():
        for way in WAYS:
            this = key(name, way)
            if this in packet_segments:
                direction = link.direction(way)
                links[this] = Capacity(rate_bps(direction) / (8 * SEGMENT_BYTES))
                queue = _queue(direction, rtts[name], packet_segments[this])
                queues[this] = _answered(queue, links[this], [kind for kind in kinds if kind.crosses(name, way)])
    mixed = {kind.name: _mixed(kind, links, queues) for kind in kinds if kind.connection.congestion.name in RESPONDING}
    users = [_user(document, kind, alone=kind.name in mixed and not any(mixed[kind.name])) for kind in kinds]
    return Translation(Network(links, users), queues, mixed, kinds, packet_segments)


def _kind(document: Document, name: str, connection: Connection) -> Kind:
    kind = Kind(name, connection, ())
    subflows = []
    for path in subflow_paths(connection):
        links = document.path_links(path)
        passed = 1.0
        for link in links:
            passed *= 1 - random_loss(document.links[link].direction(kind.way))
        subflows.append(Subflow(path, links, 1 - passed))
    return replace(kind, subflows=tuple(subflows))


def _user(document: Document, kind: Kind, *, alone: bool) -> User:
    """``alone``: among flows that all answer to delay, with no losses."""
    congestion = kind.connection.congestion
    control = congestion.name
    parameters = {name: float(congestion.parameters[name]) for name in _TAKEN.get(control, ())}
    if parameters.get("epsilon") == 0:
        control, parameters = "coupled", {}
    return User(
        name=kind.name,
        control=_LAWS.get(control, control),
        parameters=parameters,
        routes=tuple(
            Route(
                tuple(key(link, kind.way) for link in subflow.links),
                route_rtt_s(document, kind.connection, subflow.path),
                subflow.random_loss,
            )
            for subflow in kind.subflows
        ),
        count=kind.connection.count,
        # Windows that fall a little, often, are near their mean square.
        b=1.0 if alone else 2 / MEAN_WINDOW**2,
        segment_size=kind.wire_bytes / SEGMENT_BYTES,
    )


def route_rtt_s(document: Document, connection: Connection, path: str) -> float:
    """Propagation and transmission, there and back, with all queues empty."""
    kind = Kind("", connection, ())
    total = 0.0
    for name in document.path_links(path):
        ways: tuple[tuple[Way, int], ...] = ((kind.way, kind.wire_bytes), (kind.ack_way, kind.ack_bytes))
        for way, size in ways:
            direction = document.links[name].direction(way)
            total += direction.delay_ns / 1e9 + 8 * size / rate_bps(direction)
    return total


def _answered(queue: Queue, link: Capacity, kinds: Sequence[Kind]) -> Queue:
    """The queue as its users leave it: where all of them respond to delay, at what they respond to."""
    if not isinstance(queue, DropTail) or any(kind.connection.congestion.name not in RESPONDING for kind in kinds):
        return queue
    return EarlyResponse(_response(kinds[0].connection, queue.limit_segments / link.segments_per_s))


def _response(connection: Connection, largest_delay_s: float) -> Response:
    given = connection.congestion.parameters
    return Response(
        largest_delay_s=max(largest_delay_s, 1e-6),
        low_s=float(given["low_ms"]) / 1e3,
        high_s=float(given["high_ms"]) / 1e3,
        probability=float(given["p_max"]),
        per_segment=1 / connection.tcp.segments_per_ack,
    )


def _mixed(kind: Kind, links: Mapping[str, Capacity], queues: Mapping[str, Queue]) -> list[Mixed | None]:
    """How PERT answers on each of its routes; None where the queue is that of flows that all do."""
    given = kind.connection.congestion.parameters
    found: list[Mixed | None] = []
    for subflow in kind.subflows:
        names = [key(link, kind.way) for link in subflow.links]
        if any(isinstance(queues[name], EarlyResponse) for name in names):
            found.append(None)
            continue
        largest_s = sum(_longest(queues[name]) / links[name].segments_per_s for name in names)
        found.append(
            Mixed(
                _response(kind.connection, largest_s),
                alpha_max=float(given["alpha_max"]),
                alpha_compete=float(given["alpha_compete"]),
                ack_wait_s=ACK_WAIT_S if kind.connection.tcp.segments_per_ack > 1 else 0.0,
                fills=all(isinstance(queues[name], DropTail) for name in names),
            )
        )
    return found


def _longest(queue: Queue) -> float:
    """The longest queue that flows see, in segments: RED's mean does not rise beyond where all is dropped."""
    if isinstance(queue, RedCurve):
        return queue.thresholds[-1]
    assert isinstance(queue, DropTail), "early responses are elsewhere"
    return queue.limit_segments


def _queue(direction: Direction, rtt_ns: int, packet_segments: float) -> Queue:
    rate, queue = rate_bps(direction), direction.queue
    if queue.kind == "red":
        low, high = (float(exact_packets(amount, rate, rtt_ns)) * packet_segments for amount in (queue.min, queue.max))
        return RedCurve(low, high, queue.max_probability, queue.gentle)
    most = limit(queue, rate, rtt_ns)
    return DropTail(most["packets"] * packet_segments if "packets" in most else most["bytes"] / SEGMENT_BYTES)
