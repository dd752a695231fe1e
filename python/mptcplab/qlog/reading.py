"""Reads the `.sqlog` files of a traced run: qlog's main schema 0.3 as JSON-SEQ (RFC 7464)."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mptcplab.errors import Error

SUFFIX: Final = ".sqlog"
CONNECTION: Final = "connection"
"""The group of events that are not about one subflow."""
_SEPARATOR: Final = "\x1e"


class TraceFileError(Error, ValueError):
    """A file is no trace, or no trace of `mptcplab run --trace`."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that an end decided, or that happened to it; `docs/how-to/trace.md` describes each name."""

    time_s: float
    """From the beginning of the run."""
    group: str
    """The path of the subflow, or `connection`."""
    name: str
    """As `mptcp:scheduled`."""
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trace:
    """One end of one connection."""

    file: Path
    title: str
    """As `download, server`."""
    events: Sequence[Event]
    """In the order of time."""
    names: Mapping[int, str]
    """What each subflow is called: its path, from its second subflow on with `#2`, …"""


def find(place: Path) -> list[Path]:
    """The files of a directory and of those in it (one for each run), or the file itself.

    Raises TraceFileError when there is none.
    """
    if not place.is_dir():
        if not place.exists():
            raise TraceFileError(f"{place}: no such file or directory; expected what `mptcplab run --trace` wrote")
        return [place]
    files = sorted(place.rglob(f"*{SUFFIX}"))
    if not files:
        raise TraceFileError(f"{place}: found no file *{SUFFIX}; expected what `mptcplab run --trace` wrote")
    return files


def read(file: str | os.PathLike[str]) -> Trace:
    """All of a file. Raises TraceFileError for what is no trace, OSError for what cannot be read."""
    path = Path(file)
    with path.open(encoding="utf-8", errors="strict", newline="\n") as lines:
        try:
            records = _records(path, lines)
            header = next(records, None)
            if header is None or not _is_header(header):
                raise TraceFileError(f"{path}, line 1: expected the header of a qlog file, version 0.3 as JSON-SEQ")
            events = [_event(path, number, record) for number, record in enumerate(records, 2)]
        except UnicodeDecodeError as error:
            raise TraceFileError(f"{path}: expected UTF-8, found a byte {error.object[error.start]:#04x}") from None
    names = {each.data["subflow"]: each.group for each in events if each.name == "tcp:state_changed"}
    return Trace(path, str(header.get("title", "")), events, names)


def _records(path: Path, lines: Iterator[str]) -> Iterator[Any]:
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line.removeprefix(_SEPARATOR))
        except ValueError as error:
            raise TraceFileError(f"{path}, line {number}: expected a JSON object, but {error}") from None


def _is_header(record: object) -> bool:
    return (
        isinstance(record, dict)
        and record.get("qlog_version") == "0.3"
        and record.get("qlog_format") == "JSON-SEQ"
        and isinstance(record.get("trace"), dict)
    )


def _event(path: Path, number: int, record: object) -> Event:
    match record:
        case {"time": int() | float() as ms, "group_id": str(group), "name": str(name), "data": dict(data)}:
            return Event(ms / 1e3, group, name, data)
    raise TraceFileError(f"{path}, line {number}: expected an event with time, group_id, name and data")
