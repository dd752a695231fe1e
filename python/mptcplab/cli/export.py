"""`mptcplab export`: a scenario as a script that runs without mptcplab."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mptcplab import files
from mptcplab.cli.common import CANNOT, FILE, FILE_PATH, OVERRIDES, SEED, WRONG_INPUT, Failure, print_line, say

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario


@click.command()
@FILE
@click.option(
    "--to",
    "form",
    type=click.Choice(["netns", "minitopo"]),
    required=True,
    help="What to write: a shell script, or the two files of Minitopo.",
)
@OVERRIDES
@SEED
@click.option(
    "--out",
    type=FILE_PATH,
    metavar="PATH",
    help="New file to write, standard output by default; for minitopo a new directory.",
)
def export(file: Path, form: str, overrides: tuple[str, ...], seed: int | None, out: Path | None) -> None:
    """Write a scenario for other tools: as a shell script of network namespaces, or for Minitopo.

    The script runs without mptcplab. It makes namespaces, veth pairs and queues with ip and tc, sends the traffic
    with iperf3, prints what was measured, and removes everything again. It needs root.

    For Minitopo's second version two files are written, the topology "topo" and the experiment "xp", which run in
    Mininet. What they cannot say is refused.

    \b
    Example: mptcplab export scenarios/two-paths.toml --to netns --set connection.m.congestion=reno --out lab.sh
             sh lab.sh
    """
    from mptcplab.export import netns, refusals  # slow to load
    from mptcplab.scenario import Scenario, describe

    scenario = Scenario.load(file, overrides=overrides)
    if form == "minitopo":
        if seed is not None:
            raise Failure(WRONG_INPUT, "--seed: Minitopo draws nothing from a seed; expected none")
        _to_minitopo(scenario, out)
        return
    problems = refusals.unsupported(scenario)
    if problems:
        raise Failure(CANNOT, *map(str, problems))
    chosen = scenario.document.seed if seed is None else seed
    text = netns.script(describe.description(scenario.document, chosen, False), scenario.document.title or str(file))
    if out is None:
        print_line(text.rstrip("\n"))
        return
    files.write_text(out, text, new=True)
    say(f"wrote {out}; run it as root: sh {out}")


def _to_minitopo(scenario: "Scenario", out: Path | None) -> None:
    from mptcplab.export import minitopo

    if out is None or out.exists():
        found = "nothing" if out is None else f"{out}, which is there already"
        raise Failure(WRONG_INPUT, f"--out: found {found}; expected a new directory for the two files of Minitopo")
    contents, problems = minitopo.written(scenario)
    if problems:
        raise Failure(CANNOT, *map(str, problems))
    with files.named(out), files.beside(out.resolve()) as work:
        fresh = work / "fresh"
        fresh.mkdir()
        for name, text in zip(minitopo.FILES, contents, strict=True):
            (fresh / name).write_text(text, encoding="utf-8")
        fresh.rename(out)
    say(f"wrote {out}; run it where Minitopo is: python runner.py -t {out}/topo -x {out}/xp")
