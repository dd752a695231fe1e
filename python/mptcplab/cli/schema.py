"""`mptcplab schema`: the JSON Schema of scenario or sweep files, for editors."""

import json

import click

from mptcplab.cli.common import print_line


@click.command()
@click.argument("kind", type=click.Choice(["scenario", "sweep"]))
def schema(kind: str) -> None:
    """Print the JSON Schema of scenario or sweep files; editors complete and check keys with it.

    \b
    Example: mptcplab schema scenario > scenario.schema.json
    """
    from mptcplab.scenario import json_schema

    made = json_schema.scenario() if kind == "scenario" else json_schema.sweep()
    print_line(json.dumps(made, indent=2, ensure_ascii=False))
