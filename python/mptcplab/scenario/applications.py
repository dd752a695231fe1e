"""What a connection sends."""

import re
import shlex
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from mptcplab.scenario import units
from mptcplab.scenario.errors import show
from mptcplab.scenario.value_types import (
    HOUR,
    SECOND,
    Table,
    ValueType,
    Wrong,
    attempt,
    boolean,
    choice,
    fault,
    faults,
    integer,
    number,
    one_kind,
    quantity,
    told,
)

SIZE: ValueType = quantity(units.SIZE, 1, 10**15)
FREQUENCY: ValueType = quantity(units.FREQUENCY, Fraction(1, 10**6), 10**6)

Size = Annotated[int, SIZE]
Frequency = Annotated[Fraction, FREQUENCY]


class Constant(Table):
    """Every flow has the same size."""

    expected: ClassVar[str] = "a distribution"
    distribution: Annotated[str, choice("constant")] = "constant"
    mean: Size

    def written(self) -> object:
        """The size alone."""
        return SIZE.write(self.mean)


class Exponential(Table):
    """Exponentially distributed sizes."""

    expected: ClassVar[str] = "a distribution"
    distribution: Annotated[str, choice("exponential")] = "exponential"
    mean: Size


class Pareto(Table):
    """Heavy-tailed sizes. The shape must be above 1, since otherwise there is no mean."""

    expected: ClassVar[str] = "a distribution"
    distribution: Annotated[str, choice("pareto")] = "pareto"
    mean: Size
    shape: Annotated[float, number(lambda x: 1 < x <= 100, "a number above 1 and at most 100")]


class Poisson(Table):
    """Independent arrivals at a mean rate."""

    expected: ClassVar[str] = "a distribution of arrivals"
    distribution: Annotated[str, choice("poisson")] = "poisson"
    rate: Frequency


class Periodic(Table):
    """Arrivals at equal intervals."""

    expected: ClassVar[str] = "a distribution of arrivals"
    distribution: Annotated[str, choice("periodic")] = "periodic"
    rate: Frequency


class AtOnce(Table):
    """A number of flows at the start."""

    expected: ClassVar[str] = "a distribution of arrivals"
    distribution: Annotated[str, choice("at-once")] = "at-once"
    count: Annotated[int, integer(1, 100_000, "a whole number")]


SIZES: Mapping[str, type[Table]] = {"constant": Constant, "exponential": Exponential, "pareto": Pareto}
ARRIVALS: Mapping[str, type[Table]] = {"poisson": Poisson, "periodic": Periodic, "at-once": AtOnce}


def _short_size(value: str) -> Constant:
    SIZE.validate(value)
    return Constant.model_validate({"mean": value})


def _short_arrivals(value: str) -> Periodic:
    raise fault(show(value), 'a distribution, such as { distribution = "poisson", rate = "5 /s" }')


FLOW_SIZE = one_kind(SIZES, None, _short_size, 'a size such as "57 kB", or a distribution of sizes', "distribution")
FLOW_ARRIVALS = one_kind(
    ARRIVALS,
    None,
    _short_arrivals,
    'a distribution, such as { distribution = "poisson", rate = "5 /s" }',
    "distribution",
)


class Bulk(Table):
    """As much data as the connection can carry, from start to stop."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("bulk")] = "bulk"

    def written(self) -> object:
        """The name alone."""
        return self.kind


class File(Table):
    """A number of bytes, then close."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("file")] = "file"
    size: Size


class Requests(Table):
    """One object after another, each over its own connection, like ApacheBench."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("requests")] = "requests"
    size: Size
    limit: Annotated[int, quantity(units.TIME, 1, 24 * HOUR)] | None = None


class ConstantRate(Table):
    """Data at a constant rate."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("rate")] = "rate"
    rate: Annotated[int, quantity(units.RATE, 1, 10**12)]


class Flows(Table):
    """Random arrivals of flows, each over its own connection."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("flows")] = "flows"
    size: Annotated[Constant | Exponential | Pareto, FLOW_SIZE]
    arrivals: Annotated[Poisson | Periodic | AtOnce, FLOW_ARRIVALS]


class Ping(Table):
    """Small messages at an interval, echoed by the server, all over one connection."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("ping")] = "ping"
    size: Annotated[int, quantity(units.SIZE, 1, 10**6)] = 64
    interval: Annotated[int, quantity(units.TIME, 1_000_000, HOUR)] = SECOND


class WebObject(Table):
    """Identical objects of a page."""

    expected: ClassVar[str] = "an object of a page"
    size: Size
    count: Annotated[int, integer(1, 10_000, "a whole number")] = 1
    after: Annotated[int, integer(0, 999, "the number of an earlier object, counted")] | None = None


def _objects(value: object) -> tuple[WebObject, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= _OBJECTS_MOST:
        raise fault(show(value), _OBJECTS_EXPECTED)
    wrong: list[Wrong] = []
    objects = []
    for index, each in enumerate(value):
        try:
            found = WebObject.model_validate(each)
        except ValidationError as error:
            details = error.errors(include_url=False)
            wrong += [((index, *detail["loc"]), *told(detail)) for detail in details]
            continue
        if index == 0:
            if found.count != 1:
                wrong.append(((0, "count"), str(found.count), "1: the first object is the document"))
            if found.after is not None:
                wrong.append(((0, "after"), str(found.after), "none: the document is asked for first"))
        elif found.after is None:
            found = found.model_copy(update={"after": 0})
        elif found.after >= index:
            wrong.append(((index, "after"), str(found.after), f"an earlier object: 0 to {index - 1}"))
        objects.append(found)
    if wrong:
        raise faults("objects", wrong)
    return tuple(objects)


_OBJECTS_MOST = 1000
_OBJECTS_EXPECTED = (
    f'an array of 1 to {_OBJECTS_MOST} objects, the document first, such as [{{ size = "30 kB" }}, '
    '{ size = "20 kB", count = 10 }]'
)
_OBJECTS = ValueType(
    _OBJECTS_EXPECTED,
    _objects,
    lambda objects: [each.written() for each in objects],
    {"type": "array", "items": {"anyOf": [WebObject]}, "minItems": 1, "maxItems": _OBJECTS_MOST},
)
_REQUEST = quantity(units.SIZE, 1, 10**6)


class Web(Table):
    """Web pages: a document, and objects that depend on it or on one another."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("web")] = "web"
    objects: Annotated[tuple[WebObject, ...], _OBJECTS]
    connections: Annotated[int, integer(1, 100, "a whole number")] = 6
    multiplexed: Annotated[bool, boolean("true (one connection for all objects) or false")] = False
    request: Annotated[int, _REQUEST] = 400
    think: Annotated[int, quantity(units.TIME, 0, HOUR)] = SECOND
    pages: Annotated[int, integer(1, 1_000_000, "a whole number")] | None = None

    @model_validator(mode="after")
    def _one_if_multiplexed(self) -> Self:
        if self.multiplexed and "connections" in self.model_fields_set and self.connections != 1:
            found = f"{self.connections} with multiplexed = true"
            raise faults("Web", [(("connections",), found, "1: a multiplexed page has one connection")])
        return self

    def written(self) -> object:
        """A multiplexed page has one connection."""
        return {**self.table(), "connections": 1} if self.multiplexed else self.table()


_RATE = quantity(units.RATE, 1000, 10**12)
_LADDER_EXPECTED = 'an array of 1 to 100 increasing rates, such as ["1 Mbit/s", "3 Mbit/s"]'


def _ladder(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= 100:
        raise fault(show(value), _LADDER_EXPECTED)
    wrong: list[Wrong] = []
    rates = [attempt(_RATE.validate, each, (index,), wrong) for index, each in enumerate(value)]
    known = [rate for rate in rates if rate is not None]
    if wrong:
        raise faults("ladder", wrong)
    if any(one >= two for one, two in pairwise(known)):
        raise fault(show(value), "rates that rise from one to the next")
    return tuple(known)


_LADDER = ValueType(
    _LADDER_EXPECTED,
    _ladder,
    lambda rates: [_RATE.write(rate) for rate in rates],
    {"type": "array", "items": _RATE.schema, "minItems": 1, "maxItems": 100},
)
_SPAN = quantity(units.TIME, 1_000_000, HOUR)


def _upper(data: Mapping[str, int]) -> int:
    """Nine tenths of the buffer, or what is left of it without a segment, so that it is reached."""
    buffer = data.get("buffer", 0)
    return min(buffer * 9 // 10, buffer - data.get("segment", 0))


class Video(Table):
    """Segmented video with bit rates chosen from the buffer level."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("video")] = "video"
    ladder: Annotated[tuple[int, ...], _LADDER]
    segment: Annotated[int, _SPAN] = 4 * SECOND
    buffer: Annotated[int, _SPAN] = 30 * SECOND
    reservoir: Annotated[int, _SPAN] = Field(default_factory=lambda data: data.get("buffer", 0) * 3 // 8)
    upper: Annotated[int, _SPAN] = Field(default_factory=_upper)
    startup: Annotated[int, _SPAN] = Field(default_factory=lambda data: data.get("segment", 0))
    length: Annotated[int, quantity(units.TIME, 1_000_000, 24 * HOUR)] | None = None
    request: Annotated[int, _REQUEST] = 400

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        wrong: list[Wrong] = []

        def written(time: int) -> str:
            return show(units.write(units.TIME, time))

        if self.upper <= self.reservoir:
            wrong.append((("upper",), written(self.upper), f"more than the reservoir, {written(self.reservoir)}"))
        if self.upper > self.buffer - self.segment:
            most = f"at most {written(self.buffer - self.segment)}: a segment is asked for when there is room for it"
            wrong.append((("upper",), written(self.upper), most))
        if self.startup + self.segment > self.buffer:
            room = f"at least startup and a segment, {written(self.startup + self.segment)}"
            wrong.append((("buffer",), written(self.buffer), room))
        if wrong:
            raise faults("Video", wrong)
        return self

    def segments(self) -> int | None:
        """How many there are; the last may go beyond the length."""
        return None if self.length is None else -(-self.length // self.segment)


class Ftp(Table):
    """FTP: commands over one connection, each file over its own."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("ftp")] = "ftp"
    size: Size
    files: Annotated[int, integer(1, 1_000_000, "a whole number")] = 1


_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_FILE_SIZE = quantity(units.SIZE, 0, 10**10)


def _command() -> ValueType:
    expected = 'a command, such as "iperf3 --client {server}", or an array of its words'

    def validate(value: object) -> tuple[str, ...]:
        words: object = value
        if isinstance(value, str):
            try:
                words = shlex.split(value)
            except ValueError:
                raise fault(f"{show(value)} (an unterminated quotation)", expected) from None
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise fault(show(value), expected)
        if not words[0] or any("\0" in word for word in words):
            raise fault(show(value), expected)
        return tuple(words)

    words = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    return ValueType(expected, validate, shlex.join, {"anyOf": [{"type": "string"}, words]})


def _files(value: object) -> dict[str, int]:
    expected = 'a table of names with sizes, such as { "data" = "20 MB" }'
    if not isinstance(value, dict):
        raise fault(show(value), expected)
    wrong: list[Wrong] = []
    files = {}
    for name, size in value.items():
        if not _FILE_NAME.fullmatch(name):
            expected = "a name of letters, digits, '.', '_' and '-', without directories"
            wrong.append(((name,), f"the name {show(name)}", expected))
        files[name] = attempt(_FILE_SIZE.validate, size, (name,), wrong)
    if wrong:
        raise faults("files", wrong)
    return {name: size for name, size in files.items() if size is not None}


_COMMAND = _command()
_FILES = ValueType(
    'a table of names with sizes, such as { "data" = "20 MB" }',
    _files,
    lambda files: {name: _FILE_SIZE.write(size) for name, size in files.items()},
    {"type": "object", "additionalProperties": _FILE_SIZE.schema},
)


class Program(Table):
    """Installed programs, one on each host."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("program")] = "program"
    client: Annotated[tuple[str, ...], _COMMAND]
    server: Annotated[tuple[str, ...], _COMMAND]
    files: Annotated[Mapping[str, int], _FILES] = {}
    mptcpize: Annotated[
        bool, boolean("true (run them under mptcpize) or false (they support Multipath TCP themselves)")
    ] = True


Application = Bulk | File | Requests | ConstantRate | Flows | Ping | Web | Video | Ftp | Program
DIALOGUES = (Ping, Web, Video, Ftp)
"""Those whose client asks."""
APPLICATIONS: Mapping[str, type[Table]] = {
    "bulk": Bulk,
    "file": File,
    "requests": Requests,
    "rate": ConstantRate,
    "flows": Flows,
    "ping": Ping,
    "web": Web,
    "video": Video,
    "ftp": Ftp,
    "program": Program,
}


def _short(value: str) -> Bulk | Ping:
    if value == "bulk":
        return Bulk()
    if value == "ping":
        return Ping()
    if value in APPLICATIONS:
        raise fault(show(value), f"the application with its parameters: {{ kind = {show(value)}, … }}")
    raise fault(show(value), APPLICATION.expected)


APPLICATION = one_kind(
    APPLICATIONS,
    None,
    _short,
    '"bulk", or a table whose kind is bulk, file, requests, rate, flows, ping, web, video, ftp or program, '
    'such as { kind = "file", size = "2 MB" }',
)
