"""`mptcplab compare`: one scenario through several engines, side by side."""

import json
import sys
from typing import Annotated

import typer

from mptcplab.cli.common import CANNOT, FAILED, WRONG_INPUT, Failure, File, Overrides, console, say
from mptcplab.cli.progress import Progress
from mptcplab.comparison import Comparison, engine_names
from mptcplab.engines.catalogue import ALL, available, find
from mptcplab.engines.runner import Interrupted, run
from mptcplab.render import text_tables
from mptcplab.results.result import Result
from mptcplab.scenario import Scenario


def compare(
    file: File,
    engines: Annotated[
        str,
        typer.Option("--engines", metavar="A,B…", help=f"Of {', '.join(ALL)}; differences are to the first."),
    ] = "sim,model",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed in place of the scenario's.", show_default=False)
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs on each engine, with the seeds N, N + 1, …")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time; the result does not depend on it.")] = 1,
    overrides: Overrides = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON document instead.")] = False,
) -> None:
    """Run a scenario on several engines and show their answers side by side, with relative differences.

    Example: `mptcplab compare scenarios/red-queue.toml --engines sim,model --repeat 3`
    """
    try:
        names = engine_names(engines)
    except ValueError as error:
        raise Failure(WRONG_INPUT, f"--engines: {error}") from None
    for name in names:
        available(name)
    scenario = Scenario.load(file, overrides=overrides or [])
    # Before any of them runs: the simulator may take minutes.
    refused = [f"{name}: {problem}" for name in names for problem in find(name).unsupported(scenario)]
    if refused:
        raise Failure(CANNOT, *refused)
    results: dict[str, Result] = {}
    for name in names:
        with Progress(f"{scenario.name} on {name}", sys.stderr) as progress:
            try:
                results[name] = run(scenario, name, seed=seed, repeat=repeat, jobs=jobs, progress=progress.update)
            except Interrupted as stop:
                raise Failure(FAILED, f"{name}: {stop}; nothing to compare") from None
    comparison = Comparison(results)
    if as_json:
        sys.stdout.write(json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return
    terminal = console()
    runs = f"{repeat} runs" if repeat > 1 else "1 run"
    terminal.print(f"{scenario.title}: {' against '.join(names)}, {runs} on each; differences to {names[0]}\n")
    terminal.print(text_tables.drawn(comparison.tables(), terminal))
    for name, result in results.items():
        for note in result.notes:
            say(f"note: {name}: {note}")
