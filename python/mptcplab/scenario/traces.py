"""Traces of links: files in the format of Mahimahi, which say when a link can send."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, ClassVar

from mptcplab import _core, files
from mptcplab.scenario.errors import searched, show
from mptcplab.scenario.value_types import Table, ValueType, fault, text

FOLDER = "traces"
"""Where a trace is looked for that is not beside the scenario, and where a result keeps its traces."""


def _digest(value: object) -> str:
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        raise fault(show(value), "the SHA-256 of the file, 64 hexadecimal digits")
    return value


_DIGEST = ValueType("the SHA-256 of the file", _digest, schema={"type": "string", "pattern": "^[0-9a-f]{64}$"})


class TraceFile(Table):
    """A trace file, with its digest."""

    expected: ClassVar[str] = "a trace"
    file: Annotated[str, text("the name of a Mahimahi trace file")]
    sha256: Annotated[str, _DIGEST] | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """The content of a trace file that is right."""

    text: str
    sha256: str
    mean_rate_bps: int
    """Of packets of 1500 bytes, over a period, rounded down."""
    period_ns: int
    place: Path = field(compare=False)
    """Where it was read."""


class TraceFileError(Exception):
    """There is no such trace, or it is none."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found)
        self.found = found
        self.expected = expected


def _place_of(folders: Sequence[Path], named: TraceFile) -> Path:
    """The file that is meant: named from one of the folders on, or one of its name in `traces` there."""
    places = [place for each in folders for place in (each / named.file, each / FOLDER / Path(named.file).name)]
    there = [place for place in places if files.exists(place)] or places
    return next((place for place in there if _is_meant(place, named)), there[0])


def read(folders: Sequence[Path], named: TraceFile) -> Trace:
    """Reads the file from the first of the folders that has it. Raises `TraceFileError`."""
    place = _place_of(folders, named)
    try:
        content = files.read(place)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        found = f"{show(named.file)}, which cannot be read ({reason or error})"
        raise TraceFileError(found, f"a file, named relative to {searched(folders)}") from None
    digest = sha256(content).hexdigest()
    if named.sha256 not in (None, digest):
        raise TraceFileError(f"{place} with the SHA-256 {digest}", f"the trace with the SHA-256 {named.sha256}")
    try:
        decoded = content.decode("ascii")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TraceFileError(f"{place}:{line}: a byte that is not ASCII", "times in whole milliseconds") from None
    try:
        rate, period = _core.read_trace(decoded)
    except ValueError as error:
        line, found, expected = error.args
        raise TraceFileError(f"{place}:{line}: {found}", expected) from None
    return Trace(decoded, digest, rate, period, place)


def _is_meant(place: Path, named: TraceFile) -> bool:
    try:
        content = files.read(place)
    except (OSError, ValueError):
        return False
    return named.sha256 in (None, sha256(content).hexdigest())


def _trace(value: object) -> TraceFile:
    return TraceFile.model_validate({"file": value} if isinstance(value, str) else value)


TRACE: ValueType = ValueType(
    "the name of a Mahimahi trace file", _trace, TraceFile.written, {"anyOf": [{"type": "string"}, TraceFile]}
)
