"""The directory of a sweep: the journal while it runs, the dataset when it is done.

sweep.toml, scenario.toml    as run; the scenario with all defaults
design.csv                   the points, with units
connections/, subflows/, links/   Parquet, in parts of the same runs; a row begins with what says which run it is
provenance.json              version, commit, how many runs
runs/                        the journal (see `journal`): what `--resume` and an extended sweep go on from
"""

import json
import os
import platform
import shutil
import tempfile
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Final

import polars as pl

from mptcplab import _core, provenance
from mptcplab.results.directory import OccupiedError
from mptcplab.sweeps.frames import TABLES, collect
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.sweep import Plan, design_csv

JOURNAL: Final = "runs"
_FILES: Final = ("sweep.toml", "scenario.toml", "design.csv", "provenance.json")
_KNOWN: Final = (*_FILES, *TABLES, JOURNAL)
_RUNS_PER_PART: Final = 10_000


def check(directory: Path, *, resume: bool) -> None:
    """Raise OccupiedError unless a sweep may be written to `directory`: absent, empty, or with `resume` a sweep's."""
    if not os.path.lexists(directory):
        return
    if not directory.is_dir():
        raise OccupiedError(f"{directory} is not a directory; name another one")
    found = sorted(entry.name for entry in directory.iterdir() if not entry.name.endswith(".part"))
    foreign = [name for name in found if name not in _KNOWN]
    if foreign:
        raise OccupiedError(
            f"{directory} holds what is not part of a sweep: {', '.join(foreign[:3])}; name another one"
        )
    if found and not resume:
        raise OccupiedError(f"{directory} holds a sweep; --resume goes on with it, or name another directory")


def begin(directory: Path, made: Plan) -> None:
    """Write what was asked for, before anything is run."""
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.glob("*.part"):  # of a process that was killed
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    _write(directory / "sweep.toml", made.sweep.text)
    _write(directory / "scenario.toml", made.sweep.scenario.to_toml())
    _write(directory / "design.csv", design_csv(made))


def drop(directory: Path) -> None:
    """Remove an earlier dataset, which is not that of the sweep that begins; its journal stays."""
    (directory / "provenance.json").unlink(missing_ok=True)
    for name in TABLES:
        shutil.rmtree(directory / name, ignore_errors=True)


def write(directory: Path, made: Plan, journal: Journal) -> None:
    """Write the dataset of a sweep whose runs are all in the journal; provenance.json comes last."""
    work = Path(tempfile.mkdtemp(prefix="dataset.", suffix=".part", dir=directory))
    try:
        for name in TABLES:
            (work / name).mkdir()
        parts = range(0, len(made.runs), _RUNS_PER_PART)
        for number, first in enumerate(parts):
            some = slice(first, first + _RUNS_PER_PART)
            runs = collect(made.labels[some], made.runs[some], journal)
            for name in TABLES:
                frame: pl.DataFrame = getattr(runs, name)
                frame.write_parquet(work / name / f"part-{number:05}.parquet", statistics=True)
        drop(directory)
        for name in TABLES:
            (work / name).rename(directory / name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    commit, dirty = provenance.source_state()
    origin = {
        "version": _core.version(),
        "commit": commit,
        "dirty": dirty,
        "engine": made.sweep.engine,
        "scenario_sha256": made.sweep.scenario.sha256(),
        "points": len(made.values),
        "runs": len(made.runs),
        "simulated_s": made.simulated_s,
        "python": platform.python_version(),
        "packages": {name: package_version(name) for name in ("numpy", "polars", "pydantic", "scipy")},
    }
    _write(directory / "provenance.json", json.dumps(origin, indent=2) + "\n")


def _write(file: Path, text: str) -> None:
    fresh = file.with_name(file.name + ".part")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)
