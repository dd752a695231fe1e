"""What the kernel's queueing disciplines cannot be (`links = "tc"`): nothing is left out or replaced silently."""

import shutil
from collections.abc import Iterable, Iterator
from typing import Final

from mptcplab import kernels
from mptcplab.engines.linux import disciplines
from mptcplab.scenario import amounts
from mptcplab.scenario.errors import Part, show
from mptcplab.scenario.links import WAYS, Direction, Link, Queue
from mptcplab.scenario.model import Document

Found = tuple[tuple[Part, ...], str, str]

_EMULATOR: Final = 'or links = "emulator"'
_OPTIONS: Final = {
    "red": "RED",
    "codel": "CODEL",
    "fq-codel": "FQ_CODEL",
    "pie": "PIE",
    "cake": "CAKE",
}
_WEIGHT_OFF: Final = 0.05
"""How far a weight of RED may be from a power of one half: 0.002 is 2.4 % from 2^-9."""
_DEFAULT_BURST_NS: Final = 150_000_000
_GAIN_STEPS: Final = 16
_LARGEST_GAIN: Final = 32
_CAKE_QUEUES: Final = 1024
_CAKE_QUANTUM: Final = 1514
_CAKE_TIMES_NS: Final = (5_000_000, 100_000_000)


def found(document: Document, chosen: Iterable[kernels.Kernel]) -> Iterator[Found]:
    """Everything that tc cannot express, or that no kernel of `chosen` has been built with."""
    if shutil.which("tc") is None:
        yield ("links",), '"tc", which is not installed on this machine', "tc; on Debian: apt-get install iproute2"
    configs = [kernel.config.read_text(encoding="utf-8") for kernel in chosen]
    for index in range(len(document.events)):
        yield ("event", index), 'an event with links = "tc"', f"none: disciplines stay as they are, {_EMULATOR}"
    for name, link in document.links.items():
        for key, what, expected in _link(document, name, link):
            yield ("link", name, *key), what, f"{expected}, {_EMULATOR}"
        for way in WAYS:
            queue = link.direction(way).queue
            for option in ("TBF", "NETEM", *([_OPTIONS[queue.kind]] if queue.kind in _OPTIONS else [])):
                if configs and not any(f"CONFIG_NET_SCH_{option}=y" in config for config in configs):
                    key = ("link", name, *link.origin(way, "queue"))
                    yield key, f"a discipline that this kernel lacks ({option})", "a kernel that is built with it"
    yield from _parting(document)


def _link(document: Document, name: str, link: Link) -> Iterator[Found]:
    if link.medium is not None:
        yield ("medium",), show(link.medium), "none: tc has no medium that two directions share"
    if link.middleboxes:
        yield ("middleboxes",), f"{len(link.middleboxes)} of them", "none: tc has no middleboxes"
    for way in WAYS:
        direction = link.direction(way)
        for changing, value in (("trace", direction.trace), ("variation", direction.variation)):
            if value is not None:
                yield link.origin(way, changing), f"a {changing}", "a constant rate"
        if direction.shaper is not None:
            yield link.origin(way, "shaper"), "a shaper in front of the link", "none"
        if direction.jitter:
            yield link.origin(way, "jitter"), "a jitter that keeps the order", "none: netem's own reorders packets"
        if direction.reorder is not None:
            yield link.origin(way, "reorder"), "packets that are held back", "none: netem lets others wait instead"
        if direction.delay_ns % 1000:
            yield link.origin(way, "delay"), "parts of a microsecond", "whole microseconds"
        if direction.loss.kind == "periodic":
            yield link.origin(way, "loss"), "a periodic loss", 'a percentage, or kind = "gilbert-elliott"'
        marks = any(each.ecn for each in document.connections.values())
        for key, what, expected in _queue(document, name, direction, marks=marks):
            yield (*link.origin(way, "queue"), *key), what, expected


def _queue(document: Document, name: str, direction: Direction, *, marks: bool) -> Iterator[Found]:
    queue = direction.queue
    if queue.kind == "dualpi2":
        yield ("kind",), '"dualpi2"', "another queue: Linux has it from 6.17 on, and no guest is built with it yet"
    elif queue.kind == "red-ns2":
        yield ("kind",), '"red-ns2"', 'kind = "red" with gentle = false: the kernel\'s RED spreads drops otherwise'
    elif queue.kind == "red":
        yield from _red(document, name, direction, queue)
    elif queue.kind == "cake":
        yield from _cake(queue, marks=marks)
    elif queue.kind == "pie":
        if queue.max_burst != _DEFAULT_BURST_NS:
            yield ("max_burst",), "another one than 150 ms", "150 ms, which is fixed in the kernel"
        for key, gain in (("alpha", queue.alpha), ("beta", queue.beta)):
            steps = gain * _GAIN_STEPS
            if steps != round(steps) or steps > _LARGEST_GAIN:
                yield (key,), show(gain), f"a multiple of 1/{_GAIN_STEPS} up to {_LARGEST_GAIN // _GAIN_STEPS}"
    for key in ("target", "interval", "update"):
        if getattr(queue, key, 0) % 1000:
            yield (key,), "parts of a microsecond", "whole microseconds"


def _red(document: Document, name: str, direction: Direction, queue: Queue) -> Iterator[Found]:
    if queue.gentle:
        yield ("gentle",), "true", "gentle = false: the kernel's RED drops every packet above max"
    weight = 0.5 ** disciplines.red_wlog(queue.weight)
    rate_bps, rtt_ns = document.rate_bps(direction), amounts.round_trips_ns(document)[name]
    least = float(amounts.exact_packets(queue.min, rate_bps, rtt_ns))
    told = {"weight": queue.weight, "min_packets": least}
    if abs(weight / queue.weight - 1) > _WEIGHT_OFF or disciplines.red_burst(told) is None:
        yield ("weight",), show(queue.weight), f"a power of one half that tc can be asked for, such as {0.5**9}"


def _cake(queue: Queue, *, marks: bool) -> Iterator[Found]:
    if queue.queues != _CAKE_QUEUES:
        yield ("queues",), show(queue.queues), f"{_CAKE_QUEUES}, which is fixed in the kernel"
    if queue.quantum != _CAKE_QUANTUM:
        yield ("quantum",), show(queue.quantum), "none: Cake computes its own from the rate"
    if (queue.target, queue.interval) != _CAKE_TIMES_NS:
        yield ("target",), "other times than Cake's", "a target of 5 ms and an interval of 100 ms"
    if marks and not queue.ecn:
        yield ("ecn",), "false for connections with ECN", "ecn = true: Cake always marks"


def _parting(document: Document) -> Iterator[Found]:
    """On the way up all of a connection's packets are for one address: where they have come together they stay so."""
    for name, connection in document.connections.items():
        after: dict[str, str | None] = {}
        for path in connection.paths:
            links = document.path_links(path)
            for link, following in zip(links, (*links[1:], None), strict=True):
                if after.setdefault(link, following) != following:
                    key = ("connection", name, "paths")
                    yield key, f"paths that part again behind link {show(link)}", f"paths that do not, {_EMULATOR}"
                    return
