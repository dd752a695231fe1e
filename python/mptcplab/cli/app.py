"""The command `mptcplab`. Exit status: 0 done, 1 the run failed, 2 the input is wrong, 3 this machine cannot do it."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

import mptcplab
from mptcplab.capture.settings import SNAP_LENGTH, Capture
from mptcplab.cli import bpf
from mptcplab.cli import doctor as machine
from mptcplab.cli import list as listing
from mptcplab.cli.analyze import analyze
from mptcplab.cli.common import CANNOT, FAILED, WRONG_INPUT, Failure, File, Overrides, console, print_line, say
from mptcplab.cli.compare import compare
from mptcplab.cli.design import design
from mptcplab.cli.get import get
from mptcplab.cli.predict import predict
from mptcplab.cli.progress import Progress
from mptcplab.cli.reproduce import reproduce
from mptcplab.cli.sweep import sweep
from mptcplab.engines.catalogue import ALL, ENGINES, available
from mptcplab.engines.runner import Interrupted, captures, run
from mptcplab.errors import EngineUnavailableError, UnknownEngineError
from mptcplab.models.checks import NotConvergedError
from mptcplab.render import text_tables
from mptcplab.results import directory as store
from mptcplab.scenario import Scenario, ScenarioError, UnsupportedError

_INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    name="mptcplab",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

EngineName = Annotated[str, typer.Option("--engine", metavar="|".join(ALL), help="What runs it.")]


def _version(wanted: bool) -> None:
    if wanted:
        print_line(f"mptcplab {mptcplab.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The laboratory for Multipath TCP: describe a network once; calculate, simulate and run it."""


@app.command("run")
def run_command(
    file: File,
    engine: EngineName = "sim",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed in place of the scenario's.", show_default=False)
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs, with the seeds N, N + 1, …")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time; the result does not depend on it.")] = 1,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write Parquet files, plots and report.html there; replaces an earlier result.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document instead.")] = False,
    through_wire: Annotated[
        bool, typer.Option("--through-wire", help="Encode, decode and compare every simulated segment (slow).")
    ] = False,
    capture: Annotated[
        bool,
        typer.Option("--capture", help="With --out: write captures/*.pcapng, one for each interface of the hosts."),
    ] = False,
    snap_length: Annotated[
        int, typer.Option(min=0, metavar="BYTES", help="Bytes kept of each packet in a capture; 0 keeps all.")
    ] = SNAP_LENGTH,
) -> None:
    """Run a scenario.

    Example: `mptcplab run scenarios/wifi-lte.toml --set link.wifi.rate="10 Mbit/s" --out out/slow-wifi`
    """
    available(engine)
    if through_wire and not available(engine).through_wire:
        raise Failure(WRONG_INPUT, f"--through-wire is for segments of the engine sim; {engine} has none")
    scenario = Scenario.load(file, overrides=overrides or [])
    if out is not None:
        store.check(out)
    if capture:
        if out is None:
            raise Failure(WRONG_INPUT, "--capture writes beside the result: give --out DIR too")
        try:
            captures(engine, scenario, repeat)
        except ValueError as error:
            raise Failure(WRONG_INPUT, str(error)) from None
    interrupted = None
    with store.beside(out if capture else None) as directory:
        with Progress(f"{scenario.name} on {engine}", sys.stderr) as progress:
            try:
                result = run(
                    scenario,
                    engine,
                    seed=seed,
                    repeat=repeat,
                    jobs=jobs,
                    progress=progress.update,
                    through_wire=through_wire,
                    capture=None if directory is None else Capture(directory, snap_length),
                )
            except Interrupted as stop:
                if stop.finished is None:
                    raise Failure(FAILED, str(stop)) from None
                interrupted, result = stop, stop.finished
        if out is not None:
            result.save(out, captures=directory)
    if as_json:
        sys.stdout.write(result.to_json(samples_file=None if out is None else "samples.parquet"))
    else:
        terminal = console()
        terminal.print(
            f"{scenario.title}: {scenario.duration_ns / 1e9:g} s on {engine}, {_seeds(result)}\n", highlight=False
        )
        terminal.print(text_tables.for_terminal(result, terminal))
    for note in result.notes:
        say(f"note: {note}")
    if out is not None:
        say(f"wrote {out / 'report.html'}")
    if interrupted is not None:
        raise Failure(FAILED, f"{interrupted}; what was finished is above")
    if result.failures:
        raise Failure(FAILED, *result.failures)


app.command("compare")(compare)


@app.command()
def check(file: File, overrides: Overrides = None) -> None:
    """Validate a scenario and say which engines can run it; run nothing.

    Example: `mptcplab check scenarios/wifi-lte.toml`
    """
    scenario = Scenario.load(file, overrides=overrides or [])
    print_line(f"{file}: valid")
    for engine in ENGINES.values():
        problems = engine.unsupported(scenario)
        print_line(f"  {engine.name:<6} {'can run it' if not problems else 'cannot run it:'}")
        for problem in problems:
            print_line(f"         {problem}")


app.command("analyze")(analyze)
app.command("predict")(predict)
app.command("sweep")(sweep)
app.command("design")(design)
app.command("reproduce")(reproduce)
app.command("get")(get)
app.add_typer(bpf.app, name="bpf")


@app.command("list")
def list_command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar=f"[{'|'.join(listing.TOPICS)}]", help="Only this; everything without it.", show_default=False
        ),
    ] = None,
) -> None:
    """What there is, one line each, and which engines can do it.

    Example: `mptcplab list congestion`
    """
    if what is not None and what not in listing.TOPICS:
        raise Failure(WRONG_INPUT, f"there is no list of {what!r}; there are {', '.join(listing.TOPICS)}")
    console().print(listing.show(what))


@app.command()
def doctor() -> None:
    """What this machine can run, and what to do about the rest.

    Example: `mptcplab doctor`
    """
    console().print(machine.show(machine.examine()))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave with its status; every error goes to standard error through here."""
    sys.exit(invoke(arguments))


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its status."""
    try:
        status = app(args=None if arguments is None else list(arguments), prog_name="mptcplab", standalone_mode=False)
    except Failure as failure:
        return _fail(failure.status, *failure.lines)
    except typer.TyperException as error:
        return _usage(error)
    except ScenarioError as error:
        return _fail(WRONG_INPUT, *map(str, error.problems))
    except UnsupportedError as error:
        return _fail(CANNOT, *map(str, error.problems))
    except (UnknownEngineError, store.OccupiedError) as error:
        return _fail(WRONG_INPUT, str(error))
    except EngineUnavailableError as error:
        return _fail(CANNOT, str(error))
    except (mptcplab.SimulationError, NotConvergedError) as error:
        return _fail(FAILED, str(error))
    except BrokenPipeError:
        # Whoever read standard output has seen enough; nothing more can be said there, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        return _fail(FAILED, f"{error.filename}: {error.strerror}" if error.filename else str(error))
    if status == _INTERRUPTED:
        return _fail(FAILED, "interrupted")
    return status if isinstance(status, int) else 0


def _usage(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    command = "mptcplab" if context is None else context.command_path
    return _fail(WRONG_INPUT, error.format_message(), remedy=f"{command} --help shows what it takes")


def _fail(status: int, *lines: str, remedy: str | None = None) -> int:
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    for line in lines:
        errors.print("[bold red]error:[/] ", end="")
        errors.print(line, markup=False)
    if remedy is not None:
        errors.print(remedy, markup=False)
    return status


def _seeds(result: mptcplab.Result) -> str:
    seeds = [run.seed for _, run in result.runs]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}"
