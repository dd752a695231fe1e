"""A Result as a directory: written beside its place and then moved there, so it is complete or absent."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab import files
from mptcplab.results import inventory
from mptcplab.results.columns import FRAMES
from mptcplab.results.inventory import OccupiedError

if TYPE_CHECKING:
    from mptcplab.results.result import Result

__all__ = ["OccupiedError", "beside", "check", "check_captures", "check_traces", "replaced", "save"]

_PLOTS = "plots"
_TRACES = "traces"
_CAPTURES = "captures"
_PROGRAMS = "programs"
_OUTPUTS = (".stdout", ".stderr")


def check(directory: Path) -> None:
    """Raise OccupiedError unless a result may be written to `directory`: absent, empty, or an earlier result that holds
    only what was written then.
    """
    inventory.check(directory, "a result", "result.json")


def check_captures(directory: Path) -> None:
    """Raise OccupiedError unless captures may be written to `directory`: absent, empty, or with nothing but earlier
    ones.
    """
    captures = sorted(file.name for file in directory.glob("*.pcapng"))
    inventory.check(directory, "captures of a run", captures[0] if captures else "*.pcapng")


def check_traces(directory: Path) -> None:
    """Raise OccupiedError unless traces may be written to `directory`: absent, empty, or with nothing but earlier
    ones.
    """
    traces = sorted(str(file.relative_to(directory)) for file in directory.rglob("*.sqlog"))
    inventory.check(directory, "traces of a run", traces[0] if traces else "*.sqlog")


@contextmanager
def replaced(directory: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """A directory to write to, which takes the place of `directory` at the end, with an inventory of its files.

    What was there stays until then, and after an error. `check` raises OccupiedError where it may not be replaced.
    """
    check(directory)
    place = directory.resolve()
    with files.named(directory), files.beside(place) as work:
        fresh = work / "new"
        fresh.mkdir()
        yield fresh
        inventory.write(fresh)
        with files.held(place.parent):
            # Somebody may have put a file there meanwhile.
            check(directory)
            files.exchange(fresh, place)


@contextmanager
def beside(directory: Path | None) -> Iterator[Path | None]:
    """A directory for what is written during a run and goes to `directory` with its result; None for None."""
    if directory is None:
        yield None
        return
    with files.named(directory), files.beside(directory.resolve(), ".captures") as work:
        yield work


def save(result: "Result", directory: Path, captures: Path | None = None) -> Path:
    """Write `result` to `directory`; what was there stays until all of it is written. `captures` is a directory of
    captures beside it, which are moved there.
    """
    from mptcplab import plots
    from mptcplab.render import report  # altair and vl-convert load slowly

    with replaced(directory, check) as fresh:
        for name in FRAMES:
            files.write_parquet(getattr(result, name), fresh / f"{name}.parquet")
        (fresh / "scenario.toml").write_text(result.scenario.to_toml(), encoding="utf-8")
        figures = plots.figures(result)
        (fresh / "report.html").write_text(report.render(result, figures), encoding="utf-8")
        for file, trace in result.scenario.document.traces.items():
            # Where a scenario looks for a trace that it does not find under the name that it has.
            (fresh / _TRACES).mkdir(exist_ok=True)
            (fresh / _TRACES / Path(file).name).write_text(trace.text, encoding="ascii", newline="")
        for plugin in result.scenario.document.plugins.values():
            # The text that ran, whatever has become of the file since.
            (fresh / plugin.folder).mkdir(exist_ok=True)
            (fresh / plugin.folder / plugin.kept_as).write_text(plugin.text, encoding="utf-8", newline="")
        if captures is not None:
            (fresh / _CAPTURES).mkdir()
            for capture in sorted(captures.glob("*.pcapng")):
                capture.rename(fresh / _CAPTURES / capture.name)
        _write_programs(result, fresh / _PROGRAMS)
        (fresh / _PLOTS).mkdir()
        plots.write_static(figures, fresh / _PLOTS)
        (fresh / "result.json").write_text(result.to_json(samples_file="samples.parquet"), encoding="utf-8")
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
