"""`mptcplab compare`: one scenario through several engines, side by side."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mptcplab.cli.common import (
    AT_LEAST_1,
    CANNOT,
    FAILED,
    FILE,
    KERNELS,
    OVERRIDES,
    SEED,
    WRONG_INPUT,
    Failure,
    console,
    named_kernels,
    say,
)
from mptcplab.cli.progress import Progress
from mptcplab.engines.catalogue import ALL, available, find

if TYPE_CHECKING:
    from mptcplab.results.result import Result


@click.command()
@FILE
@click.option(
    "--engines",
    metavar="A,B…",
    default="sim,model",
    help=f"Engines, from {', '.join(ALL)}; differences are relative to the first.",
)
@KERNELS
@SEED
@click.option("--repeat", type=AT_LEAST_1, default=1, help="Number of runs per engine, with the seeds N, N + 1, …")
@click.option("--jobs", type=AT_LEAST_1, default=1, help="Number of parallel runs; does not affect the result.")
@OVERRIDES
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document instead.")
def compare(
    file: Path,
    engines: str,
    kernels: str,
    seed: int | None,
    repeat: int,
    jobs: int,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run a scenario on several engines and print their results side by side, with relative differences.

    \b
    Example: mptcplab compare scenarios/red-queue.toml --engines sim,model --repeat 3
    Example: mptcplab compare scenarios/wifi-lte.toml --engines linux-virtual --kernel 6.12,my-tree --repeat 5
    """
    from mptcplab.comparison import Comparison, engine_names  # with what follows it, slow to load
    from mptcplab.engines.linux_virtual.between import Between
    from mptcplab.engines.runner import Interrupted, run
    from mptcplab.render import text_tables
    from mptcplab.scenario import Scenario

    try:
        names = engine_names(engines, named_kernels(kernels))
    except ValueError as error:
        raise Failure(WRONG_INPUT, f"{'--kernel' if kernels else '--engines'}: {error}") from None
    for name in names:
        available(name)
    scenario = Scenario.load(file, overrides=overrides)
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
    between = Between.of(scenario if seed is None else scenario.with_seed(seed), results)
    if as_json:
        document = {**comparison.to_dict(), **between.to_dict()}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return
    terminal = console()
    runs = f"{repeat} runs" if repeat > 1 else "1 run"
    terminal.print(f"{scenario.title}: {' against '.join(names)}, {runs} on each; differences to {names[0]}\n")
    terminal.print(text_tables.drawn((*comparison.tables(), *between.tables()), terminal))
    for line in between.lines():
        terminal.print(line, markup=False)
    for name, result in results.items():
        for note in result.notes:
            say(f"note: {name}: {note}")
