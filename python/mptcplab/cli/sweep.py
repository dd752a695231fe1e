"""`mptcplab sweep`: a design over a scenario, all runs, one dataset."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mptcplab.cli.common import (
    AT_LEAST_1,
    CANNOT,
    FAILED,
    FILE_PATH,
    KERNELS,
    WRONG_INPUT,
    Failure,
    console,
    named_kernels,
    print_json,
    print_line,
    say,
    there,
)
from mptcplab.cli.compare_settings import show
from mptcplab.cli.progress import Progress
from mptcplab.files import with_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mptcplab.comparison.settings import Comparison
    from mptcplab.sweeps.carry_out import Workers
    from mptcplab.sweeps.journal import Journal
    from mptcplab.sweeps.planned import Planned
    from mptcplab.sweeps.sweep import Plan


@click.command()
@click.argument("file", metavar="FILE", type=FILE_PATH)
@click.option("--out", type=FILE_PATH, metavar="DIR", required=True, help="Directory for the dataset.")
@click.option(
    "--jobs",
    type=AT_LEAST_1,
    help="Number of parallel runs; by default one per core (one in all for real-time engines).",
)
@click.option("--resume", is_flag=True, help="Resume the sweep in DIR; finished runs are kept.")
@KERNELS
@click.option(
    "--first-differences",
    type=click.IntRange(min=0),
    default=5,
    metavar="N",
    help="With several kernels: find the first differing packet on this many of the networks that differ most.",
)
@click.option("--cluster", metavar="ADDRESS", help="Run on a Dask scheduler, such as tcp://host:8786.")
@click.option("--json", "as_json", is_flag=True, help="Print what was run and the comparison as one JSON document.")
def sweep(
    file: Path,
    out: Path,
    jobs: int | None,
    resume: bool,
    kernels: str,
    first_differences: int,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Run a scenario at every point of a design, and write one dataset.

    \b
    Example: mptcplab sweep scenarios/sweeps/two-paths.toml --out out/two-paths
    Example: mptcplab sweep my-networks.toml --out out/kernels --kernel 6.1,6.12
    """
    there("sweep", file)
    from mptcplab.comparison.metric import MetricError
    from mptcplab.errors import BusyError
    from mptcplab.sweeps import dataset  # polars and scipy load slowly
    from mptcplab.sweeps.carry_out import tally
    from mptcplab.sweeps.facade import default_jobs
    from mptcplab.sweeps.file import Sweep
    from mptcplab.sweeps.growing import grown
    from mptcplab.sweeps.sweep import make_plan

    if cluster is not None and jobs is not None:
        raise Failure(WRONG_INPUT, "--jobs applies to this machine; with --cluster the cluster's workers are used")
    read = Sweep.load(file)
    if kernels:
        try:
            read = read.with_kernels(named_kernels(kernels))
        except ValueError as error:
            raise Failure(WRONG_INPUT, f"--kernel: {error}") from None
        if cluster is not None:
            raise Failure(WRONG_INPUT, "--kernel is for this machine: a cluster's workers have kernels of their own")
    with Progress("checking the points", sys.stderr) as progress:
        made = make_plan(read, progress=progress.update)
    dataset.check(out, resume=resume)
    workers = None if cluster is None else _cluster(cluster, read.engine)
    try:
        with dataset.session(out, resume=resume) as journal:
            limit = jobs or default_jobs(*read.engines)

            def carry(plan: "Plan") -> None:
                left = tally(plan.runs, journal)
                say(f"{len(plan.values)} points so far, {left.runs - left.found} runs to do")
                _carry_out(plan.runs, journal, limit, workers, max(1, left.runs - left.found))

            made = grown(made, journal, carry)
            dataset.begin(out, made)
            if journal.discarded:
                say("discarded one incomplete run, left by an interruption")
            count = tally(made.runs, journal)
            tell = say if as_json else print_line
            tell(
                f"{len(made.values)} points, {len(read.crossed())} variants, "
                + (f"{len(read.kernels)} kernels, " if len(read.kernels) > 1 else "")
                + f"{read.repeat} seeds: {len(made.runs)} runs"
                + (f", {count.found} of them finished before" if count.found else "")
            )
            if count.found < count.runs:
                dataset.drop(out)
            began_s = time.monotonic()
            _carry_out(made.runs, journal, limit, workers, count.runs - count.found)
            ran, took_s = count.runs - count.found, time.monotonic() - began_s
            dataset.write(out, made, journal)
            found = _summary(out)
    except (BusyError, MetricError) as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    except OSError as error:
        raise Failure(FAILED, with_file(error), f"the finished runs are kept in {out}; --resume continues") from None
    except KeyboardInterrupt:
        raise Failure(FAILED, f"interrupted: all finished runs are kept in {out}; --resume continues") from None
    if as_json:
        print_json(
            {
                "directory": str(out),
                "points": len(made.values),
                "runs": count.runs,
                "ran": ran,
                "simulated_s": count.simulated_s,
                "comparison": None if found is None else found.to_dict(),
            }
        )
        return
    speed = f"{ran / took_s:.1f} runs/s" if ran else "all runs were finished before"
    print_line(f"ran {ran} in {took_s:.1f} s ({speed}), {count.simulated_s / 3600:.2f} simulated hours in all")
    print_line(f"wrote {out}")
    if found is not None:
        print_line("")
        show(found, as_json=False)
    if len(read.kernels) > 1:
        _compare_kernels(made, out, first_differences)


def _summary(out: Path) -> "Comparison | None":
    """The comparison of the variants, written beside the dataset, where there are some."""
    from mptcplab.comparison.metric import MetricError
    from mptcplab.sweeps.facade import Dataset

    try:
        found = Dataset(out).summary()
    except MetricError as error:
        say(f"no summary: {error}")
        return None
    if len(found.settings) < 2:
        return None
    found.save(out, plots=False)
    return found


def _compare_kernels(made: "Plan", out: Path, most: int) -> None:
    """What the kernels after the first make different."""
    import polars as pl

    from mptcplab.render import text_tables
    from mptcplab.sweeps import kernel_comparison

    connections = pl.read_parquet(out / "connections" / "*.parquet")
    terminal = console()
    first, *others = made.sweep.kernels
    for other in others:
        found = kernel_comparison.over(connections, first, other)
        terminal.print(text_tables.drawn((kernel_comparison.table(first, other, found),), terminal))
        for network, value, repeat in kernel_comparison.differing(found, most):
            point, variant = network
            head = f"point {point}{f', {variant}' if variant else ''}: {value:+.2%}; repeat {repeat}"
            try:
                parted = kernel_comparison.part(made, network, repeat, first, other)
            except ValueError as error:  # more interfaces than are captured
                print_line(f"{head}; {error}")
                continue
            print_line(f"{head}{': both send the same packets' if parted is None else ''}")
            for line in () if parted is None else parted.lines((first, other)):
                print_line(f"  {line}")


def _carry_out(runs: "Sequence[Planned]", journal: "Journal", jobs: int, workers: "Workers | None", left: int) -> None:
    from mptcplab.sweeps.carry_out import RunsFailedError, carry_out, tally
    from mptcplab.sweeps.pool import WorkerError

    with Progress("sweep", sys.stderr) as progress:

        def tell(done: int) -> None:
            # The part of what is left to do: the estimate is of this session.
            progress.update(done / left)

        try:
            carry_out(runs, journal, jobs=jobs, workers=workers, progress=tell)
        except KeyboardInterrupt:
            count = tally(runs, journal)
            raise Failure(
                FAILED, f"interrupted: {count.found} of {count.runs} runs are kept; --resume continues"
            ) from None
        except (RunsFailedError, WorkerError) as error:
            raise Failure(
                FAILED, str(error), "the finished runs are kept, but no dataset was written; --resume continues"
            ) from None


def _cluster(address: str, engine: str) -> "Workers":
    try:
        from mptcplab.sweeps.cluster import Cluster, ClusterError
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "distributed"):
            raise
        raise Failure(CANNOT, "--cluster needs the package distributed: pip install 'mptcplab[cluster]'") from None
    try:
        return Cluster(address, engine)
    except ClusterError as error:
        raise Failure(CANNOT, str(error)) from None
