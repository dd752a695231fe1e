"""A Result as a directory: written beside its place and then moved there, so it is complete or absent."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.results.columns import FRAMES

if TYPE_CHECKING:
    from mptcplab.results.result import Result

_FILES = (*(f"{name}.parquet" for name in FRAMES), "scenario.toml", "result.json", "report.html")
_PLOTS = "plots"
_TRACES = "traces"
_CAPTURES = "captures"
_PROGRAMS = "programs"
_OUTPUTS = (".stdout", ".stderr")


class OccupiedError(Exception):
    """The directory holds something that is not an earlier result."""


def check(directory: Path) -> None:
    """Raise OccupiedError unless a result may be written to `directory`: absent, empty, or an earlier result."""
    if not os.path.lexists(directory):
        return
    if not directory.is_dir():
        raise OccupiedError(f"{directory} is not a directory; name another one")
    found = sorted(entry.name for entry in directory.iterdir())
    foreign = [name for name in found if name not in (*_FILES, _PLOTS, _TRACES, _CAPTURES, _PROGRAMS)]
    foreign += sorted(
        f"{_PLOTS}/{entry.name}"
        for entry in (directory / _PLOTS).glob("*")
        if entry.suffix not in (".svg", ".png") or not entry.is_file()
    )
    foreign += sorted(
        f"{_CAPTURES}/{entry.name}" for entry in (directory / _CAPTURES).glob("*") if entry.suffix != ".pcapng"
    )
    foreign += sorted(
        f"{_PROGRAMS}/{entry.name}" for entry in (directory / _PROGRAMS).glob("*") if entry.suffix not in _OUTPUTS
    )
    if foreign:
        shown = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" if len(foreign) > 3 else "")
        raise OccupiedError(
            f"{directory} holds what is not part of a result: {shown}; move it or name another directory"
        )
    if found and not _is_result(directory / "result.json"):
        raise OccupiedError(f"{directory} is not an earlier result (no result.json of one); name another directory")


@contextmanager
def beside(directory: Path | None) -> Iterator[Path | None]:
    """A directory for what is written during a run and goes to `directory` with its result; None for None."""
    if directory is None:
        yield None
        return
    place = directory.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".captures", dir=place.parent))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def save(result: "Result", directory: Path, captures: Path | None = None) -> Path:
    """Write `result` to `directory`; what was there stays until all of it is written. `captures` is a directory of
    captures beside it, which are moved there.
    """
    from mptcplab import plots
    from mptcplab.render import report  # altair and vl-convert load slowly

    check(directory)
    place = directory.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent))
    try:
        fresh, old = work / "new", work / "old"
        fresh.mkdir()
        for name in FRAMES:
            getattr(result, name).write_parquet(fresh / f"{name}.parquet", statistics=True)
        (fresh / "scenario.toml").write_text(result.scenario.to_toml(), encoding="utf-8")
        figures = plots.figures(result)
        (fresh / "report.html").write_text(report.render(result, figures), encoding="utf-8")
        for file, trace in result.scenario.document.traces.items():
            # Where a scenario looks for a trace that it does not find under the name that it has.
            (fresh / _TRACES).mkdir(exist_ok=True)
            (fresh / _TRACES / Path(file).name).write_text(trace.text, encoding="ascii", newline="")
        if captures is not None:
            (fresh / _CAPTURES).mkdir()
            for capture in sorted(captures.glob("*.pcapng")):
                capture.rename(fresh / _CAPTURES / capture.name)
        _write_programs(result, fresh / _PROGRAMS)
        (fresh / _PLOTS).mkdir()
        plots.write_static(figures, fresh / _PLOTS)
        (fresh / "result.json").write_text(result.to_json(samples_file="samples.parquet"), encoding="utf-8")
        if place.exists():
            place.rename(old)
        try:
            fresh.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return directory


def _write_programs(result: "Result", directory: Path) -> None:
    """What programs wrote, a file for each output: CONNECTION-HOST, of several runs RUN-CONNECTION-HOST."""
    for number, run in result.runs:
        for place, program in enumerate((run.live or {}).get("programs", ())):
            directory.mkdir(exist_ok=True)
            name = f"{program['connection']}-{program['host']}"
            plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
            # Still another name for another connection.
            name = name if plain == name else f"{plain}-{place}"
            before = f"{number}-" if result.provenance.repeat > 1 else ""
            for output in _OUTPUTS:
                text = program[output.removeprefix(".")]
                (directory / f"{before}{name}{output}").write_text(text, encoding="utf-8", newline="")


def _is_result(path: Path) -> bool:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "provenance" in content and "engine" in content
