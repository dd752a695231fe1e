"""Connections of a scenario file: paths, algorithms, times and what is sent; and the traffic of generated networks."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from mptcplab import profiles, registry
from mptcplab.scenario import units
from mptcplab.scenario.algorithms import CONGESTION, PATH_MANAGER, SCHEDULER, Named
from mptcplab.scenario.applications import APPLICATION, DIALOGUES, Application, Bulk, Program
from mptcplab.scenario.buffers import BUFFER, BufferRule
from mptcplab.scenario.declared import Declared, Settings
from mptcplab.scenario.errors import one_of, show
from mptcplab.scenario.links import MSS, RATE
from mptcplab.scenario.reading import READ, Stage
from mptcplab.scenario.value_types import (
    LONGEST,
    Table,
    ValueType,
    Wrong,
    attempt,
    boolean,
    choice,
    fault,
    faults,
    integer,
    name_list,
    quantity,
)

MOMENT: ValueType = quantity(units.TIME, 0, LONGEST)
TCP = Settings("tcp", "the options of TCP, a table such as { pacing = true }", "the options of TCP, a table")
"""How TCP behaves, for both ends and each subflow."""

_SHARE = quantity(units.PERCENTAGE, Fraction(1, 1_000_000), 1, "a part of the hosts")


def default_tcp() -> Declared:
    """What a connection without `tcp` has: Linux's."""
    tcp: Declared = TCP.validate({})
    return tcp


def _start() -> ValueType:
    expected = 'a time such as "0 s", or a range to draw it from, such as ["0 s", "5 s"]'

    def validate(value: object) -> tuple[int, int]:
        if not isinstance(value, list):
            moment = MOMENT.validate(value)
            return (moment, moment)
        if len(value) != 2:
            raise fault(show(value), expected)
        wrong: list[Wrong] = []
        first = attempt(MOMENT.validate, value[0], (0,), wrong)
        last = attempt(MOMENT.validate, value[1], (1,), wrong)
        if first is None or last is None:
            raise faults("start", wrong)
        if first > last:
            raise fault(show(value), "the earlier time first")
        return (first, last)

    def write(times: tuple[int, int]) -> str | list[str]:
        first, last = (MOMENT.write(moment) for moment in times)
        return first if first == last else [first, last]

    two = {"type": "array", "items": MOMENT.schema, "minItems": 2, "maxItems": 2}
    return ValueType(expected, validate, write, {"anyOf": [MOMENT.schema, two]})


def _named(value_type: ValueType, for_tcp: str, for_mptcp: str) -> Callable[[dict[str, Any]], Named]:
    """A default that depends on the protocol."""

    def default(data: dict[str, Any]) -> Named:
        named: Named = value_type.validate(for_tcp if data.get("protocol") == "tcp" else for_mptcp)
        return named

    return default


class Sender(Table):
    """What every connection has, whether written out or generated."""

    protocol: Annotated[str, choice("mptcp", "tcp")] = "mptcp"
    profile: Annotated[str, choice(*profiles.NAMES)] | None = None
    congestion: Annotated[Named, CONGESTION] = Field(default_factory=_named(CONGESTION, "reno", "lia"))
    # TCP takes neither; the core is told what does nothing with a single subflow.
    scheduler: Annotated[Named, SCHEDULER] = Field(default_factory=_named(SCHEDULER, "min-rtt", "min-rtt"))
    path_manager: Annotated[Named, PATH_MANAGER] = Field(default_factory=_named(PATH_MANAGER, "default", "fullmesh"))
    application: Annotated[Application, APPLICATION] = Bulk()
    start: Annotated[tuple[int, int], _start()] = (0, 0)
    stop: Annotated[int, quantity(units.TIME, 1, LONGEST)] | None = None
    mss: Annotated[int, MSS] = 1460
    receive_buffer: Annotated[int | BufferRule | None, BUFFER] = None
    ecn: Annotated[bool, boolean()] = False
    checksum: Annotated[bool, boolean()] = False
    tcp: Annotated[Declared, TCP] = Field(default_factory=default_tcp)

    @model_validator(mode="before")
    @classmethod
    def _profiled(cls, value: object) -> object:
        return profiles.expanded(value) if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        wrong: list[Wrong] = []
        if self.protocol == "tcp":
            entry = registry.find("congestion", self.congestion.name)
            if entry is not None and entry.coupled:
                single = [entry.name for entry in registry.FAMILIES["congestion"] if not entry.coupled]
                found = f"{show(entry.name)}, which couples the subflows of MPTCP"
                wrong.append((("congestion",), found, f'{one_of(single)}, or protocol = "mptcp"'))
            for key in ("scheduler", "path_manager"):
                if key in self.model_fields_set:
                    found = f'{show(getattr(self, key).name)} for protocol = "tcp"'
                    wrong.append(((key,), found, "none: TCP has a single subflow"))
            if self.checksum:
                wrong.append((("checksum",), 'true for protocol = "tcp"', "none: only MPTCP has DSS checksums"))
        if self.stop is not None and self.stop <= self.start[1]:
            start = show(units.write(units.TIME, self.start[1]))
            wrong.append((("stop",), show(units.write(units.TIME, self.stop)), f"a time after the start, {start}"))
        if isinstance(self.receive_buffer, int) and self.receive_buffer < self.mss:
            size = show(units.write(units.SIZE, self.receive_buffer))
            mss = show(units.write(units.SIZE, self.mss))
            wrong.append((("receive_buffer",), size, f"at least one segment, mss = {mss}"))
        if wrong:
            raise faults("Sender", wrong)
        return self

    def written(self) -> dict[str, Any]:
        """Without what the protocol does not take."""
        table = self.table()
        if self.protocol == "tcp":
            del table["scheduler"], table["path_manager"], table["checksum"]
        return table


class Connection(Sender):
    """`count` independent connections of one kind."""

    expected: ClassVar[str] = "a connection"
    paths: Annotated[tuple[str, ...], name_list('an array of names of paths or links, such as ["wifi", "lte"]')]
    direction: Annotated[str, choice("down", "up")] = "down"
    count: Annotated[int, integer(1, 1_000_000, "a whole number")] = 1
    read_rate: Annotated[int, RATE] | None = None
    read: Annotated[tuple[Stage, ...], READ] | None = None

    @model_validator(mode="after")
    def _reads_a_stream(self) -> Self:
        if isinstance(self.application, (*DIALOGUES, Program)):
            expected = f"none for {show(self.application.kind)}, whose client reads as it needs"
            read = [key for key in ("read_rate", "read") if getattr(self, key) is not None]
            if read:
                raise faults("Connection", [((key,), "a value", expected) for key in read])
        return self

    @model_validator(mode="after")
    def _one_path_for_tcp(self) -> Self:
        if self.protocol == "tcp" and len(self.paths) > 1:
            found = f'{len(self.paths)} paths for protocol = "tcp"'
            raise faults("Connection", [(("paths",), found, 'one path, or protocol = "mptcp"')])
        if self.direction == "up" and isinstance(self.application, DIALOGUES):
            found = f'"up" for {show(self.application.kind)}'
            raise faults("Connection", [(("direction",), found, '"down": the client asks and the server answers')])
        return self


class Traffic(Sender):
    """The hosts that send to each other in a generated network, or the traffic of some of them."""

    expected: ClassVar[str] = "the traffic of a topology"
    kind: Annotated[str, choice(*registry.names("traffic"))]
    share: Annotated[Fraction, _SHARE] | None = None
    subflows: Annotated[int, integer(1, 255, "a whole number")] = 8
    stride: Annotated[int, integer(1, 1_000_000, "a whole number")] | None = None

    def written(self) -> dict[str, Any]:
        """Without what the protocol does not take."""
        table = super().written()
        if self.protocol == "tcp":
            del table["subflows"]
        return table

    @classmethod
    def are_named(cls, table: object) -> bool:
        """Whether the table has several kinds, each a table with a name, and is not one itself."""
        if not isinstance(table, dict) or not table:
            return False
        return all(isinstance(each, dict) for each in table.values()) and not set(table) & set(cls.keys())

    def subflow_count(self) -> int:
        """Paths that each connection draws."""
        return 1 if self.protocol == "tcp" else self.subflows

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if isinstance(self.application, DIALOGUES):
            found = show(self.application.kind)
            expected = "bulk, file, requests, rate or flows: hosts of a generated network send and do not ask"
            raise faults("Traffic", [(("application",), found, expected)])
        if (self.kind == "stride") != (self.stride is not None):
            if self.stride is None:
                raise faults("Traffic", [(("stride",), "nothing", "the distance from sender to receiver, such as 1")])
            raise faults("Traffic", [(("stride",), str(self.stride), f"none: it belongs to stride, not {self.kind}")])
        if self.protocol == "tcp" and "subflows" in self.model_fields_set and self.subflows > 1:
            found = f'{self.subflows} for protocol = "tcp"'
            raise faults("Traffic", [(("subflows",), found, '1, or protocol = "mptcp"')])
        return self


def traffic_key(name: str) -> tuple[str, ...]:
    """Where the file has this kind of traffic; the single one without a name is called ""."""
    return ("traffic", name) if name else ("traffic",)
