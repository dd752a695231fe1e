"""`analyze`: captures in, frames out."""

import json
import math
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from mptcplab import _core, files
from mptcplab.capture import frames, remarks
from mptcplab.errors import Error
from mptcplab.results import inventory
from mptcplab.results.directory import replaced
from mptcplab.results.laws import LawError


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
        return tuple(remarks.of(self.summary))

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
                files.write_parquet(frame, fresh / f"{name}.parquet")
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
    series: bool = True,
) -> Analysis:
    """Analyse captures (pcapng or pcap) that belong together, such as those of several interfaces or of both hosts.

    They may be packed with gzip, Zstandard or xz; `-` is the standard input. Without `series` the frames `sent`,
    `received` and `acks` stay empty, which saves memory for captures of many millions of packets.

    Rates and shares exclude packets before `from_s` and after `to_s`, in seconds from the first TCP packet.
    `progress` is called from time to time with the fraction that has been read, 0 to 1.

    Raises CaptureError for a file that is not a capture or contains no readable TCP, OSError for one that cannot be
    read, mptcplab.results.laws.LawError for an analysis that contradicts itself, which is an error in mptcplab.

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
        _check(name)
    if names.count("-") > 1:
        raise CaptureError("the standard input (-) can be read once only")
    size = sum(Path(name).stat().st_size for name in names if name != "-") or 1
    told = None if progress is None else lambda read: progress(min(read / size, 1.0))
    try:
        answer = _core.analyze(names, from_s, to_s, told, series)
    except ValueError as error:
        path, reason = error.args
        raise CaptureError(f"{path}: {reason}") from None
    summary = json.loads(answer["summary"])
    if not summary["connections"]:
        raise CaptureError(*(f"{file['name']}: {remarks.why_nothing(file)}" for file in summary["files"]))
    if answer["broken_laws"]:
        broken = [f"connection {number}, {text}" for number, text in answer["broken_laws"]]
        raise LawError(broken, "the captures (`editcap -s 128` keeps the headers only) and `mptcplab --version`")
    return Analysis(tuple(names), summary, **frames.series(answer))


def _check(name: str) -> None:
    """Raise CaptureError for what has no end or may never begin, and for a directory; OSError where nothing is."""
    if name == "-":
        return
    try:
        mode = Path(name).stat().st_mode
    except ValueError as error:
        raise CaptureError(f"{name!r}: {error} in the name") from None
    if stat.S_ISDIR(mode):
        raise CaptureError(f"{name}: a directory; name the captures in it, for instance {name.rstrip('/')}/*.pcapng")
    if not stat.S_ISREG(mode):
        raise CaptureError(f"{name}: not a regular file; - is the standard input")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
