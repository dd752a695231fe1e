"""What the engine `testbed` cannot do, by name: networks are as they are, and two machines have one setting each.

What a file says of a bound link describes it, for other engines and for the reader; only a shaper is set up.
"""

from collections.abc import Iterator

from mptcplab import registry
from mptcplab.engines.linux import refusals as linux
from mptcplab.scenario import Problem, Scenario
from mptcplab.scenario.applications import Program
from mptcplab.scenario.connections import Connection
from mptcplab.scenario.errors import Part, show
from mptcplab.scenario.links import WAYS, Link
from mptcplab.scenario.model import Document

Found = tuple[tuple[Part, ...], str, str]

_TESTBED = 'a table such as { client = "192.168.1.20", server = "192.168.1.30" }: where the agents listen'


def unsupported(scenario: Scenario) -> list[Problem]:
    """Everything in the scenario that the engine does not support, each with what it expects.

    What only an agent can know, such as its interfaces and congestion controls, is found out when the run begins.
    """
    places = scenario.places()
    controls = registry.names("congestion", "linux")
    of_linux = linux.unsupported(scenario, controls=tuple(controls), programs_here=False)
    # Queues, losses and boxes of links are not made here.
    problems = {each.key: each for each in of_linux if not each.key.startswith("link.")}
    for found in _found(scenario.document):
        problem = places.problem(*found)
        problems.setdefault(problem.key, problem)
    return list(problems.values())


def _found(document: Document) -> Iterator[Found]:
    if document.testbed is None:
        yield ("testbed",), "nothing", _TESTBED
    if document.sysctl:
        yield ("sysctl",), "a kernel's parameters", "none: the machines are set up by whoever they belong to"
    for name, link in document.links.items():
        if link.metered is not None and link.metered.use == "backup":
            yield ("link", name, "metered", "use"), '"backup"', '"always", or the path manager backup'
    for index in range(len(document.events)):
        yield ("event", index), "an event", "none: the links are real, and the engine testbed does not change them"
    yield from _links(document)
    for name, connection in document.connections.items():
        yield from _connection(name, connection)
    yield from _one_machine(document)


def bound_link(document: Document, path: str) -> str | None:
    """The one link of a path that has an interface; None without one, or with several."""
    bound = [link for link in document.path_links(path) if document.links[link].interface is not None]
    return bound[0] if len(bound) == 1 else None


def _links(document: Document) -> Iterator[Found]:
    """Each path leaves the client by an interface of its own; its other links are beyond, and described only."""
    shaped: dict[str, str] = {}
    owners: dict[str, str] = {}
    boxes: set[str] = set()
    for path in document.paths_in_use():
        boxes.update(document.path_links(path))
        name = bound_link(document, path)
        if name is None:
            which = [link for link in document.path_links(path) if document.links[link].interface is not None]
            # A path of one link is that link.
            where = ("path", path, "links") if path in document.paths else ("link", path, "interface")
            found = f"{len(which)} links with an interface" if path in document.paths else "nothing"
            yield where, found, 'one link with the client\'s interface, such as interface = "wlan0"'
            continue
        link = document.links[name]
        assert link.interface is not None, "that is what it was found by"
        before = owners.setdefault(link.interface.client, path)
        if before != path:
            expected = f"a different interface for each path: {show(before)} already uses this one"
            yield ("link", name, "interface"), show(link.interface.client), expected
        yield from _shapers(name, link, shaped)
    for name in sorted(boxes):
        for size, largest in (("mtu", document.links[name].mtu), ("mss", document.links[name].mss)):
            if largest is not None:
                yield ("link", name, size), f"{largest} B", "none: the interfaces keep their MTU"
        for index, box in enumerate(document.links[name].middleboxes):
            expected = "none: the engine testbed has only the middleboxes of the real network"
            yield ("link", name, "middleboxes", index), show(box.kind), expected


def _shapers(name: str, link: Link, shaped: dict[str, str]) -> Iterator[Found]:
    assert link.interface is not None, "looked at before"
    for way in WAYS:
        shaper = link.direction(way).shaper
        if shaper is None:
            continue
        where = ("link", name, *link.origin(way, "shaper"))
        if shaper.policing:
            yield (*where, "policing"), "true", "false: the token bucket of the engine testbed lets packets wait"
        if shaper.queue.kind != "drop-tail":
            yield (*where, "queue", "kind"), show(shaper.queue.kind), '"drop-tail"'
        if shaper.burst < _SMALLEST_BURST:
            yield (*where, "burst"), f"{shaper.burst} B", f"at least {_SMALLEST_BURST} B, one packet with its header"
        if way == "up":
            continue
        server = link.interface.server
        if server is None:
            expected = "an interface of the server, { client = …, server = … }: its packets are shaped there"
            yield ("link", name, "interface"), show(link.interface.client), expected
        elif shaped.setdefault(server, name) != name:
            expected = f"a different interface at the server: link {show(shaped[server])} is already shaped on this one"
            yield ("link", name, "interface", "server"), show(server), expected


_SMALLEST_BURST = 1514


def _connection(name: str, connection: Connection) -> Iterator[Found]:
    manager = connection.path_manager.name
    if connection.protocol == "mptcp" and manager in ("ndiffports", "linux"):
        expected = (
            '"fullmesh", "backup" or "default": the interfaces keep their addresses, and the agents their endpoints'
        )
        yield ("connection", name, "path_manager"), show(manager), expected
    if connection.mss != Connection.model_fields["mss"].default:
        expected = "the default: the interfaces keep their MTU"
        yield ("connection", name, "mss"), f"{connection.mss} B", expected
    for key in ("read_rate", "read"):
        if getattr(connection, key) is not None:
            yield ("connection", name, key), "a value", "none: the agents read everything as it comes"
    if connection.tcp.loss_detection != "rack-tlp":
        expected = "the default: an agent does not change the kernel's TCP"
        yield ("connection", name, "tcp", "loss_detection"), show(connection.tcp.loss_detection), expected


def _one_machine(document: Document) -> Iterator[Found]:
    """What is set for a whole machine is the same for all connections."""
    first: dict[str, tuple[str, object]] = {}
    programs = []
    for name, each in document.connections.items():
        settings: dict[str, object] = {"ecn": each.ecn}
        if each.protocol == "mptcp":
            settings |= {"checksum": each.checksum, "path_manager": each.path_manager.name, "paths": each.paths}
        for key, value in settings.items():
            other, theirs = first.setdefault(key, (name, value))
            if theirs != value:
                expected = f"the same as that of connection {show(other)}: it is a setting of the whole machine"
                yield ("connection", name, key), _words(value), expected
        if isinstance(each.application, Program):
            programs.append(name)
            if each.count > 1:
                yield ("connection", name, "count"), str(each.count), "1: programs are run once"
    for name in programs[1:]:
        expected = f"programs in one connection, {show(programs[0])}: sockets cannot be attributed to connections"
        yield ("connection", name, "application"), "programs", expected


def _words(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(show(each) for each in value) + "]"
    return str(value).lower() if isinstance(value, bool) else show(value)
