"""`mptcplab check`: validates a scenario and runs nothing."""

from pathlib import Path

import click

from mptcplab.cli.common import FILE, JSON, OVERRIDES, load_scenario, print_json, print_line
from mptcplab.engines.catalogue import ENGINES, REMOTE


@click.command()
@FILE
@OVERRIDES
@JSON
def check(file: Path, overrides: tuple[str, ...], as_json: bool) -> None:
    """Validate a scenario without running it, and list the engines that can run it.

    \b
    Example: mptcplab check scenarios/wifi-lte.toml
    """
    scenario = load_scenario(file, overrides)
    remote = REMOTE.values() if scenario.document.testbed is not None else ()
    engines = [(engine.name, engine.unsupported(scenario)) for engine in (*ENGINES.values(), *remote)]
    if as_json:
        print_json(
            {
                "file": str(file),
                "title": scenario.title,
                "scenario_sha256": scenario.sha256(),
                "engines": [
                    {
                        "name": name,
                        "supported": not problems,
                        "problems": [
                            {"key": each.key, "found": each.found, "expected": each.expected, "line": each.line}
                            for each in problems
                        ],
                    }
                    for name, problems in engines
                ],
            }
        )
        return
    print_line(f"{file}: valid")
    for name, problems in engines:
        print_line(f"  {name:<13} {'can run it' if not problems else 'cannot run it:'}")
        for problem in problems:
            print_line(f"         {problem}")
