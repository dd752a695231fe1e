"""`mptcplab check`: validates a scenario and runs nothing."""

from pathlib import Path

import click

from mptcplab.cli.common import FILE, OVERRIDES, print_line
from mptcplab.engines.catalogue import ENGINES, REMOTE


@click.command()
@FILE
@OVERRIDES
def check(file: Path, overrides: tuple[str, ...]) -> None:
    """Validate a scenario without running it, and list the engines that can run it.

    \b
    Example: mptcplab check scenarios/wifi-lte.toml
    """
    from mptcplab.scenario import Scenario  # slow to load

    scenario = Scenario.load(file, overrides=overrides)
    print_line(f"{file}: valid")
    remote = REMOTE.values() if scenario.document.testbed is not None else ()
    for engine in (*ENGINES.values(), *remote):
        problems = engine.unsupported(scenario)
        print_line(f"  {engine.name:<13} {'can run it' if not problems else 'cannot run it:'}")
        for problem in problems:
            print_line(f"         {problem}")
