"""`mptcplab compare`: settings against each other, or one scenario through several engines, side by side."""

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
    FILE_PATH,
    KERNELS,
    METRIC,
    OVERRIDES,
    SEED,
    WRONG_INPUT,
    Failure,
    console,
    load_scenario,
    named_kernels,
    print_line,
    say,
)
from mptcplab.cli.progress import Progress
from mptcplab.engines.catalogue import ALL, find, with_kernels

if TYPE_CHECKING:
    from mptcplab.results.result import Result


@click.command()
@FILE
@click.option(
    "--engines",
    metavar="A,B…",
    help=f"Engines, from {', '.join(ALL)}; others are compared to the first. Default: sim,model; with --vary sim.",
)
@KERNELS
@SEED
@click.option(
    "--vary",
    metavar="KEY=A,B…",
    multiple=True,
    help="Compare settings: a key of the scenario and its values. Several are combined, and with --engines.",
)
@click.option(
    "--repeat",
    type=AT_LEAST_1,
    help="Number of runs per engine or setting, with the seeds N, N + 1, …; by default 1, with --vary 20.",
)
@METRIC
@click.option("--baseline", metavar="KEY=VALUE", multiple=True, help="Setting to compare to; by default the first.")
@click.option("--until", metavar="P", help='Add seeds until all intervals are within ± P of their mean, such as "2 %".')
@click.option("--most", type=AT_LEAST_1, default=200, help="With --until: the most seeds.")
@click.option(
    "--jobs", type=AT_LEAST_1, help="Number of parallel runs; does not affect the result. With --vary one per core."
)
@click.option("--out", type=FILE_PATH, metavar="DIR", help="With --vary: write the runs, the comparison, report.html.")
@click.option("--resume", is_flag=True, help="With --vary: continue in DIR; finished runs are kept.")
@OVERRIDES
@click.option(
    "--explain",
    is_flag=True,
    help="Find the first packet at which two runs differ, and why; --vary KEY=VALUE is then of the second run.",
)
@click.option(
    "--against",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --explain: the scenario of the second run.",
)
@click.option(
    "--bisect",
    "tree",
    nargs=3,
    metavar="TREE GOOD BAD",
    help="Search a git tree of Linux for the first commit after GOOD that breaks --bound.",
)
@click.option(
    "--bound",
    metavar="BOUND",
    help='Property that good kernels satisfy: "m.goodput >= 12 Mbit/s", "m.completion < 2 s", or "1 %", the most by '
    "which any goodput or completion time may differ from GOOD.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document instead.")
def compare(
    file: Path,
    engines: str | None,
    kernels: str,
    seed: int | None,
    vary: tuple[str, ...],
    repeat: int | None,
    metric: str | None,
    baseline: tuple[str, ...],
    until: str | None,
    most: int,
    jobs: int | None,
    out: Path | None,
    resume: bool,
    overrides: tuple[str, ...],
    explain: bool,
    against: Path | None,
    tree: tuple[str, str, str] | None,
    bound: str | None,
    as_json: bool,
) -> None:
    """Compare settings of a scenario on the same seeds, or one scenario on several engines, side by side.

    \b
    Example: mptcplab compare wifi-lte --vary connection.download.scheduler=min-rtt,blest --repeat 20
    Example: mptcplab compare wifi-lte --vary connection.download.congestion=lia,olia --until "2 %" --out out/controls
    Example: mptcplab compare scenarios/red-queue.toml --engines sim,model --repeat 3
    Example: mptcplab compare scenarios/wifi-lte.toml --engines linux-virtual --kernel 6.12,my-tree --repeat 5
    Example: mptcplab compare wifi-lte --engines sim --explain --vary connection.download.scheduler=round-robin
    Example: mptcplab compare scenarios/wifi-lte.toml --bisect ~/src/linux v6.11 v6.12 --bound "1 %"
    """
    if explain and (tree is not None or bound is not None):
        raise Failure(WRONG_INPUT, "--explain cannot be combined with --bisect")
    if explain:
        default = "sim" if against is not None or vary else "sim,model"
        _explain(file, engines or default, kernels, seed, overrides, against, vary, as_json=as_json)
        return
    if against is not None:
        raise Failure(WRONG_INPUT, "--against is for --explain, which compares the packets of two runs")
    if tree is not None or bound is not None:
        if vary:
            raise Failure(WRONG_INPUT, "--vary cannot be combined with --bisect")
        _bisect(file, tree, bound, kernels, seed, repeat or 1, jobs or 1, overrides, as_json)
        return
    if vary:
        from mptcplab.cli.compare_settings import compare_settings

        try:
            named = with_kernels([name.strip() for name in (engines or "sim").split(",")], named_kernels(kernels))
        except ValueError as error:
            raise Failure(WRONG_INPUT, f"--kernel: {error}") from None
        for name in named:
            find(name)
        base = load_scenario(file, overrides)
        compare_settings(
            base if seed is None else base.with_(seed=seed),
            vary,
            named,
            repeat=repeat,
            metric=metric,
            baseline=baseline,
            until=until,
            most=most,
            jobs=jobs,
            out=out,
            resume=resume,
            as_json=as_json,
        )
        return
    only = {"--metric": metric, "--baseline": baseline, "--until": until, "--out": out, "--resume": resume}
    misplaced = [option for option, value in only.items() if value]
    if misplaced:
        raise Failure(WRONG_INPUT, f"{misplaced[0]} is for a comparison of settings: name some with --vary KEY=A,B")
    _side_by_side(file, engines or "sim,model", kernels, seed, repeat or 1, jobs or 1, overrides, as_json=as_json)


def _side_by_side(
    file: Path,
    engines: str,
    kernels: str,
    seed: int | None,
    repeat: int,
    jobs: int,
    overrides: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """One scenario through several engines."""
    from mptcplab.comparison.side_by_side import EngineComparison, engine_names  # with what follows it, slow to load
    from mptcplab.engines.linux_virtual.kernel_comparison import KernelComparison
    from mptcplab.engines.runner import Interrupted, run
    from mptcplab.render import text_tables

    try:
        names = engine_names(engines, named_kernels(kernels))
    except ValueError as error:
        raise Failure(WRONG_INPUT, f"{'--kernel' if kernels else '--engines'}: {error}") from None
    scenario = load_scenario(file, overrides)
    # Before any of them runs: the simulator may take minutes.
    refused = [f"{name}: {problem}" for name in names for problem in find(name).unsupported(scenario)]
    if refused:
        raise Failure(CANNOT, *refused)
    for name in names:
        find(name).require()
    results: dict[str, Result] = {}
    for name in names:
        with Progress(f"{scenario.name} on {name}", sys.stderr) as progress:
            try:
                results[name] = run(scenario, name, seed=seed, repeat=repeat, jobs=jobs, progress=progress.update)
            except Interrupted as stop:
                raise Failure(FAILED, f"{name}: {stop}; nothing to compare") from None
    comparison = EngineComparison(results)
    compared = KernelComparison.of(scenario if seed is None else scenario.with_(seed=seed), results)
    if as_json:
        document = {**comparison.to_dict(), **compared.to_dict()}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return
    terminal = console()
    runs = f"{repeat} runs" if repeat > 1 else "1 run"
    terminal.print(f"{scenario.title}: {' against '.join(names)}, {runs} on each; differences to {names[0]}\n")
    terminal.print(text_tables.drawn((*comparison.tables(), *compared.tables()), terminal))
    for line in compared.lines():
        terminal.print(line, markup=False)
    for name, result in results.items():
        for note in result.notes:
            say(f"note: {name}: {note}")


def _explain(
    file: Path,
    engines: str,
    kernels: str,
    seed: int | None,
    overrides: tuple[str, ...],
    against: Path | None,
    vary: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Two runs: of two engines or kernels, or of two scenarios on one engine."""
    from mptcplab.comparison.explanation import Side, explained
    from mptcplab.scenario import Scenario

    names = list(with_kernels([name.strip() for name in engines.split(",")], named_kernels(kernels)))
    two = against is not None or bool(vary)
    if len(names) != (1 if two else 2):
        wanted = "one engine with --against or --vary" if two else "two engines, or one with --against or --vary"
        raise Failure(WRONG_INPUT, f"--engines: found {', '.join(names)}; --explain compares two runs: {wanted}")
    first = Scenario.load(file, overrides=overrides)
    second = Scenario.load(against or file, overrides=(*overrides, *vary)) if two else first
    called = (f"{first.name}", " ".join([second.name, *vary])) if two else (names[0], names[-1])
    sides = (Side(called[0], first, names[0]), Side(called[1], second, names[-1]))
    for side in sides:
        refused = find(side.engine).unsupported(side.scenario)
        if refused:
            raise Failure(CANNOT, *(f"{side.engine}: {problem}" for problem in refused))
        find(side.engine).require()
    try:
        found = explained(*sides, seed=seed)
    except ValueError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    if as_json:
        sys.stdout.write(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return
    terminal = console()
    for line in found.lines():
        terminal.print(line, markup=False, highlight=False)


def _bisect(
    file: Path,
    tree: tuple[str, str, str] | None,
    bound: str | None,
    kernels: str,
    seed: int | None,
    repeat: int,
    jobs: int,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    from mptcplab.engines.linux_virtual.bound import Bound
    from mptcplab.engines.linux_virtual.search import search
    from mptcplab.kernels.bisect import BisectError
    from mptcplab.kernels.tree import TreeError
    from mptcplab.scenario import Scenario

    if tree is None or bound is None:
        raise Failure(WRONG_INPUT, "--bisect TREE GOOD BAD and --bound BOUND must be given together")
    if kernels or as_json:
        raise Failure(WRONG_INPUT, f"{'--kernel' if kernels else '--json'} cannot be combined with --bisect")
    try:
        told = Bound.parse(bound)
    except ValueError as error:
        raise Failure(WRONG_INPUT, f"--bound: {error}") from None
    scenario = Scenario.load(file, overrides=overrides)
    if seed is not None:
        scenario = scenario.with_(seed=seed)
    try:
        found = search(
            scenario, *tree, bound=told, repeat=repeat, jobs=jobs, tell=lambda tested: print_line(str(tested))
        )
    except (BisectError, TreeError, ValueError) as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    if found.commit is None:
        raise Failure(FAILED, "commits that cannot be built or run hide which one is the first bad commit")
    print_line(f"first bad commit: {found.commit} ({found.subject}), after {len(found.tested)} kernels")
