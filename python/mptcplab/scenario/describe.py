"""The complete description that the core reads: base units, no defaults.

Its shape is that of crates/scenario/src/description.rs.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from mptcplab import registry
from mptcplab.scenario import endpoints, reading, sysctl
from mptcplab.scenario.algorithms import Named
from mptcplab.scenario.amounts import PACKET_BYTES, exact_packets, limit, round_trips_ns
from mptcplab.scenario.applications import (
    Application,
    AtOnce,
    Bulk,
    Constant,
    ConstantRate,
    Exponential,
    File,
    Flows,
    Ftp,
    Pareto,
    Periodic,
    Ping,
    Poisson,
    Program,
    Requests,
    Video,
    Web,
)
from mptcplab.scenario.changes import Step, steps
from mptcplab.scenario.connections import Connection, Sender
from mptcplab.scenario.declared import described
from mptcplab.scenario.fat_tree import LONGEST_PATH, draw, pairs, parts, senders
from mptcplab.scenario.links import HEADERS_BYTES, WAYS, Direction, Link, Loss, Queue, Way, no_loss, percentage_of
from mptcplab.scenario.model import Document, Topology
from mptcplab.scenario.variation import generator


def _queue(queue: Queue, rate_bps: int, rtt_ns: int, largest_bytes: int) -> dict[str, Any]:
    return described(
        queue,
        {
            "limit": lambda _: limit(queue, rate_bps, rtt_ns),
            "length": lambda amount: float(exact_packets(amount, rate_bps, rtt_ns)),
            "largest packet": lambda _: largest_bytes,
        },
    )


def _loss(loss: Loss | Fraction) -> dict[str, Any]:
    """Also of a mere probability."""
    probability = loss if isinstance(loss, Fraction) else percentage_of(loss)
    if probability is not None:
        return {"kind": "bernoulli", "probability": float(probability)} if probability else {"kind": "none"}
    assert isinstance(loss, Loss), "a mere probability is one"
    return described(loss)


def _direction(
    direction: Direction, rate_bps: int, trace: int | None, rtt_ns: int, largest_bytes: int
) -> dict[str, Any]:
    """With the number of its trace, if it has one; its mean rate is then for the queue alone."""
    described: dict[str, Any] = {
        "rate_bps": rate_bps if trace is None else 0,
        "trace": trace,
        "delay_ns": direction.delay_ns,
        "queue": _queue(direction.queue, rate_bps, rtt_ns, largest_bytes),
        "loss": _loss(direction.loss),
    }
    if direction.shaper is not None:
        shaper = direction.shaper
        described["shaper"] = {
            "rate_bps": shaper.rate,
            "burst_bytes": shaper.burst,
            "polices": shaper.policing,
            "queue": _queue(shaper.queue, shaper.rate, rtt_ns, largest_bytes),
        }
    if direction.jitter or direction.reorder is not None or direction.duplicate:
        reorder = direction.reorder
        described["disorder"] = {
            "jitter_ns": direction.jitter or 0,
            "reorder": 0.0 if reorder is None else float(reorder.probability),
            "by_ns": 0 if reorder is None else reorder.by,
            "duplicate": float(direction.duplicate or 0),
        }
    return described


def _variations(document: Document, seed: int) -> Iterator[dict[str, Any]]:
    """Changes of rates that are drawn, as events."""
    nothing = {"dead": None, "delay_ns": None, "loss": None}
    for number, (name, link) in enumerate(document.links.items()):
        for way in WAYS:
            direction = link.direction(way)
            if direction.variation is None:
                continue
            draw = generator(seed, name, way)
            for at_ns, rate_bps in direction.variation.changes(
                document.rate_bps(direction), document.duration_ns, draw
            ):
                both = {"down": way == "down", "up": way == "up"}
                yield {"at_ns": at_ns, "link": number, **both, "set": {**nothing, "rate_bps": rate_bps}}


def _named(document: Document, family: str, named: Named) -> dict[str, Any]:
    """The name and the parameters that the core has; the value of any other is the only one that it runs."""
    if named.is_plugin:
        from mptcplab.plugins import loading, running  # for scenarios that have some

        (kind,) = (key for key, each in loading.KINDS.items() if each.family == family)
        return {"name": running.key(document.plugins[kind, named.name], named.parameters), "plugin": named.name}
    entry = registry.find(family, named.name)
    assert entry is not None, f"refused before: {named.name}"
    known = [parameter.name for parameter in entry.parameters if parameter.is_known_to("sim")]
    return {"name": named.name, **{name: named.parameters[name] for name in known if name in named.parameters}}


def _size(size: Constant | Exponential | Pareto) -> dict[str, Any]:
    table: dict[str, Any] = {"distribution": size.distribution, "mean_bytes": size.mean}
    return {**table, "shape": size.shape} if isinstance(size, Pareto) else table


def _arrivals(arrivals: Poisson | Periodic | AtOnce) -> dict[str, Any]:
    if isinstance(arrivals, AtOnce):
        return {"distribution": arrivals.distribution, "count": arrivals.count}
    return {"distribution": arrivals.distribution, "rate_per_s": float(arrivals.rate)}


def _application(application: Application) -> dict[str, Any]:
    match application:
        case Bulk():
            return {"kind": "bulk"}
        case File():
            return {"kind": "file", "size_bytes": application.size}
        case Requests():
            return {"kind": "requests", "size_bytes": application.size, "limit_ns": application.limit}
        case ConstantRate():
            return {"kind": "rate", "rate_bps": application.rate}
        case Flows():
            return {"kind": "flows", "size": _size(application.size), "arrivals": _arrivals(application.arrivals)}
        case Ping():
            return {"kind": "ping", "size_bytes": application.size, "interval_ns": application.interval}
        case Web():
            objects = [
                {"size_bytes": each.size, "count": each.count, "after": each.after} for each in application.objects
            ]
            return {
                "kind": "web",
                "objects": objects,
                "connections": 1 if application.multiplexed else application.connections,
                "multiplexed": application.multiplexed,
                "request_bytes": application.request,
                "think_ns": application.think,
                "pages": application.pages,
            }
        case Video():
            return {
                "kind": "video",
                "ladder_bps": list(application.ladder),
                "segment_ns": application.segment,
                "buffer_ns": application.buffer,
                "reservoir_ns": application.reservoir,
                "upper_ns": application.upper,
                "startup_ns": application.startup,
                "segments": application.segments(),
                "request_bytes": application.request,
            }
        case Ftp():
            return {"kind": "ftp", "size_bytes": application.size, "files": application.files}
        case Program():
            # The core never reads it: the engine linux runs programs itself.
            return {"kind": "program"}


def _connection(
    document: Document, name: str, sender: Sender, paths: list[int], direction: str, count: int
) -> dict[str, Any]:
    return {
        "name": name,
        "count": count,
        "paths": paths,
        "protocol": sender.protocol,
        "congestion": _named(document, "congestion", sender.congestion),
        "scheduler": _named(document, "schedulers", sender.scheduler),
        "path_manager": _named(document, "path-managers", sender.path_manager),
        "application": _application(sender.application),
        "direction": direction,
        "start_ns": list(sender.start),
        "stop_ns": sender.stop,
        "mss_bytes": sender.mss,
        "receive_buffer_bytes": sender.receive_buffer,
        "ecn": sender.ecn,
        "checksum": sender.checksum,
        "tcp": described(sender.tcp),
        **_kernel_paths(document, sender),
        **(reading.described(sender.read_rate, sender.read) if isinstance(sender, Connection) else {}),
    }


def _kernel_paths(document: Document, sender: Sender) -> dict[str, Any]:
    """What the path manager `linux` is told."""
    manager = sender.path_manager
    if sender.protocol == "tcp" or manager.is_plugin or manager.name != endpoints.MANAGER:
        return {}
    paths = sender.paths if isinstance(sender, Connection) else ()
    kernel = str(manager.parameters["kernel"])
    return {"kernel_paths": endpoints.described(document.endpoints, document.limits, paths, kernel)}


def _event(step: Step, links: list[str]) -> dict[str, Any]:
    change, loss = step.event.set, step.values.get("loss")
    described = {
        "dead": change.is_down,
        "rate_bps": step.values.get("rate"),
        "delay_ns": step.values.get("delay"),
        "loss": None if loss is None else _loss(loss),
    }
    # What few events have is left out of the others: a scenario's hash does not change with what it does not use.
    own = {"shaper_bps": change.shaper, "address": change.address, "backup": change.backup}
    return {
        "at_ns": step.at_ns,
        "link": links.index(step.event.link),
        "down": "down" in step.ways,
        "up": "up" in step.ways,
        "set": described | {key: value for key, value in own.items() if value is not None},
    }


def _largest_bytes(senders: Iterable[Sender]) -> int:
    """The largest packet that there can be."""
    return max(PACKET_BYTES, *(sender.mss + HEADERS_BYTES for sender in senders))


def _metered(link: Link) -> dict[str, Any]:
    if link.metered is None:
        return {}
    metered = link.metered
    return {"metered": {"price_per_gb": metered.price, "cap_bytes": metered.cap, "backup": metered.use == "backup"}}


def _clamping(link: Link) -> list[dict[str, Any]]:
    """The router that knows what the link takes."""
    return [] if link.largest_mss is None else [{"kind": "mss-clamping", "mss_bytes": link.largest_mss}]


def _written(document: Document) -> dict[str, Any]:
    """The network and the connections of the file.

    Paths are those of the file in their order, then the one-link paths that connections use, in the order of the links.
    """
    links = list(document.links)
    used = document.paths_in_use()
    paths = [*document.paths, *(link for link in links if link in used and link not in document.paths)]
    rtts = round_trips_ns(document)
    largest_bytes = _largest_bytes(document.connections.values())
    traces = list(document.traces)

    def direction(name: str, link: Link, way: Way) -> dict[str, Any]:
        each = link.direction(way)
        trace = None if each.trace is None else traces.index(each.trace.file)
        return _direction(each, document.rate_bps(each), trace, rtts[name], largest_bytes)

    return {
        "traces": [trace.text for trace in document.traces.values()],
        "media": [{"name": name, **described(medium)} for name, medium in document.media.items()],
        "links": [
            {
                "name": name,
                "medium": None if link.medium is None else list(document.media).index(link.medium),
                "down": direction(name, link, "down"),
                "up": direction(name, link, "up"),
                "middleboxes": [*_clamping(link), *(described(box) for box in link.middleboxes)],
                **_metered(link),
            }
            for name, link in document.links.items()
        ],
        "paths": [
            {"name": name, "links": [links.index(link) for link in document.path_links(name)], "reversed": []}
            for name in paths
        ],
        "connections": [
            _connection(document, name, each, [paths.index(path) for path in each.paths], each.direction, each.count)
            for name, each in document.connections.items()
        ],
    }


def _generated(document: Document, topology: Topology, seed: int) -> dict[str, Any]:
    """A fat tree and its traffic.

    The sending host opens the connection. Each subflow draws one of the equal-cost paths for itself, so that one may
    be there several times.
    """
    tree, traffic = topology.tree(), document.traffic
    largest_bytes = _largest_bytes(traffic.values())
    rtt_ns = 2 * LONGEST_PATH * topology.delay

    def link(name: str, rate_bps: int, up: Queue) -> dict[str, Any]:
        def way(queue: Queue) -> dict[str, Any]:
            direction = Direction(rate_bps, None, topology.delay, queue, no_loss())
            return _direction(direction, rate_bps, None, rtt_ns, largest_bytes)

        return {"name": name, "medium": None, "down": way(topology.queue), "up": way(up), "middleboxes": []}

    links = [link(name, topology.rate, topology.host_queue or topology.queue) for name in tree.host_links()]
    links += [link(name, topology.switch_rate_bps(), topology.queue) for name in tree.switch_links()]
    place = {each["name"]: number for number, each in enumerate(links)}
    paths: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    connections = []
    counts = parts([each.share for each in traffic.values()], tree.hosts)
    for (kind, each), hosts in zip(traffic.items(), senders(counts, tree.hosts, seed), strict=True):
        for source, target in pairs(each.kind, tree.hosts, each.stride, seed):
            if source not in hosts:
                continue
            name = f"host-{source}>host-{target}"
            used = []
            for subflow in range(each.subflow_count()):
                number = draw(seed, f"ecmp/{name}/{subflow}", tree.route_count(source, target))
                route = tree.route(source, target, number)
                path = f"{name} by {route.via}"
                used.append(numbers.setdefault(path, len(numbers)))
                paths[path] = {
                    "name": path,
                    "links": [place[link] for link in (*route.up, *route.down)],
                    "reversed": [False] * len(route.up) + [True] * len(route.down),
                }
            connections.append(_connection(document, f"{kind} {name}".strip(), each, used, "up", 1))
    return {"traces": [], "media": [], "links": links, "paths": list(paths.values()), "connections": connections}


def description(document: Document, seed: int, through_wire: bool) -> dict[str, Any]:
    """The description; the caller has made sure that the core can run the scenario."""
    topology = document.topology
    network = _written(document) if topology is None else _generated(document, topology, seed)
    links = list(document.links)
    return {
        "duration_ns": document.duration_ns,
        "seed": seed,
        "warmup_ns": document.measure.warmup,
        "sample_ns": document.measure.sample,
        "through_wire": through_wire,
        **network,
        **({"sysctl": sysctl.files(document.sysctl)} if document.sysctl else {}),
        "events": [*(_event(step, links) for step in steps(document)), *_variations(document, seed)],
    }
