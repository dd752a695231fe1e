"""`mptcplab export`: a scenario as a script that runs without mptcplab."""

from pathlib import Path

import click

from mptcplab import files
from mptcplab.cli.common import CANNOT, FILE, FILE_PATH, OVERRIDES, SEED, Failure, print_line, say


@click.command()
@FILE
@click.option("--to", "form", type=click.Choice(["netns"]), required=True, help="What to write: a shell script.")
@OVERRIDES
@SEED
@click.option("--out", type=FILE_PATH, metavar="PATH", help="New file to write; standard output by default.")
def export(file: Path, form: str, overrides: tuple[str, ...], seed: int | None, out: Path | None) -> None:
    """Write a scenario as a shell script of network namespaces that runs without mptcplab.

    The script makes namespaces, veth pairs and queues with ip and tc, sends the traffic with iperf3, prints what
    was measured, and removes everything again. It needs root.

    \b
    Example: mptcplab export scenarios/two-paths.toml --to netns --set connection.m.congestion=reno --out lab.sh
             sh lab.sh
    """
    from mptcplab.export import netns, refusals  # slow to load
    from mptcplab.scenario import Scenario, describe

    assert form == "netns", "the only choice"
    scenario = Scenario.load(file, overrides=overrides)
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
