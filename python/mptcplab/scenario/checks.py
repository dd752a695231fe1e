"""What must agree between the parts of a scenario: names, times, and what excludes what.

The parts that are wrong in themselves are `None` here, so that everything else is still checked and one reading reports
all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from mptcplab.scenario import fat_tree, units
from mptcplab.scenario.amounts import exact_packets, round_trips_ns
from mptcplab.scenario.buffers import BufferRule
from mptcplab.scenario.changes import overlaps
from mptcplab.scenario.connections import Connection, Traffic, traffic_key
from mptcplab.scenario.declared import Declared
from mptcplab.scenario.endpoints import LAMINAR_KERNEL, MANAGER, Endpoint, Limits, repeated
from mptcplab.scenario.errors import Part, did_you_mean, one_of, show
from mptcplab.scenario.fat_tree import LONGEST_PATH
from mptcplab.scenario.links import WAYS, Link, Queue, percentage_of
from mptcplab.scenario.model import Document, Event, Measure, Path, Topology
from mptcplab.scenario.units import Amount

Report = Callable[[tuple[Part, ...], str, str], None]

MOST_SAMPLES = 10_000_000
"""Samples of one series in one run: more is a slip of the unit, and would fill the memory."""


@dataclass
class Parts:
    """The parts of a scenario as far as they could be read."""

    duration_ns: int | None = None
    media: dict[str, Declared | None] = field(default_factory=dict)
    links: dict[str, Link | None] = field(default_factory=dict)
    paths: dict[str, Path | None] = field(default_factory=dict)
    connections: dict[str, Connection | None] = field(default_factory=dict)
    events: list[Event | None] = field(default_factory=list)
    measure: Measure | None = None
    topology: Topology | None = None
    traffic: dict[str, Traffic | None] = field(default_factory=dict)
    endpoints: list[Endpoint | None] = field(default_factory=list)
    limits: Limits | None = None


def _time(nanoseconds: int) -> str:
    return show(units.write(units.TIME, nanoseconds))


def _known(names: Mapping[str, object], what: str, name: str) -> str:
    have = f"{what}: {one_of([show(known) for known in names])}" if names else f"{what}, but there is none"
    return have + did_you_mean(name, names)


def names(parts: Parts, report: Report) -> None:
    """Every name that is used names something, and one thing only."""
    for name, path in parts.paths.items():
        if name in parts.links and (path is None or path.links != (name,)):
            report(("path", name), "the name of a link", "another name: a link's name is already its one-link path")
        for index, link in enumerate(path.links if path else ()):
            if link not in parts.links:
                report(("path", name, "links", index), show(link), _known(parts.links, "a link", link))
    either = {**parts.paths, **parts.links}
    for name, connection in parts.connections.items():
        for index, used in enumerate(connection.paths if connection else ()):
            if used not in either:
                where = ("connection", name, "paths", index)
                report(where, show(used), _known(either, "a path or a link", used))
    for index, event in enumerate(parts.events):
        if event is not None and event.link not in parts.links:
            report(("event", index, "link"), show(event.link), _known(parts.links, "a link", event.link))


def unread_paths(data: Mapping[str, object], parts: Parts, report: Report) -> None:
    """The paths of connections in which something else is wrong: all errors of a file are told at once."""
    either = {**parts.paths, **parts.links}
    tables = data.get("connection")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if parts.connections.get(name) is not None or not isinstance(table, dict):
            continue
        used = table.get("paths")
        for index, path in enumerate(used if isinstance(used, list) else ()):
            if isinstance(path, str) and path not in either:
                report(("connection", name, "paths", index), show(path), _known(either, "a path or a link", path))


def shared(parts: Parts, report: Report) -> None:
    """A medium says when the links on it send."""
    for name, link in parts.links.items():
        if link is None or link.medium is None:
            continue
        if link.medium not in parts.media:
            report(("link", name, "medium"), show(link.medium), _known(parts.media, "a medium", link.medium))
        for way in WAYS:
            direction = link.direction(way)
            if direction.trace is not None:
                expected = "a rate: the medium determines when the link sends"
                report(("link", name, *link.origin(way, "trace")), show(direction.trace.file), expected)
            if "not on a medium" in direction.queue.entry.capabilities:
                name_of = direction.queue.kind.upper()
                expected = f"another queue: {name_of} needs the time a packet will wait, which is unknown on a medium"
                report(("link", name, *link.origin(way, "queue"), "kind"), show(direction.queue.kind), expected)


def stages(parts: Parts, report: Report) -> None:
    """What varies at random has a rate to vary; rules of receive buffers need paths that the file writes out."""
    links = {name: link for name, link in parts.links.items() if link is not None}
    for name, link in links.items():
        for way in WAYS:
            direction = link.direction(way)
            if direction.variation is not None and direction.trace is not None:
                found = f"{show(direction.variation.kind)} for a link whose rate {way} comes from a trace"
                report(("link", name, *link.origin(way, "variation")), found, "a rate, or no variation")
    for name, traffic in parts.traffic.items():
        if traffic is not None and isinstance(traffic.receive_buffer, BufferRule):
            found = f"the rule {show(traffic.receive_buffer.rule)}"
            report((*traffic_key(name), "receive_buffer"), found, '"auto" or a size: the network is generated')


def traced(parts: Parts, report: Report) -> None:
    """A link with a trace has no rate to change."""
    for index, event in enumerate(parts.events):
        link = parts.links.get(event.link) if event is not None else None
        if event is None or link is None or event.set.rate is None:
            continue
        for way in WAYS:
            trace = link.direction(way).trace
            if trace is not None and event.direction in (None, way):
                found = (
                    f"{show(units.write(units.RATE, event.set.rate))} for a link whose rate {way} comes from a trace"
                )
                report(
                    ("event", index, "set", "rate"), found, f"no rate, or a link without the trace {show(trace.file)}"
                )
                break


def ramps(parts: Parts, report: Report) -> None:
    """What changes over a time has a value to begin with, and nothing else changes it meanwhile."""
    events = tuple(event for event in parts.events if event is not None)
    if len(events) < len(parts.events):
        return
    for index, event in enumerate(events):
        link = parts.links.get(event.link)
        if event.over is None or link is None:
            continue
        key = overlaps(events, index)
        if key is not None:
            found = f"{_time(event.over)}, in which another event changes the {key} of {show(event.link)}"
            report(("event", index, "over"), found, "an event that is over before the next one")
        for way in WAYS:
            direction = link.direction(way)
            if event.direction not in (None, way):
                continue
            losses = [direction.loss, *(each.set.loss for each in events[:] if each.link == event.link)]
            if event.set.loss is not None and any(loss is not None and percentage_of(loss) is None for loss in losses):
                found = f"a change over {_time(event.over)} of a loss that is not a percentage"
                report(("event", index, "set", "loss"), found, "no over, or a link whose loss is a percentage")
                break
            if event.set.rate is not None and direction.variation is not None:
                found = f"a change over {_time(event.over)} of a rate that varies at random"
                report(("event", index, "set", "rate"), found, "no over, or a link without variation")
                break


def shapers(parts: Parts, report: Report) -> None:
    """An event changes a shaper that is there; the queue of one without a rate has a length that needs none."""
    for index, event in enumerate(parts.events):
        link = parts.links.get(event.link) if event is not None else None
        if event is None or link is None or event.set.shaper is None:
            continue
        for way in WAYS:
            if event.direction in (None, way) and link.direction(way).shaper is None:
                expected = f'a shaper to change: add shaper = {{ rate = "none", … }} to the link {show(event.link)}'
                report(("event", index, "set", "shaper"), f"a link without a shaper {way}", expected)
                break
    for name, link in parts.links.items():
        if link is None:
            continue
        for way in WAYS:
            shaper = link.direction(way).shaper
            lengths = () if shaper is None or shaper.rate else (shaper.queue.limit, shaper.queue.at_least)
            if any(each is not None and each.dimension not in (units.PACKETS, units.SIZE) for each in lengths):
                where = ("link", name, *link.origin(way, "shaper"), "queue")
                found = 'a length that needs a rate, with rate = "none"'
                report(where, found, 'a length in packets or bytes, such as { limit = "100 packets" }')
                break


def metered(parts: Parts, report: Report) -> None:
    """The path that opens a connection is no backup."""
    for name, connection in parts.connections.items():
        if connection is None or connection.protocol != "mptcp" or not connection.paths:
            continue
        if connection.path_manager.name == MANAGER:
            continue
        path = parts.paths.get(connection.paths[0])
        link = parts.links.get(path.links[0] if path is not None and path.links else connection.paths[0])
        if link is not None and link.metered is not None and link.metered.use == "backup":
            found = f'{show(connection.paths[0])}, which is metered with use = "backup"'
            report(("connection", name, "paths", 0), found, "a first path that is not a backup")


def endpoints(parts: Parts, report: Report) -> None:
    """Endpoints and limits are for connections that the kernel's path manager looks after, on paths that these use."""
    for index, (key, found, expected) in repeated(parts.endpoints).items():
        report(("endpoint", index, key), found, expected)
    managed = {
        name: each
        for name, each in parts.connections.items()
        if each is not None and each.protocol == "mptcp" and each.path_manager.name == MANAGER
    }
    whole = len(parts.connections) == sum(each is not None for each in parts.connections.values())
    if not managed and whole and not parts.traffic:
        for key, given in (("endpoint", any(parts.endpoints)), ("limits", parts.limits is not None)):
            if given:
                found = "a table for the kernel's path manager, which no connection has"
                report((key,), found, f'a connection with path_manager = "{MANAGER}"')
        return
    used = dict.fromkeys(path for each in managed.values() for path in each.paths)
    for index, endpoint in enumerate(parts.endpoints):
        if endpoint is None:
            continue
        if endpoint.path is not None and endpoint.path not in used and whole:
            what = _known(used, f'a path of a connection with path_manager = "{MANAGER}"', endpoint.path)
            report(("endpoint", index, "path"), show(endpoint.path), what)
        if "laminar" in endpoint.flags:
            for name, each in managed.items():
                kernel = str(each.path_manager.parameters["kernel"])
                if kernel != LAMINAR_KERNEL:
                    expected = f'kernel = "{LAMINAR_KERNEL}" for the path manager of the connection {show(name)}'
                    report(("endpoint", index, "flags"), f'"laminar" with kernel = "{kernel}"', expected)
                    break
    for name, each in managed.items():
        for place, path in enumerate(each.paths):
            way = parts.paths.get(path)
            link = parts.links.get(way.links[0] if way is not None and way.links else path)
            if link is not None and link.metered is not None and link.metered.use == "backup":
                found = f'{show(path)}, which is metered with use = "backup"'
                expected = 'another use: the endpoint says so, with flags = ["subflow", "backup"]'
                report(("connection", name, "paths", place), found, expected)


def proxies(parts: Parts, report: Report) -> None:
    """A proxy at the server itself would answer what the server sends in no time at all, for ever."""
    for name, connection in parts.connections.items():
        for index, used in enumerate(connection.paths if connection and connection.direction == "down" else ()):
            path = parts.paths.get(used)
            last = path.links[-1] if path is not None else used
            link = parts.links.get(last)
            if link is not None and any(box.kind == "proactive-acks" for box in link.middleboxes):
                found = f"{show(used)}, whose last link {show(last)} has a proxy with proactive ACKs at the server"
                report(("connection", name, "paths", index), found, "a path with another link behind the proxy")


def times(parts: Parts, report: Report) -> None:
    """What is to happen happens before the run ends."""
    end = parts.duration_ns
    if end is None:
        return
    before = f"a time before the end of the run, duration = {_time(end)}"
    for name, connection in parts.connections.items():
        if connection is not None and connection.start[1] >= end:
            report(("connection", name, "start"), _time(connection.start[1]), before)
        for number, (at, _) in enumerate((connection and connection.read) or ()):
            if at >= end:
                report(("connection", name, "read", number, 0), _time(at), before)
    for index, event in enumerate(parts.events):
        if event is not None and event.at >= end:
            report(("event", index, "at"), _time(event.at), before)
    for name, traffic in parts.traffic.items():
        if traffic is not None and traffic.start[1] >= end:
            report((*traffic_key(name), "start"), _time(traffic.start[1]), before)
    if parts.measure is None:
        return
    if parts.measure.warmup >= end:
        report(("measure", "warmup"), _time(parts.measure.warmup), before)
    sample = parts.measure.sample
    if sample is not None and sample > end:
        expected = f'at most the duration, {_time(end)}, or "never"'
        # The default gives way to a run that is shorter; what the file asks for does not.
        if "sample" in parts.measure.model_fields_set:
            report(("measure", "sample"), _time(sample), expected)
    elif sample is not None and end // sample > MOST_SAMPLES:
        least = _time(-(-end // MOST_SAMPLES))
        report(("measure", "sample"), f"{_time(sample)} ({end // sample} samples)", f"at least {least}")


def whole(present: Mapping[str, object], report: Report) -> None:
    """A scenario is links and connections, or a generated network and its traffic."""
    generated = [key for key in ("topology", "traffic") if key in present]
    for key in ("medium", "link", "path", "connection", "event"):
        if generated and key in present:
            expected = f"none: [{generated[0]}] generates the network, or [{key}] without [{generated[0]}]"
            report((key,), f"[{key}] beside [{generated[0]}]", expected)
    if len(generated) == 1:
        missing = "traffic" if generated == ["topology"] else "topology"
        report((missing,), "nothing", f"a table [{missing}] to go with [{generated[0]}]")
    for key, example in (("link", "[link.wifi]"), ("connection", "[connection.download]")):
        if not generated and present.get(key, {}) == {}:
            report((key,), "nothing", f"at least one {key}, such as {example}")


def strides(parts: Parts, report: Report) -> None:
    """Nobody sends to himself."""
    if parts.topology is None:
        return
    hosts = parts.topology.hosts
    for name, traffic in parts.traffic.items():
        if traffic is not None and traffic.stride is not None and traffic.stride % hosts == 0:
            found = f"{traffic.stride}, with which each of {hosts} hosts sends to itself"
            report((*traffic_key(name), "stride"), found, f"no multiple of {hosts}")


def shares(parts: Parts, report: Report) -> None:
    """The kinds of traffic divide the hosts among them: one may have the rest, each has at least one host."""
    kinds = {name: traffic for name, traffic in parts.traffic.items() if traffic is not None}
    if parts.topology is None or not kinds or len(kinds) < len(parts.traffic):
        return
    rest = [name for name, traffic in kinds.items() if traffic.share is None]
    for name in rest[1:]:
        report((*traffic_key(name), "share"), "nothing", f"a share of the hosts: {show(rest[0])} already has the rest")
    given = sum((traffic.share for traffic in kinds.values() if traffic.share is not None), Fraction(0))
    if given > 1:
        report(("traffic",), f"shares of {units.write(units.PERCENTAGE, given)} in all", "at most 100 %")
    if given > 1 or rest[1:]:
        return
    hosts = parts.topology.hosts
    for (name, traffic), count in zip(
        kinds.items(), fat_tree.parts([traffic.share for traffic in kinds.values()], hosts), strict=True
    ):
        if count == 0:
            share = 1 - given if traffic.share is None else traffic.share
            found = f"{units.write(units.PERCENTAGE, share)}, which is less than one of {hosts} hosts"
            report((*traffic_key(name), "share"), found, "a share of at least one host")


def thresholds(document: Document, report: Report) -> None:
    """Lengths of a queue are in order also where they are given in two dimensions, as RED's thresholds."""
    rtts = round_trips_ns(document)
    reported: set[tuple[Part, ...]] = set()

    def compare(queue: Queue, rate: int, rtt: int, where: tuple[Part, ...]) -> None:
        for order in queue.entry.orders:
            amounts = [getattr(queue, name) for name in (order.low, order.high)]
            if (
                not all(isinstance(amount, Amount) for amount in amounts)
                or amounts[0].dimension is amounts[1].dimension
            ):
                continue
            low, high = (exact_packets(amount, rate, rtt) for amount in amounts)
            place = (*where, order.high)
            if low >= high and place not in reported:
                reported.add(place)
                found = f"{show(str(amounts[1]))} ({float(high):g} packets)"
                least = f"{show(str(amounts[0]))} ({float(low):g} packets)"
                report(place, found, f"more than {order.low}, which is {least}")

    for name, link in document.links.items():
        for way in WAYS:
            direction = link.direction(way)
            where = ("link", name, *link.origin(way, "queue"))
            compare(direction.queue, document.rate_bps(direction), rtts[name], where)
    topology = document.topology
    if topology is not None:
        for rate in (topology.rate, topology.switch_rate_bps()):
            compare(topology.queue, rate, 2 * LONGEST_PATH * topology.delay, ("topology", "queue"))
        if topology.host_queue is not None:
            rtt = 2 * LONGEST_PATH * topology.delay
            compare(topology.host_queue, topology.rate, rtt, ("topology", "host_queue"))
