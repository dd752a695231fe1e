"""Repeats a paper: item by item, into a directory that keeps the runs."""

import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version as package_version
from os import PathLike
from pathlib import Path

from mptcplab import _core, files, provenance
from mptcplab.engines.catalogue import available
from mptcplab.reproduce.context import Context
from mptcplab.reproduce.papers import Paper, load_paper
from mptcplab.reproduce.report import RUNS, Done, Repetition, check, write
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.pool import Pool


def repeat(
    paper: Paper,
    directory: Path,
    *,
    items: tuple[str, ...] = (),
    quick: bool = False,
    jobs: int = 1,
    engine: str = "sim",
    progress: Callable[[str, float], None] | None = None,
    finished: Callable[[Done], None] | None = None,
) -> Repetition:
    """Repeat the items of these ids, or all, and write the report.

    `directory`/runs keeps the runs, so that what was interrupted goes on.

    `progress` gets what is being done and the part that is done; `finished` each item as it is done.

    Raises PaperError (for an engine that the study has not, too), EngineUnavailableError, OccupiedError when
    `directory` holds something else, and what `Context.run_many` raises.
    """
    paper.require(engine)
    chosen = paper.choose(items)
    check(directory)
    # Before the first item, which may take minutes on the simulator.
    available(engine)
    done = []
    with files.named(directory), Journal(directory / RUNS) as journal, Pool(jobs) as pool:
        for name, study in chosen.items():
            began_s = time.monotonic()
            item = paper.published.items[name]

            def tell(what: str, part: float, item_name: str = item.name) -> None:
                if progress is not None:
                    progress(f"{item_name}: {what}", part)

            kept = directory / "kept" / name
            made = partial(
                Context,
                item,
                journal,
                kept,
                quick=quick,
                jobs=jobs,
                workers=pool,
                engine=engine,
                progress=tell,
                machine=paper.machine,
            )
            context = made()
            outcome, work, by_text = study(context), context.work, None
            if context.machine.has_two and not quick:
                other = made(by_text=True)
                by_text = study(other)
                work = {**work, **other.work}
            done.append(Done(item, outcome, work, time.monotonic() - began_s, quick, by_text, context.labels))
            if finished is not None:
                finished(done[-1])
        repetition = Repetition(paper, done, quick, jobs, _origin(engine), engine)
        write(repetition, directory)  # while nobody else may
    return repetition


def default_directory(paper: str, *, quick: bool, engine: str) -> Path:
    """The default directory of a repetition."""
    return (
        Path("out")
        / "reproduce"
        / "-".join([paper, *([] if engine == "sim" else [engine]), *(["quick"] if quick else [])])
    )


def reproduce(
    paper: str,
    *,
    items: Sequence[str] = (),
    quick: bool = False,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    engine: str = "sim",
    progress: Callable[[str, float], None] | None = None,
) -> Repetition:
    """Repeat a paper of `mptcplab list papers`: all its tables and figures, or the `items` of these ids.

    The report goes to `out`/report.html, beside pictures, tables and the finished runs; called again, it goes on there.
    By default that is out/reproduce/PAPER, with -quick for `quick`, a thinner design. `jobs` runs go on at a time, by
    default on all cores. `engine` is one that the study has (`Paper.engines`). `progress` gets what is being done and
    the part that is done.

    The answer's `claims` is a data frame: what was published, what was found, and whether it holds.

    Raises PaperError for an unknown paper or item, OccupiedError when `out` holds something else, RunsFailedError; all
    are of `mptcplab.Error`.

    >>> import tempfile, mptcplab
    >>> with tempfile.TemporaryDirectory() as out:
    ...     repetition = mptcplab.reproduce("khalili-2013", items=["figure-9"], quick=True, out=out)
    >>> repetition.claims.columns[:3]
    ['item', 'claim', 'text']
    """
    loaded = load_paper(paper)
    loaded.choose(tuple(items))
    directory = default_directory(paper, quick=quick, engine=engine) if out is None else Path(out)
    at_a_time = jobs or os.cpu_count() or 1
    return repeat(loaded, directory, items=tuple(items), quick=quick, jobs=at_a_time, engine=engine, progress=progress)


def _origin(engine: str) -> dict[str, object]:
    commit, dirty = provenance.source_state()
    packages = ("altair", "numpy", "polars", "scipy")
    return {
        "version": _core.version(),
        "commit": commit,
        "dirty": dirty,
        "engine": engine,
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {package_version(name)}" for name in packages),
        "machine": f"{platform.system()} {platform.machine()}",
        **({"kernel": platform.release()} if engine != "sim" else {}),
    }
