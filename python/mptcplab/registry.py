"""Every algorithm that a scenario can name, with its parameters, its source and the engines that run it.

One table with three users: the scenario reader (is the name known, are the parameters valid?), the engines (is it
supported?) and `mptcplab list`. Congestion controls, schedulers and path managers declare themselves in the transport
(crates/algorithm) and come from there; everything else is listed here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

Value = bool | int | float | str

ENGINES = ("model", "sim", "stack", "linux")
"""Names of the four engines of the design; `BUILT` says which of them exist."""

BUILT = ("model", "sim", "stack", "linux")
"""Engines that can be called now."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an algorithm. Its type is the type of its default."""

    name: str
    default: Value
    summary: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    runs: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """By engine, the values that it runs; an engine that is not named runs every one."""
    unit: str = ""
    """Of a number; empty without one."""

    def is_known_to(self, engine: str) -> bool:
        """Whether this engine has the parameter at all: one that runs a single value of it has no such choice."""
        return engine not in self.runs or len(self.runs[engine]) > 1


@dataclass(frozen=True, slots=True)
class Column:
    """A number of its own that a congestion control shows in `samples`."""

    name: str
    unit: str
    """Empty without one."""
    summary: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One algorithm."""

    name: str
    summary: str
    source: str
    engines: tuple[str, ...] = ()
    """The engines that run it now."""
    parameters: tuple[Parameter, ...] = ()
    capabilities: tuple[str, ...] = ()
    """What it needs of the transport or does to it, in words: `coupled`, `binds ahead`, …"""

    columns: tuple[Column, ...] = ()
    """What it shows of itself in `samples`."""

    @property
    def coupled(self) -> bool:
        """Whether it couples the subflows of one connection, so that plain TCP cannot use it."""
        return "coupled" in self.capabilities

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of this name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


_MODELLED: Final[Mapping[str, tuple[str, ...]]] = {
    "congestion": ("reno", "ewtcp", "coupled", "lia", "olia", "balia", "pert", "mppert", "epsilon"),
    "schedulers": ("min-rtt", "round-robin", "blest", "ecf", "dmptcp", "linux"),
    "path-managers": ("default", "fullmesh", "ndiffports"),
}
"""The algorithms of the transport that the engine model has laws for, or that do not change what it calculates."""

_PLANNED: Final[Mapping[str, tuple[Entry, ...]]] = {
    "congestion": (),
    "schedulers": (),
    "path-managers": (),
}
"""Names that scenario files may have already and no engine runs yet; a name of the transport stands for its own."""


def _parameter(family: str, declared: Mapping[str, Any]) -> Parameter:
    runs: dict[str, tuple[Value, ...]] = {}
    if family == "congestion" and declared["name"] in ("variant", "shared"):
        runs["model"] = (declared["default"],)
    if declared["fixed_in_kernel"]:
        runs["linux"] = (declared["default"],)
    return Parameter(
        declared["name"],
        declared["default"],
        declared["summary"],
        tuple(declared["choices"]),
        declared["minimum"],
        declared["maximum"],
        runs,
        declared["unit"],
    )


@cache
def _of_transport() -> Mapping[str, tuple[Entry, ...]]:
    """The tables of the transport, which are in the compiled core, and after them what is planned."""
    from mptcplab import _core  # loaded when an algorithm is first asked for: `mptcplab --help` needs none

    families = {}
    for family, declared in json.loads(_core.algorithms()).items():
        entries = []
        for each in declared:
            able = {
                "model": each["name"] in _MODELLED[family],
                "sim": True,
                "stack": True,
                "linux": "in Linux" in each["capabilities"],
            }
            engines = tuple(engine for engine in ENGINES if able[engine])
            parameters = tuple(_parameter(family, parameter) for parameter in each["parameters"])
            entries.append(
                Entry(
                    each["name"],
                    each["summary"],
                    each["source"],
                    engines,
                    parameters,
                    tuple(each["capabilities"]),
                    tuple(Column(**column) for column in each["columns"]),
                )
            )
        have = {entry.name for entry in entries}
        families[family] = (*entries, *(planned for planned in _PLANNED[family] if planned.name not in have))
    return families


QUEUES = (
    Entry(
        "drop-tail",
        "first in, first out; packets that do not fit are dropped",
        "RFC 7567 §4",
        ("model", "sim", "stack", "linux"),
    ),
    Entry(
        "red",
        "random early detection, gentle variant",
        "Floyd & Jacobson 1993",
        ("model", "sim", "stack", "linux"),
    ),
    Entry("codel", "controlled delay", "RFC 8289", ("sim", "stack", "linux")),
    Entry("fq-codel", "fair queueing with controlled delay per flow", "RFC 8290", ("sim", "stack", "linux")),
    Entry(
        "cake",
        "fair queueing of hosts and of their flows, with controlled delay per flow",
        "Høiland-Jørgensen 2018",
        ("sim", "stack", "linux"),
    ),
    Entry("pie", "keeps the queueing delay at a target by random drops", "RFC 8033", ("sim", "stack", "linux")),
    Entry(
        "dualpi2",
        "two coupled queues: a low-latency one for scalable controls (L4S), and a classic one",
        "RFC 9332",
        ("sim", "stack", "linux"),
    ),
)

LOSSES = (
    Entry("bernoulli", "drops each packet independently", "—", ("model", "sim", "stack", "linux")),
    Entry(
        "gilbert-elliott",
        "two loss rates, in a good and a bad state",
        "Gilbert 1960; Elliott 1963",
        ("sim", "stack", "linux"),
    ),
    Entry("periodic", "drops every n-th packet", "Mathis 1997; RFC 9438 §5.1", ("sim", "stack", "linux")),
)

PLUGINS = ("sim", "stack")
"""Engines that run plug-ins."""

TRACES = ("sim", "stack", "linux")
"""Engines that run links with a trace in place of a rate."""

_PACKETS = ("sim", "stack", "linux")
"""Engines whose links carry packets."""

MIDDLEBOXES = (
    Entry(
        "strip", "removes Multipath TCP options from SYNs, data or all segments", "Honda 2011; RFC 8684 §3.7", _PACKETS
    ),
    Entry("nat", "translates clients' addresses and ports", "RFC 3022; RFC 5382", _PACKETS),
    Entry("sequence-rewriting", "changes initial sequence numbers", "Honda 2011", _PACKETS),
    Entry("splitting", "splits segments and copies the options to each part", "Raiciu 2012; Honda 2011", _PACKETS),
    Entry("coalescing", "merges two segments, keeping the options of the first", "Raiciu 2012", _PACKETS),
    Entry("payload-rewriting", "modifies the payload, and its length", "Raiciu 2012; RFC 8684 §3.7", _PACKETS),
    Entry("proactive-acks", "acknowledges data before the receiver has it", "Raiciu 2012", _PACKETS),
    Entry("reset-injection", "sends resets in the name of either end", "RFC 8684 §3.6", _PACKETS),
    Entry("syn-filter", "drops SYNs with Multipath TCP options", "Honda 2011; RFC 8684 §3.7", _PACKETS),
    Entry("captive", "lets connections open, then drops their data", "—", _PACKETS),
)

APPLICATIONS = (
    Entry("bulk", "sends as much as the connection can carry", "—", ("model", "sim", "stack", "linux")),
    Entry("file", "sends a given number of bytes, then closes", "—", ("model", "sim", "stack", "linux")),
    Entry(
        "requests",
        "fetches one object after another, each over its own connection",
        "ApacheBench",
        ("sim", "stack", "linux"),
    ),
    Entry("rate", "sends at a constant rate", "—", ("sim", "stack", "linux")),
    Entry("flows", "random arrivals of flows, each over its own connection", "—", ("sim", "stack", "linux")),
    Entry("ping", "small messages at an interval, echoed by the server", "—", ("sim", "stack", "linux")),
    Entry("web", "web pages: a document and its objects", "RFC 9112; RFC 9113", ("sim", "stack", "linux")),
    Entry(
        "video",
        "video segments with a bit rate chosen from the buffer level",
        "Huang 2014 (BBA-0)",
        ("sim", "stack", "linux"),
    ),
    Entry(
        "ftp",
        "a file transfer with a login, each file over its own connection",
        "RFC 959; RFC 2428",
        ("sim", "stack", "linux"),
    ),
    Entry("program", "an installed program, such as iperf3, curl or ab", "—", ("linux",)),
)

TOPOLOGIES = (Entry("fat-tree", "a k-ary fat tree of three layers with k³/4 hosts", "Al-Fares 2008", ("sim",)),)

TRAFFIC = (
    Entry("permutation", "every host sends to one host and receives from one", "Raiciu 2011", ("sim",)),
    Entry("random", "every host sends to a random host", "Raiciu 2011", ("sim",)),
    Entry("stride", "host i sends to host i + stride", "Al-Fares 2008", ("sim",)),
    Entry("all-to-all", "every host sends to every other", "Raiciu 2011", ("sim",)),
)

_OWN: Final[Mapping[str, tuple[Entry, ...]]] = {
    "queues": QUEUES,
    "losses": LOSSES,
    "middleboxes": MIDDLEBOXES,
    "applications": APPLICATIONS,
    "topologies": TOPOLOGIES,
    "traffic": TRAFFIC,
}


class _Families(Mapping[str, tuple[Entry, ...]]):
    """The tables by name; those of the transport are read when they are first asked for."""

    def __getitem__(self, family: str) -> tuple[Entry, ...]:
        return _OWN[family] if family in _OWN else (_of_transport() if family in _PLANNED else _PLANNED)[family]

    def __iter__(self) -> Iterator[str]:
        return iter((*_PLANNED, *_OWN))

    def __len__(self) -> int:
        return len(_PLANNED) + len(_OWN)


FAMILIES: Mapping[str, tuple[Entry, ...]] = _Families()
"""Every table by the name that `mptcplab list` takes."""


def find(family: str, name: str) -> Entry | None:
    """The entry of a family with this name; `KeyError` when there is no such family."""
    return next((entry for entry in FAMILIES[family] if entry.name == name), None)


def names(family: str, engine: str | None = None) -> list[str]:
    """The names of a family, in the order of the table; only those that `engine` runs when it is given."""
    return [entry.name for entry in FAMILIES[family] if engine is None or engine in entry.engines]
