"""`mptcplab reproduce`: a paper's tables and figures once more, claim by claim."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mptcplab.cli.common import AT_LEAST_1, FAILED, FILE_PATH, WRONG_INPUT, Failure, complete, console, say
from mptcplab.cli.progress import Progress
from mptcplab.files import with_file
from mptcplab.shipped import paper_names

if TYPE_CHECKING:
    from mptcplab.reproduce import report as reports

_STYLES = {
    "holds": "green",
    "holds in part": "yellow",
    "not known precisely": "cyan",
    "not enough runs": "cyan",
    "differs": "red",
}


@click.command()
@click.argument("paper", metavar="PAPER", shell_complete=complete(paper_names))
@click.option(
    "--item", metavar="ID", multiple=True, help="Repeat only this table or figure; may be given several times."
)
@click.option("--quick", is_flag=True, help="Use a smaller design with fewer seeds; takes minutes.")
@click.option(
    "--out",
    type=FILE_PATH,
    metavar="DIR",
    help="Directory for the report, figures and runs; by default out/reproduce/PAPER. The same command resumes there.",
)
@click.option("--jobs", type=AT_LEAST_1, help="Number of parallel runs; by default one per core.")
@click.option(
    "--engine",
    metavar="ENGINE",
    default="sim",
    show_default=True,
    help="Engine to use, if the paper's study supports it.",
)
@click.option(
    "--export",
    "exported",
    type=(str, FILE_PATH),
    metavar="ITEM DIR",
    help="Write the scenarios of this table or figure to a new directory, a design point a file, and a sweep of them.",
)
def reproduce(
    paper: str,
    item: tuple[str, ...],
    quick: bool,
    out: Path | None,
    jobs: int | None,
    engine: str,
    exported: tuple[str, Path] | None,
) -> None:
    """Repeat a paper's tables and figures and compare each published value with the one found.

    \b
    Example: mptcplab reproduce khalili-2013 --quick
             mptcplab reproduce amoruso-2021 --engine linux
             mptcplab reproduce khalili-2013 --export table-2 out/table-2
    """
    if exported and (item or engine != "sim"):
        raise click.UsageError("--export has its own item, on the engine sim")
    from mptcplab.errors import BusyError
    from mptcplab.reproduce import PaperError, PublishedError, load_paper, problems  # altair loads slowly
    from mptcplab.reproduce.export import export
    from mptcplab.reproduce.repeat import default_directory, repeat
    from mptcplab.sweeps.carry_out import RunsFailedError
    from mptcplab.sweeps.pool import WorkerError

    try:
        loaded = load_paper(paper)
        loaded.choose((exported[0],) if exported else tuple(item or ()))
        loaded.require(engine)
    except (PaperError, PublishedError) as error:
        raise Failure(WRONG_INPUT, *str(error).splitlines()) from None
    directory = out or default_directory(paper, quick=quick, engine=engine)
    bars = _Bars()
    try:
        if exported:
            name, target = exported
            written = export(
                loaded, name, target, directory, quick=quick, jobs=jobs or os.cpu_count() or 1, progress=bars.update
            )
            bars.close()
            say(f"wrote {len(written)} files to {target}; {written[-1].name} runs the others")
            return
        repetition = repeat(
            loaded,
            directory,
            items=tuple(item or ()),
            quick=quick,
            jobs=jobs or os.cpu_count() or 1,
            engine=engine,
            progress=bars.update,
            finished=lambda done: bars.finished(f"{done.item.name}: {done.took_s:.1f} s, {len(done.work)} runs"),
        )
    except KeyboardInterrupt:
        raise Failure(
            FAILED, f"interrupted; {directory} keeps the finished runs: run the same command to resume"
        ) from None
    except OSError as error:
        raise Failure(
            FAILED, with_file(error), f"{directory} keeps the finished runs: run the same command to resume"
        ) from None
    except (RunsFailedError, WorkerError) as error:
        raise Failure(FAILED, str(error)) from None
    except (BusyError, PaperError) as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    finally:
        bars.close()
    _show(repetition)
    literals = loaded.literals()
    for done in repetition.done:
        random = bool(done.work)
        for problem in problems(done.item, done.outcome, random=random, literals=literals, labels=done.labels):
            say(f"note: {problem}")
    say(f"wrote {directory / 'report.html'}")


def _show(repetition: "reports.Repetition") -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from mptcplab.reproduce import report as reports

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in ("item", "claim", "published", "found", "verdict"):
        drawn.add_column(header, overflow="fold", ratio=4 if header == "claim" else None)
    for done in repetition.done:
        for claim in done.outcome.claims:
            text = Text(claim.text)
            if claim.told_cause:
                text.append(f"\n{claim.told_cause}", style="dim")
            drawn.add_row(
                Text(done.item.name),
                text,
                Text(reports.value(claim.published)),
                Text(reports.value(claim.found)),
                Text(done.told(claim), style=_STYLES[done.told(claim)]),
            )
    terminal = console()
    terminal.print(f"{repetition.paper.published.title}{' (quick)' if repetition.quick else ''}\n", highlight=False)
    terminal.print(drawn)
    terminal.print(f"\n{repetition.summary()}\n{repetition.cost()}", highlight=False)


class _Bars:
    """A bar for what goes on; a new one when something else does."""

    def __init__(self) -> None:
        self._what = ""
        self._bar: Progress | None = None

    def update(self, what: str, part: float) -> None:
        if self._bar is None or what != self._what:
            self.close()
            self._what, self._bar = what, Progress(what, sys.stderr)
            self._bar.__enter__()
        self._bar.update(part)

    def finished(self, line: str) -> None:
        self.close()
        say(line)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
