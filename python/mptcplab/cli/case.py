"""`mptcplab case`: the book of cases."""

import json
import os
import sys
import textwrap
from typing import TYPE_CHECKING

import click

from mptcplab.cli.common import AT_LEAST_1, FAILED, KERNEL, WRONG_INPUT, Failure, complete, console, print_line, say
from mptcplab.cli.progress import Progress

if TYPE_CHECKING:
    from mptcplab.casebook import Verdict


def _names() -> list[str]:
    from mptcplab.casebook import case_names  # slow to load

    return case_names()


NAME = click.argument("name", metavar="NAME", shell_complete=complete(_names))


@click.group("case")
def app() -> None:
    """Questions that were asked in public, as scenarios whose answers can be checked.

    \b
    Example: mptcplab case run slow-tunnel
    """


@app.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_cases(as_json: bool) -> None:
    """List the cases by topic.

    \b
    Example: mptcplab case list
    """
    from mptcplab.casebook import case_names, load
    from mptcplab.casebook.book import TOPICS

    cases = [load(name) for name in case_names()]
    if as_json:
        rows = [{"name": each.name, "topic": each.file.topic, "title": each.file.title} for each in cases]
        print_line(json.dumps(rows, indent=2))
        return
    width = max((len(each.name) for each in cases), default=0)
    for topic in TOPICS:
        inside = [each for each in cases if each.file.topic == topic]
        if inside:
            print_line(f"{topic}")
            for each in inside:
                print_line(f"  {each.name:<{width}}  {each.file.title}")


@app.command()
@NAME
def show(name: str) -> None:
    """Show a case: the question, what was observed, the answer, and its scenario.

    \b
    Example: mptcplab case show slow-tunnel
    """
    from mptcplab.casebook import load
    from mptcplab.shipped import cases_directory

    file = load(name).file
    print_line(f"{file.title}\n")
    for head, text in (("Question", file.question), ("Observed there", file.observed), ("Answer", file.answer)):
        print_line(f"{head}. {' '.join(text.split())}" if not sys.stdout.isatty() else _wrapped(head, text))
        print_line("")
    print_line(f"Asked at {file.source.url} ({file.source.date})")
    print_line(f"Engines: {', '.join(file.engines)}")
    print_line(f"Scenario: {(cases_directory() or '') / name / 'scenario.toml'}")  # type: ignore[operator]


def _wrapped(head: str, text: str) -> str:
    return textwrap.fill(f"{head}. {' '.join(text.split())}", min(100, console().width))


@app.command()
@NAME
@click.option("--engine", metavar="ENGINE", default="sim", show_default=True, help="Engine to run the case on.")
@KERNEL
@click.option("--repeat", type=AT_LEAST_1, metavar="N", help="Seeds of each variant instead of the case's own number.")
@click.option("--jobs", type=AT_LEAST_1, help="Number of parallel runs; by default one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def run(name: str, engine: str, kernel: str | None, repeat: int | None, jobs: int | None, as_json: bool) -> None:
    """Run a case and check its answer; exit status 1 if a check does not hold.

    \b
    Example: mptcplab case run slow-tunnel --engine sim
    """
    from mptcplab.casebook import CaseError, load
    from mptcplab.casebook import run as run_case

    try:
        case = load(name)
    except CaseError as error:
        raise Failure(WRONG_INPUT, *str(error).splitlines()) from None
    chosen = f"{engine}:{kernel}" if kernel else engine
    if chosen.partition(":")[0] not in case.file.engines:
        say(f"note: {name} is meant for {', '.join(case.file.engines)}")
    with Progress(name, sys.stderr) as bar:
        verdicts = run_case(case, engine=chosen, seeds=repeat, jobs=jobs or os.cpu_count() or 1, progress=bar.update)
    if as_json:
        print_line(json.dumps([_row(each) for each in verdicts], indent=2))
    else:
        _show(case.file.title, verdicts)
    if not all(each.holds for each in verdicts):
        raise Failure(FAILED, f"{sum(not each.holds for each in verdicts)} of {len(verdicts)} checks do not hold")


def _row(verdict: "Verdict") -> dict[str, object]:
    return {
        "says": verdict.check.says,
        "what": verdict.check.what,
        "variant": verdict.check.variant,
        "found": verdict.found.mean,
        "range": [verdict.found.low, verdict.found.high],
        "relation": verdict.relation,
        "bound": verdict.bound,
        "holds": verdict.holds,
    }


def _range(verdict: "Verdict") -> str:
    from mptcplab.casebook import shown

    found = verdict.found
    mean, low, high = (shown(verdict.check.what, value) for value in (found.mean, found.low, found.high))
    return mean if low == high else f"{mean} ({low} to {high})"


def _show(title: str, verdicts: "list[Verdict]") -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from mptcplab.casebook import shown

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in ("check", "value", "found", "expected", ""):
        drawn.add_column(header, overflow="fold")
    for each in verdicts:
        drawn.add_row(
            Text(each.check.says),
            Text(f"{each.check.what}, {each.check.variant}"),
            Text(_range(each)),
            Text(f"{each.relation} {shown(each.check.what, each.bound)}"),
            Text("holds", style="green") if each.holds else Text("does not hold", style="red"),
        )
    terminal = console()
    terminal.print(Text(f"{title}\n"))
    terminal.print(drawn)
