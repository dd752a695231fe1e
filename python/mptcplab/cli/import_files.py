"""`mptcplab import`: files of other tools as scenario files."""

from pathlib import Path

import click

from mptcplab.cli.common import FILE_PATH, print_line, say
from mptcplab.files import write_text


@click.group("import")
def app() -> None:
    """Convert files of other tools into scenario files.

    \b
    Example: mptcplab import minitopo topo xp --out scenario.toml
    """


@app.command()
@click.argument("topology", type=FILE_PATH)
@click.argument("experiment", type=FILE_PATH, required=False)
@click.option(
    "--duration",
    metavar="TIME",
    default="60 s",
    help="Duration of the scenario, for experiments that do not specify one.",
)
@click.option("--out", type=FILE_PATH, help="File to write; standard output by default.")
def minitopo(topology: Path, experiment: Path | None, duration: str, out: Path | None) -> None:
    """Convert a Minitopo topology file, with or without an experiment file, into a scenario file.

    \b
    Example: mptcplab import minitopo topo xp --out scenario.toml
    """
    from mptcplab.scenario import minitopo as files  # slow to load

    text = files.convert(topology, experiment, duration=duration)
    if out is None:
        print_line(text.rstrip("\n"))
        return
    write_text(out, text, new=True)
    say(f"wrote {out}")
