"""The rest of a scenario file, and the file as a whole once it is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from mptcplab import registry
from mptcplab.scenario import units
from mptcplab.scenario.connections import MOMENT, Connection, Traffic
from mptcplab.scenario.declared import Declared
from mptcplab.scenario.endpoints import Endpoint, Limits
from mptcplab.scenario.errors import show
from mptcplab.scenario.fat_tree import FatTree
from mptcplab.scenario.links import (
    LOSS,
    QUEUE,
    SHAPED,
    WAYS,
    Delay,
    Direction,
    Link,
    Loss,
    Queue,
    Rate,
    one_bdp,
    percentage_of,
)
from mptcplab.scenario.machines import Testbed
from mptcplab.scenario.sysctl import SYSCTL, Value
from mptcplab.scenario.traces import Trace
from mptcplab.scenario.value_types import (
    LONGEST,
    MICROSECOND,
    Table,
    ValueType,
    boolean,
    choice,
    fault,
    faults,
    integer,
    name_list,
    number,
    or_word,
    quantity,
    table_of,
    text,
)

if TYPE_CHECKING:
    from mptcplab.plugins.loading import Source

DURATION: ValueType = quantity(units.TIME, 1, LONGEST)
LINKS_BY = ("emulator", "tc")
"""Whose links are: the laboratory's emulator's, or the kernel's queueing disciplines."""
_SAMPLE = or_word("never", quantity(units.TIME, MICROSECOND, LONGEST))


class Path(Table):
    """A path: its links, from the client's side to the server's."""

    expected: ClassVar[str] = "a path"
    links: Annotated[tuple[str, ...], name_list('an array of names of links, such as ["wifi", "shared"]')]


class Change(Table):
    """The properties that an event sets; the others do not change."""

    expected: ClassVar[str] = "what the event sets, a table"
    down: Annotated[bool, boolean("true (the link fails) or false (it recovers)")] | None = None
    rate: Rate | None = None
    delay: Delay | None = None
    loss: Annotated[Loss, LOSS] | None = None
    shaper: Annotated[int, SHAPED] | None = None
    address: Annotated[bool, boolean("false (the interface is gone, with its address) or true (it is back)")] | None = (
        None
    )
    backup: Annotated[bool, boolean("true (the path becomes a backup) or false (it no longer is one)")] | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise fault("an empty table", f"at least one of {', '.join(self.keys())}")
        if self.down is not None and self.address is not None:
            found = f"address beside down = {show(self.down)}"
            raise faults("Change", [(("address",), found, "one of them: without its address a path is down, too")])
        return self

    @property
    def is_down(self) -> bool | None:
        """Whether the link is dead from now on, of itself or without an address; None where that stays as it is."""
        return self.down if self.address is None else not self.address


_CHANGE = table_of(Change, "what changes, such as { down = true }")


class Event(Table):
    """A change of a link at a given time, or over a time."""

    expected: ClassVar[str] = "an event"
    at: Annotated[int, MOMENT]
    link: Annotated[str, text("the name of a link")]
    set: Annotated[Change, _CHANGE]
    direction: Annotated[str, choice("down", "up")] | None = None
    over: Annotated[int, quantity(units.TIME, MICROSECOND, LONGEST)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        at_once = [key for key in ("down", "shaper", "address", "backup") if getattr(self.set, key) is not None]
        if self.over is not None and at_once:
            found = f"{show(units.write(units.TIME, self.over))} for {at_once[0]}, which changes at once"
            raise faults("Event", [(("over",), found, "rate, delay and loss only in this event")])
        if self.over is not None and self.set.loss is not None and percentage_of(self.set.loss) is None:
            found = f"a loss of kind {show(self.set.loss.kind)} with over"
            raise faults("Event", [(("set", "loss"), found, 'a percentage, such as "5 %"')])
        whole = [key for key in ("address", "backup") if getattr(self.set, key) is not None]
        if self.direction is not None and whole:
            found = f"{show(self.direction)} for {whole[0]}"
            raise faults("Event", [(("direction",), found, "none: an address is that of both directions")])
        return self


class Measure(Table):
    """What is measured."""

    expected: ClassVar[str] = "what is measured, a table"
    warmup: Annotated[int, MOMENT] = 0
    sample: Annotated[int | None, _SAMPLE] = 100_000_000


class Topology(Table):
    """A generated network."""

    expected: ClassVar[str] = "a generated network"
    kind: Annotated[str, choice(*registry.names("topologies"))]
    k: Annotated[int, integer(2, 128, "an even number")]
    hosts_per_edge: Annotated[int, integer(1, 1024, "a whole number")] | None = None
    rate: Rate
    delay: Delay
    queue: Annotated[Queue, QUEUE] = Field(default_factory=one_bdp)
    host_queue: Annotated[Queue, QUEUE] | None = None
    """Of the hosts towards their edge switches; `queue` where it is not given."""
    oversubscription: Annotated[float, number(lambda x: 1 <= x <= 1000, "a number from 1 to 1000")] = 1.0

    @property
    def hosts(self) -> int:
        """How many hosts there are."""
        return self.tree().hosts

    def tree(self) -> FatTree:
        """The network."""
        return FatTree(self.k, self.hosts_per_edge)

    def switch_rate_bps(self) -> int:
        """The rate of the links between switches; the least rate of all is 1 bit/s."""
        return max(1, floor(self.rate / Fraction(self.oversubscription)))

    @model_validator(mode="after")
    def _even(self) -> Self:
        if self.k % 2:
            raise faults("Topology", [(("k",), show(self.k), "an even number, as a fat tree halves its ports")])
        return self


class Head(Table):
    """The keys before the first table of the file."""

    expected: ClassVar[str] = "a scenario"
    title: Annotated[str, text("a title, a string")] | None = None
    duration: Annotated[int, DURATION]
    seed: Annotated[int, integer(0, 2**64 - 1, "a whole number")] = 1
    links: Annotated[str, choice(*LINKS_BY)] = LINKS_BY[0]
    sysctl: Annotated[dict[str, Value], SYSCTL] = Field(default_factory=dict)
    medium: Any = None
    link: Any = None
    path: Any = None
    connection: Any = None
    event: Any = None
    measure: Any = None
    topology: Any = None
    traffic: Any = None
    testbed: Any = None
    endpoint: Any = None
    limits: Any = None


@dataclass(frozen=True, slots=True)
class Document:
    """A scenario file, read and found right."""

    title: str
    duration_ns: int
    seed: int
    links: Mapping[str, Link]
    media: Mapping[str, Declared]
    paths: Mapping[str, Path]
    """As the file has them; a link's name is a path too and is not repeated here."""
    connections: Mapping[str, Connection]
    events: tuple[Event, ...]
    measure: Measure
    topology: Topology | None
    traffic: Mapping[str, Traffic]
    """By name; a single kind without a name is called ""."""
    traces: Mapping[str, Trace]
    """Those that links have, by the files that they name."""
    testbed: Testbed | None = None
    links_by: str = LINKS_BY[0]
    """What the links are on the engine `linux-virtual`."""
    plugins: "Mapping[tuple[str, str], Source]" = field(default_factory=dict)
    """Those of connections, by the key of a connection (`congestion`, …) and what it names."""
    endpoints: tuple[Endpoint, ...] = ()
    limits: Limits | None = None
    """What the path manager `linux` is told, at both ends."""
    sysctl: Mapping[str, Value] = field(default_factory=dict)
    """What the hosts' kernels are told besides."""

    def rate_bps(self, direction: Direction) -> int:
        """The rate of a link's direction; with a trace its mean."""
        if direction.trace is not None:
            return self.traces[direction.trace.file].mean_rate_bps
        assert direction.rate_bps is not None, "a direction has a rate or a trace"
        return direction.rate_bps

    @property
    def is_drawn(self) -> bool:
        """Whether the description itself, and not only the run, depends on the seed: a generated network or a rate
        that varies at random."""
        varies = (link.direction(way).variation for link in self.links.values() for way in WAYS)
        return self.topology is not None or any(variation is not None for variation in varies)

    def path_links(self, name: str) -> tuple[str, ...]:
        """The links of a path, or the link itself when a link has this name."""
        return self.paths[name].links if name in self.paths else (name,)

    def paths_in_use(self) -> list[str]:
        """The paths that connections name, each once, in the order of their first use."""
        return list(dict.fromkeys(name for connection in self.connections.values() for name in connection.paths))
