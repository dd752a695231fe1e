"""`analyze`: captures in, frames out."""

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from mptcplab import _core
from mptcplab.capture import frames
from mptcplab.errors import Error
from mptcplab.results import inventory
from mptcplab.results.directory import replaced


class CaptureError(Error, ValueError):
    """The file is not a capture, or has nothing to analyse."""


@dataclass(frozen=True)
class Analysis:
    """What captures say; docs/analyze.md has every column and its unit. Times count from the first TCP packet."""

    paths: tuple[str, ...]
    summary: dict[str, Any]
    """The document of `--json`."""
    sent: pl.DataFrame
    """A row for each data segment where it was sent."""
    received: pl.DataFrame
    """A row for each data segment where it arrived."""
    acks: pl.DataFrame
    """A row for each advance of the DATA_ACK; of TCP, of the ACK."""

    @property
    def connections(self) -> pl.DataFrame:
        """One row per connection."""
        return self._tables["connections"]

    @property
    def streams(self) -> pl.DataFrame:
        """One row per connection and direction."""
        return self._tables["streams"]

    @property
    def subflows(self) -> pl.DataFrame:
        """One row per subflow."""
        return self._tables["subflows"]

    @property
    def flows(self) -> pl.DataFrame:
        """One row per subflow and direction."""
        return self._tables["flows"]

    @property
    def events(self) -> pl.DataFrame:
        """Addresses, priorities, failures and ends, one row each."""
        return self._tables["events"]

    @cached_property
    def _tables(self) -> dict[str, pl.DataFrame]:
        return frames.tables(self.summary)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Remarks: what could not be read, and why."""
        return tuple(note for file in self.summary["files"] for note in _notes(file))

    def to_json(self) -> str:
        """The document of `--json`."""
        return json.dumps(self.summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def report(self) -> str:
        """One HTML page with tables and plots; needs no network."""
        from mptcplab.capture import report  # altair loads slowly

        return report.render(self)

    def save(self, directory: str | PathLike[str]) -> Path:
        """Write every frame (Parquet), analysis.json and report.html to `directory`; an earlier analysis is replaced.

        Raises OccupiedError when `directory` holds anything else.
        """
        place = Path(directory)
        with replaced(place, check) as fresh:
            for name in (*frames.SCHEMAS, "sent", "received", "acks"):
                frame: pl.DataFrame = getattr(self, name)
                frame.write_parquet(fresh / f"{name}.parquet")
            _write(fresh / "report.html", self.report())
            _write(fresh / "analysis.json", self.to_json())
        return place


def check(directory: Path) -> None:
    """Raise OccupiedError unless an analysis may be written to `directory`: absent, empty, or an earlier one."""
    inventory.check(directory, "an analysis", "analysis.json")


def analyze(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    from_s: float | None = None,
    to_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Analysis:
    """Analyse captures (pcapng or pcap) that belong together, such as those of several interfaces or of both hosts.

    Rates and shares exclude packets before `from_s` and after `to_s`, in seconds from the first TCP packet.
    `progress` is called from time to time with the fraction that has been read, 0 to 1.

    Raises CaptureError for a file that is not a capture or contains no readable TCP, OSError for one that cannot be
    read.

    >>> import tempfile, mptcplab
    >>> from pathlib import Path
    >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = mptcplab.run(scenario, capture=mptcplab.capture.Capture(Path(place)))
    ...     analysis = mptcplab.analyze(sorted(Path(place).glob("*.pcapng")))
    >>> analysis.connections["protocol"].to_list()
    ['mptcp']
    """
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not several:
        raise CaptureError("no capture given: name at least one file")
    for value, name in ((from_s, "from_s"), (to_s, "to_s")):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise CaptureError(f"{name} is {value}, it must be a number of seconds, at least 0")
    if from_s is not None and to_s is not None and to_s <= from_s:
        raise CaptureError(f"to_s is {to_s:g} and from_s is {from_s:g}: the interval is empty")
    names = [os.fspath(path) for path in several]
    for name in names:
        if Path(name).is_dir():
            raise CaptureError(
                f"{name}: a directory; name the captures in it, for instance {name.rstrip('/')}/*.pcapng"
            )
    size = sum(Path(name).stat().st_size for name in names) or 1
    told = None if progress is None else lambda read: progress(min(read / size, 1.0))
    try:
        answer = _core.analyze(names, from_s, to_s, told)
    except ValueError as error:
        path, reason = error.args
        raise CaptureError(f"{path}: {reason}") from None
    summary = json.loads(answer["summary"])
    if not summary["connections"]:
        raise CaptureError(*(f"{file['name']}: {_why_nothing(file)}" for file in summary["files"]))
    return Analysis(tuple(names), summary, **frames.series(answer))


def _why_nothing(file: dict[str, Any]) -> str:
    what = "; ".join(note.removeprefix(f"{file['name']}: ") for note in _notes(file))
    return f"no TCP in its {file['packets']} packets" + (f" ({what})" if what else "")


def _notes(file: dict[str, Any]) -> list[str]:
    notes = []
    if file["damage"]:
        notes.append(file["damage"])
    if file["unknown_links"]:
        links = ", ".join(map(str, file["unknown_links"]))
        notes.append(
            f"link type {links} is not supported; Ethernet, RAW, Linux SLL and SLL2, NULL, LOOP, IPV4 and IPV6 are"
        )
    if file["undecoded"]:
        notes.append(f"{file['undecoded']} packets could not be decoded, the first: {file['first_error']}")
    if file["fragments"]:
        notes.append(f"{file['fragments']} IP fragments were ignored")
    return [f"{file['name']}: {note}" for note in notes]


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
