"""`mptcplab run`: a scenario on an engine."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mptcplab.capture.settings import SNAP_LENGTH, Capture
from mptcplab.cli.common import (
    AT_LEAST_1,
    CANNOT,
    CHECKED_FILE,
    FAILED,
    FILE_PATH,
    KERNEL,
    OVERRIDES,
    SEED,
    WRONG_INPUT,
    Failure,
    complete,
    console,
    load_scenario,
    say,
)
from mptcplab.cli.progress import Progress
from mptcplab.engines.catalogue import ALL, find, with_kernels

if TYPE_CHECKING:
    from mptcplab.results.result import Result
    from mptcplab.scenario import Scenario


_BESIDE_THE_RESULT = ""
"""`--capture` without a directory."""


@click.command()
@CHECKED_FILE
@click.option(
    "--engine",
    metavar="|".join(ALL),
    default="sim",
    shell_complete=complete(lambda: ALL),
    help="Engine that runs the scenario.",
)
@KERNEL
@SEED
@click.option("--repeat", type=AT_LEAST_1, default=1, help="Number of runs, with the seeds N, N + 1, …")
@click.option("--jobs", type=AT_LEAST_1, default=1, help="Number of parallel runs; does not affect the result.")
@OVERRIDES
@click.option(
    "--out",
    type=FILE_PATH,
    metavar="DIR",
    help="Write Parquet files, plots and report.html to DIR; an earlier result is replaced.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document instead.")
@click.option("--through-wire", is_flag=True, help="Encode, decode and compare every simulated segment (slow).")
@click.option(
    "--capture",
    is_flag=False,
    flag_value=_BESIDE_THE_RESULT,
    metavar="[DIR]",
    help="Write the packets to DIR, a pcapng file per interface of the hosts; without DIR, to captures/ in --out.",
)
@click.option(
    "--snap-length",
    type=click.IntRange(min=0),
    metavar="BYTES",
    default=SNAP_LENGTH,
    help="Bytes of each packet to keep in captures; 0 keeps all.",
)
@click.option(
    "--trace",
    type=FILE_PATH,
    metavar="DIR",
    help="Write why connections decide as they do to DIR, as qlog; `mptcplab trace DIR` shows it.",
)
@click.option(
    "--max-min",
    is_flag=True,
    help="Also print each connection's share of the goodput that max-min fairness would give it.",
)
def run(
    file: Path | None,
    engine: str,
    kernel: str | None,
    seed: int | None,
    repeat: int,
    jobs: int,
    overrides: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    through_wire: bool,
    capture: str | None,
    snap_length: int,
    trace: Path | None,
    max_min: bool,
) -> None:
    """Run a scenario.

    \b
    Example: mptcplab run scenarios/wifi-lte.toml --set link.wifi.rate="10 Mbit/s" --out out/slow-wifi
    Example: sed s/lia/olia/ wifi-lte.toml | mptcplab run -
    """
    if file is None:
        if not capture:
            raise click.MissingParameter(ctx=click.get_current_context(), param_hint="FILE", param_type="argument")
        # `run --capture FILE`: the scenario stands where the directory may stand.
        file, capture = Path(capture), _BESIDE_THE_RESULT
    if kernel is not None:
        try:
            (engine,) = with_kernels([engine], [kernel])
        except ValueError as error:
            raise Failure(WRONG_INPUT, f"--kernel: {error}") from None
    chosen = find(engine)
    if through_wire and not chosen.through_wire:
        raise Failure(WRONG_INPUT, f"--through-wire is for segments of the engine sim; {engine} has none")
    scenario = load_scenario(file, overrides)
    from mptcplab.engines import runner  # with what follows it, slow to load
    from mptcplab.results import directory as store

    if out is not None:
        store.check(out)
    if capture is not None:
        try:
            runner.captures(engine, scenario, repeat)
        except ValueError as error:
            raise Failure(WRONG_INPUT, str(error)) from None
    captures = _captures(capture, out)
    if trace is not None:
        runner.traces(engine)
    traces = _traces(trace, out, capture)
    chosen.require(scenario)
    if max_min:
        _fair_shares_exist(scenario)
    interrupted = None
    with captures as directory, traces as told:
        with Progress(f"{scenario.name} on {engine}", sys.stderr) as progress:
            try:
                result = runner.run(
                    scenario,
                    engine,
                    seed=seed,
                    repeat=repeat,
                    jobs=jobs,
                    progress=progress.update,
                    through_wire=through_wire,
                    capture=None if directory is None else Capture(directory, snap_length),
                    trace=told,
                )
            except runner.Interrupted as stop:
                if stop.finished is None:
                    raise Failure(FAILED, str(stop)) from None
                interrupted, result = stop, stop.finished
            except KeyboardInterrupt:
                raise Failure(
                    FAILED, "interrupted a second time, while runs were being ended: nothing is kept"
                ) from None
        if out is not None:
            result.save(out, captures=None if capture else directory)
    samples_file = None if out is None else "samples.parquet"
    if as_json and not max_min:
        sys.stdout.write(result.to_json(samples_file=samples_file))
    elif as_json:
        import json

        from mptcplab.comparison import max_min as fairness

        document = {**result.to_dict(samples_file=samples_file), "max_min": fairness.rows(result)}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        from mptcplab.render import text_tables

        terminal = console()
        terminal.print(
            f"{scenario.title}: {scenario.duration_ns / 1e9:g} s on {engine}, {_seeds(result)}\n", highlight=False
        )
        terminal.print(text_tables.for_terminal(result, terminal))
        if max_min:
            from mptcplab.comparison import max_min as fairness

            terminal.print(text_tables.drawn([fairness.table(fairness.rows(result))], terminal))
    for note in result.notes:
        say(f"note: {note}")
    if out is not None:
        say(f"wrote {out / 'report.html'}")
    if capture:
        say(f"wrote {Path(capture) / '*.pcapng'}")
    if trace is not None:
        say(f"wrote {trace}; mptcplab trace {trace} shows it")
    if interrupted is not None:
        raise Failure(FAILED, f"{interrupted}; the runs finished before are shown above")
    if result.failures:
        raise Failure(FAILED, *result.failures)


def _fair_shares_exist(scenario: "Scenario") -> None:
    """Refuse, before anything runs, a scenario whose links or connections do not stay as they are."""
    from mptcplab.engines.model.max_min import max_min_bps
    from mptcplab.scenario import UnsupportedError

    try:
        max_min_bps(scenario)
    except UnsupportedError as error:
        raise Failure(CANNOT, *(f"--max-min: {problem}" for problem in error.problems)) from None


def _captures(capture: str | None, out: Path | None) -> AbstractContextManager[Path | None]:
    """The directory for an engine's captures, which takes their place, or goes to the result, when the run is done."""
    from mptcplab.results import directory as store

    if capture is None:
        return nullcontext()
    if not capture:
        if out is None:
            raise Failure(WRONG_INPUT, "--capture needs a directory: give --capture DIR, or --out DIR for all results")
        return store.beside(out)
    place = Path(capture)
    if out is not None:
        _keep_apart("--capture", place, "--out", out, f"; --capture without a directory writes to {out / 'captures'}")
    store.check_captures(place)
    return store.replaced(place, store.check_captures)


def _traces(trace: Path | None, out: Path | None, capture: str | None) -> AbstractContextManager[Path | None]:
    """The directory for what connections decide, which takes its place when the run is done."""
    from mptcplab.results import directory as store

    if trace is None:
        return nullcontext()
    if out is not None:
        _keep_apart("--trace", trace, "--out", out)
    if capture:
        _keep_apart("--trace", trace, "--capture", Path(capture))
    store.check_traces(trace)
    return store.replaced(trace, store.check_traces)


def _keep_apart(option: str, place: Path, other_option: str, other: Path, hint: str = "") -> None:
    inner, outer = place.resolve(), other.resolve()
    if inner.is_relative_to(outer) or outer.is_relative_to(inner):
        raise Failure(WRONG_INPUT, f"{option} {place} and {other_option} {other}: one is inside the other{hint}")


def _seeds(result: "Result") -> str:
    seeds = [run.seed for _, run in result.runs]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}"
