"""The directory of a sweep: the journal while it runs, the dataset when it is done.

sweep.toml, scenario.toml    as run; the scenario with all defaults (of several the first, all of them in scenarios/)
design.csv                   the points, with units
connections/, subflows/, links/   Parquet, in parts of the same runs; a row begins with what says which run it is
provenance.json              version, commit, how many runs
comparison.*, report.html, plots/   what the summary says, where there is something to compare
runs/                        the journal (see `journal`): what `--resume` and an extended sweep go on from
"""

import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Final

import polars as pl

from mptcplab import _core, files, provenance
from mptcplab.comparison import saving
from mptcplab.engines.catalogue import find
from mptcplab.results import inventory
from mptcplab.results.inventory import OccupiedError, shown
from mptcplab.scenario import Scenario
from mptcplab.sweeps.frames import TABLES, collect
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.sweep import Plan, design_csv

JOURNAL: Final = "runs"
_SCENARIOS: Final = "scenarios"
_FILES: Final = ("sweep.toml", "scenario.toml", "design.csv", "provenance.json", inventory.FILE)
_KNOWN: Final = (*_FILES, *TABLES, *saving.NAMES, JOURNAL, _SCENARIOS)
_RUNS_PER_PART: Final = 10_000
_PART: Final = re.compile(r"part-\d{5,}\.parquet")
_SCENARIO: Final = re.compile(r"\d{5,}\.toml")
_JOURNAL_FILE: Final = re.compile(r"lock|runs-\d{5,}\.journal")
_WORK: Final = "dataset."
_LEFT: Final = ".part"
_LEFT_WORK: Final = re.compile(r"(dataset|comparison)\.[a-z0-9_]{8}\.part")
_UNFINISHED: Final = tuple(name + _LEFT for name in _FILES)


def check(directory: Path, *, resume: bool) -> None:
    """Raise OccupiedError unless a sweep may be written to `directory`: absent, empty, or with `resume` a sweep's."""
    if not os.path.lexists(directory):
        return
    if not directory.is_dir():
        raise OccupiedError(f"{directory} is not a directory; name another one")
    found = sorted(entry.name for entry in directory.iterdir() if not _is_left_over(entry.name))
    foreign = [name for name in found if name not in _KNOWN]
    for folder, ours in (
        (JOURNAL, _JOURNAL_FILE),
        (_SCENARIOS, _SCENARIO),
        *((table, _PART) for table in TABLES),
    ):
        if (directory / folder).is_dir() and not (directory / folder).is_symlink():
            inside = sorted(entry.name for entry in (directory / folder).iterdir())
            foreign += [f"{folder}/{name}" for name in inside if not ours.fullmatch(name)]
        elif folder in found:
            foreign.append(folder)
    if foreign:
        raise OccupiedError(
            f"{directory} contains files that are not part of a sweep: {shown(foreign)}; "
            "move them or name another directory"
        )
    if found and JOURNAL not in found:
        raise OccupiedError(f"{directory} does not contain a sweep (no {JOURNAL}/); name another directory")
    if found and not resume:
        raise OccupiedError(
            f"{directory} contains a sweep already; use --resume to continue it, or name another directory"
        )


@contextmanager
def session(directory: Path, *, resume: bool) -> Iterator[Journal]:
    """The journal of the sweep in `directory`, which no other process changes meanwhile.

    Nothing is written before that is sure. Raises OccupiedError (see `check`), BusyError.
    """
    check(directory, resume=resume)
    with files.named(directory), Journal(directory / JOURNAL) as journal:
        # Somebody may have come first, and be done already.
        check(directory, resume=resume or not len(journal))
        yield journal


def begin(directory: Path, made: Plan) -> None:
    """Write what was asked for, before anything is run; within a `session`."""
    for left in directory.iterdir():
        if _is_left_over(left.name):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    texts = {
        "sweep.toml": made.sweep.text,
        "scenario.toml": made.sweep.scenario.to_toml(),
        "design.csv": design_csv(made),
        **{name: scenario.to_toml() for name, scenario in _bases(made).items()},
    }
    if any(_read(directory / name) != text for name, text in texts.items()):
        # Never an earlier dataset beside what it was not made of.
        drop(directory)
        shutil.rmtree(directory / _SCENARIOS, ignore_errors=True)
    if made.sweep.bases:
        (directory / _SCENARIOS).mkdir(exist_ok=True)
    for name, text in texts.items():
        _write(directory / name, text)


def _bases(made: Plan) -> dict[str, Scenario]:
    """Where there are several scenarios, all by their files in the dataset, in the order of the sweep."""
    return {f"{_SCENARIOS}/{number:05}.toml": each for number, each in enumerate(made.sweep.bases.values())}


def drop(directory: Path) -> None:
    """Remove an earlier dataset, which is not that of the sweep that begins; its journal stays."""
    (directory / "provenance.json").unlink(missing_ok=True)
    (directory / inventory.FILE).unlink(missing_ok=True)
    for name in saving.FILES:
        (directory / name).unlink(missing_ok=True)
    shutil.rmtree(directory / saving.PLOTS, ignore_errors=True)
    for name in TABLES:
        for file in sorted((directory / name).glob("*")):
            if _PART.fullmatch(file.name):
                file.unlink()
        if (directory / name).is_dir():
            (directory / name).rmdir()


def _is_left_over(name: str) -> bool:
    """Whether a process that was killed left this behind."""
    return name in _UNFINISHED or _LEFT_WORK.fullmatch(name) is not None


def write(directory: Path, made: Plan, journal: Journal) -> None:
    """Write the dataset of a sweep whose runs are all in the journal; provenance.json comes last."""
    work = Path(tempfile.mkdtemp(prefix=_WORK, suffix=_LEFT, dir=directory))
    try:
        for name in TABLES:
            (work / name).mkdir()
        parts = range(0, len(made.runs), _RUNS_PER_PART)
        for number, first in enumerate(parts):
            some = slice(first, first + _RUNS_PER_PART)
            runs = collect(made.labels[some], made.runs[some], journal)
            for name in TABLES:
                frame: pl.DataFrame = getattr(runs, name)
                files.write_parquet(frame, work / name / f"part-{number:05}.parquet")
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
        "engine": list(made.sweep.engines) if made.sweep.others else made.sweep.engine,
        **_kernels(made),
        "scenario_sha256": made.sweep.scenario.sha256(),
        "points": len(made.values),
        "runs": len(made.runs),
        "simulated_s": made.simulated_s,
        "python": platform.python_version(),
        "packages": {name: package_version(name) for name in ("numpy", "polars", "pydantic", "scipy")},
    }
    text = json.dumps(origin, indent=2) + "\n"
    parts_of = [f"{name}/{file.name}" for name in TABLES for file in sorted((directory / name).iterdir())]
    inventory.write(
        directory,
        ["sweep.toml", "scenario.toml", *_bases(made), "design.csv", *parts_of],
        {"provenance.json": text.encode()},
    )
    _write(directory / "provenance.json", text)


def _kernels(made: Plan) -> dict[str, object]:
    """The guests' kernels, where the engine has several."""
    if not any(find(engine).kernels for engine in made.sweep.engines):
        return {}
    from mptcplab import kernels

    found = [
        kernels.find(str(find(engine).arguments.get("kernel") or "") or None)
        for engine in made.sweep.engines
        if find(engine).kernels
    ]
    return {"kernels": {kernel.name: kernel.identity() for kernel in found}}


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _write(file: Path, text: str) -> None:
    fresh = file.with_name(file.name + _LEFT)
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)
