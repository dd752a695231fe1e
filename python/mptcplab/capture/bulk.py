"""Captures in bulk: a folder of them as one dataset, each by itself."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

import polars as pl

from mptcplab import files
from mptcplab.capture import frames
from mptcplab.capture.analysis import Analysis, CaptureError, analyze
from mptcplab.results import inventory
from mptcplab.results.directory import replaced

SUFFIXES: Final = (".pcapng", ".pcap", ".cap")
PACKED: Final = (".gz", ".zst", ".xz")
TABLES: Final = tuple(frames.SCHEMAS)


@dataclass(frozen=True)
class Bulk:
    """The analyses of a folder, by name, in the order of the names; `refused` says what could not be analysed."""

    analyses: dict[str, Analysis]
    refused: dict[str, str]

    def frame(self, name: str) -> pl.DataFrame:
        """A table of `analyze` (`connections`, `streams`, `subflows`, `flows` or `events`) of all, `capture` first."""
        if name not in TABLES:
            raise ValueError(f"there is no table {name!r}; choose from {', '.join(TABLES)}")
        parts: list[pl.DataFrame] = [
            getattr(analysis, name).select(pl.lit(capture).alias("capture"), pl.all())
            for capture, analysis in self.analyses.items()
        ]
        return pl.concat(parts)

    def to_dict(self) -> dict[str, Any]:
        """The document of `--json`: by capture, what `analyze` says of it, and why others were refused."""
        captures = {capture: analysis.summary for capture, analysis in self.analyses.items()}
        return {"captures": captures, "refused": self.refused}

    def save(self, directory: str | PathLike[str]) -> Path:
        """Write the tables (Parquet) and captures.json to `directory`; an earlier dataset there is replaced.

        Raises OccupiedError when `directory` holds anything else.
        """
        place = Path(directory)
        with replaced(place, check) as fresh:
            for name in TABLES:
                files.write_parquet(self.frame(name), fresh / f"{name}.parquet")
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            (fresh / "captures.json").write_text(text, encoding="utf-8")
        return place


def check(directory: Path) -> None:
    """Raise OccupiedError unless a dataset may be written to `directory`: absent, empty, or an earlier one."""
    inventory.check(directory, "a dataset of captures", "captures.json")


def analyze_folder(
    folder: str | PathLike[str],
    *,
    from_s: float | None = None,
    to_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Bulk:
    """Analyse every capture in a folder by itself; the captures of a folder in it belong together, and are one.

    Other files are passed over. A capture that cannot be read, or has no TCP, is in `refused`; the others are analysed
    all the same. Times count from the first TCP packet of each; `from_s`, `to_s` and `progress` are as in `analyze`.

    Raises CaptureError when there is nothing that can be analysed, OSError for a folder that cannot be read.
    """
    groups = dict(_groups(Path(folder)))
    if not groups:
        raise CaptureError(f"{folder}: no captures ({', '.join(SUFFIXES)}) in it")
    analyses: dict[str, Analysis] = {}
    refused: dict[str, str] = {}
    for number, (name, paths) in enumerate(groups.items()):
        try:
            analyses[name] = analyze(paths, from_s=from_s, to_s=to_s, series=False)
        except CaptureError as error:
            refused[name] = "; ".join(map(str, error.args))
        if progress is not None:
            progress((number + 1) / len(groups))
    if not analyses:
        raise CaptureError(*refused.values())
    return Bulk(analyses, refused)


def _groups(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            inside = sorted(file for file in entry.iterdir() if is_capture(file))
            if inside:
                yield entry.name, inside
        elif is_capture(entry):
            yield entry.name, [entry]


def is_capture(file: Path) -> bool:
    """Whether the file is named like a capture, perhaps packed, or like a part of one (`x.pcap0`, `x.pcap1`, …)."""
    name = Path(file.stem) if file.suffix in PACKED else file
    return name.suffix.rstrip("0123456789") in SUFFIXES
