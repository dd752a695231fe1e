"""What a connection sends."""

import re
import shlex
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar

from mptcplab.scenario import units
from mptcplab.scenario.errors import show
from mptcplab.scenario.kinds import (
    HOUR,
    Kind,
    Table,
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
)

SIZE: Kind = quantity(units.SIZE, 1, 10**15)
FREQUENCY: Kind = quantity(units.FREQUENCY, Fraction(1, 10**6), 10**6)

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
    """Sizes with a heavy tail. A shape above 1, or there is no mean."""

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
    """Arrivals at equal distances."""

    expected: ClassVar[str] = "a distribution of arrivals"
    distribution: Annotated[str, choice("periodic")] = "periodic"
    rate: Frequency


class AtOnce(Table):
    """So many flows at the start."""

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
    """As much as the connection takes, from start to stop."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("bulk")] = "bulk"

    def written(self) -> object:
        """The name alone."""
        return self.kind


class File(Table):
    """So many bytes, then close."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("file")] = "file"
    size: Size


class Requests(Table):
    """One object after another, each over its own connection, as ApacheBench does it."""

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
    """Flows that arrive at random, each over its own connection."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("flows")] = "flows"
    size: Annotated[Constant | Exponential | Pareto, FLOW_SIZE]
    arrivals: Annotated[Poisson | Periodic | AtOnce, FLOW_ARRIVALS]


_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_FILE_SIZE = quantity(units.SIZE, 0, 10**10)


def _command() -> Kind:
    kind = 'a command, such as "iperf3 --client {server}", or an array of its words'

    def validate(value: object) -> tuple[str, ...]:
        words: object = value
        if isinstance(value, str):
            try:
                words = shlex.split(value)
            except ValueError:
                raise fault(f"{show(value)} (an unterminated quotation)", kind) from None
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise fault(show(value), kind)
        if not words[0] or any("\0" in word for word in words):
            raise fault(show(value), kind)
        return tuple(words)

    words = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    return Kind(kind, validate, shlex.join, {"anyOf": [{"type": "string"}, words]})


def _files(value: object) -> dict[str, int]:
    kind = 'a table of names with sizes, such as { "data" = "20 MB" }'
    if not isinstance(value, dict):
        raise fault(show(value), kind)
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
_FILES = Kind(
    'a table of names with sizes, such as { "data" = "20 MB" }',
    _files,
    lambda files: {name: _FILE_SIZE.write(size) for name, size in files.items()},
    {"type": "object", "additionalProperties": _FILE_SIZE.schema},
)


class Program(Table):
    """Programs that are there already, one on each host."""

    expected: ClassVar[str] = "an application"
    kind: Annotated[str, choice("program")] = "program"
    client: Annotated[tuple[str, ...], _COMMAND]
    server: Annotated[tuple[str, ...], _COMMAND]
    files: Annotated[Mapping[str, int], _FILES] = {}
    mptcpize: Annotated[
        bool, boolean("true (run them under mptcpize) or false (they support Multipath TCP themselves)")
    ] = True


Application = Bulk | File | Requests | ConstantRate | Flows | Program
APPLICATIONS: Mapping[str, type[Table]] = {
    "bulk": Bulk,
    "file": File,
    "requests": Requests,
    "rate": ConstantRate,
    "flows": Flows,
    "program": Program,
}


def _short(value: str) -> Bulk:
    if value == "bulk":
        return Bulk()
    if value in APPLICATIONS:
        raise fault(show(value), f"the application with its parameters: {{ kind = {show(value)}, … }}")
    raise fault(show(value), APPLICATION.expected)


APPLICATION = one_kind(
    APPLICATIONS,
    None,
    _short,
    '"bulk", or a table whose kind is bulk, file, requests, rate, flows or program, '
    'such as { kind = "file", size = "2 MB" }',
)
