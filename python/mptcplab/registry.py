"""Every algorithm that a scenario can name, with its parameters, its source and the engines that run it.

One table with three users: the scenario reader (is the name known, are the parameters valid?), the engines (is it
supported?) and `mptcplab list`. What the transport and the network have (congestion controls, schedulers, path
managers; queues, losses, middleboxes, media, the options of TCP) declares itself there (crates/algorithm) and comes
from there; everything else is listed here.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

Value = bool | int | float | str

ENGINES = ("model", "sim", "stack", "linux")
"""What `Entry.engines` is chosen from: an engine of mptcplab.engines.catalogue runs what one of these runs."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an algorithm."""

    name: str
    kind: str
    """`flag`, `word`, `whole` or `number`; `time`, `size` or `packets`: a whole number of ns, bytes or packets;
    `percentage`: from 0 to 1; `length` and `limit`: of a queue; `largest packet`: the scenario's, which its file does
    not say."""
    default: Value | None
    """As a scenario file has it, or in the base unit; absent when a value must be given, or may be absent."""
    summary: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above_minimum: bool = False
    """Whether the minimum itself is excluded."""
    absent: str | None = None
    """Whether a value may be absent: by a key that is `left out`, or by the word `none`."""
    noun: str = ""
    """What messages call a value; empty for its kind's."""
    field: str = ""
    """The name in the description for the core."""
    runs: Mapping[str, tuple[Value, ...]] = dataclasses.field(default_factory=dict, hash=False)
    """By engine, the values that it runs; an engine that is not named runs every one."""
    unit: str = ""
    """Of a number; empty without one."""

    def is_known_to(self, engine: str) -> bool:
        """Whether this engine has the parameter at all: one that runs a single value of it has no such choice."""
        return engine not in self.runs or len(self.runs[engine]) > 1


@dataclass(frozen=True, slots=True)
class Order:
    """Two parameters whose values have an order."""

    low: str
    high: str
    strict: bool
    """Whether they must differ."""


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
    orders: tuple[Order, ...] = ()
    """Parameters of which one must be below another."""

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
    "queues": ("drop-tail", "red"),
    "losses": ("bernoulli",),
    "middleboxes": (),
}
"""What declares itself and the engine model has laws for, or that does not change what it calculates."""

_TRANSPORT: Final = ("congestion", "schedulers", "path-managers")
"""The families whose members a Linux kernel has or has not; of the others it runs all, on our links."""


def _parameter(family: str, declared: Mapping[str, Any]) -> Parameter:
    runs: dict[str, tuple[Value, ...]] = {}
    if family == "congestion" and declared["name"] in ("variant", "shared"):
        runs["model"] = (declared["default"],)
    if declared["fixed_in_kernel"]:
        runs["linux"] = (declared["default"],)
    values = {key: value for key, value in declared.items() if key != "fixed_in_kernel"}
    return Parameter(**{**values, "choices": tuple(declared["choices"]), "runs": runs})


@cache
def _declared() -> Mapping[str, tuple[Entry, ...]]:
    """The tables of the transport and the network, which are in the compiled core."""
    from mptcplab import _core  # loaded when an algorithm is first asked for: `mptcplab --help` needs none

    families = {}
    for family, declared in json.loads(_core.algorithms()).items():
        entries = []
        for each in declared:
            able = {
                "model": each["name"] in _MODELLED.get(family, ()),
                "sim": True,
                "stack": True,
                "linux": family not in _TRANSPORT or "in Linux" in each["capabilities"],
            }
            entries.append(
                Entry(
                    each["name"],
                    each["summary"],
                    each["source"],
                    tuple(engine for engine in ENGINES if able[engine]),
                    tuple(_parameter(family, parameter) for parameter in each["parameters"]),
                    tuple(each["capabilities"]),
                    tuple(Column(**column) for column in each["columns"]),
                    tuple(Order(**order) for order in each["orders"]),
                )
            )
        families[family] = tuple(entries)
    return families


SETTINGS: Final = ("media", "tcp")
"""What has parameters and is no family."""


def settings(name: str) -> Entry:
    """One of `SETTINGS`."""
    (entry,) = _declared()[name]
    return entry


PLUGINS = ("sim", "stack")
"""Engines that run plug-ins."""

TRACES = ("sim", "stack", "linux")
"""Engines that run links with a trace in place of a rate."""

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
    "applications": APPLICATIONS,
    "topologies": TOPOLOGIES,
    "traffic": TRAFFIC,
}


class _Families(Mapping[str, tuple[Entry, ...]]):
    """The tables by name; those in the core are read when they are first asked for."""

    def __getitem__(self, family: str) -> tuple[Entry, ...]:
        return _declared()[family] if family in _MODELLED else _OWN[family]

    def __iter__(self) -> Iterator[str]:
        return iter((*_MODELLED, *_OWN))

    def __len__(self) -> int:
        return len(_MODELLED) + len(_OWN)


FAMILIES: Mapping[str, tuple[Entry, ...]] = _Families()
"""Every table by the name that `mptcplab list` takes."""


def find(family: str, name: str) -> Entry | None:
    """The entry of a family with this name; `KeyError` when there is no such family."""
    return next((entry for entry in FAMILIES[family] if entry.name == name), None)


def names(family: str, engine: str | None = None) -> list[str]:
    """The names of a family, in the order of the table; only those that `engine` runs when it is given."""
    return [entry.name for entry in FAMILIES[family] if engine is None or engine in entry.engines]
