"""What the commands share: statuses, failures, arguments and where they print."""

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

FAILED: Final = 1
WRONG_INPUT: Final = 2
CANNOT: Final = 3

# What a table may take where nobody's terminal bounds it (a file, a pipe) and COLUMNS is not set.
_UNBOUNDED_WIDTH = 160

File = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (TOML).", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a key of the scenario; may be repeated.", show_default=False
    ),
]


class Failure(Exception):  # noqa: N818 - it ends the command, with the status it carries
    """The command ends here, with this status and these lines on standard error."""

    def __init__(self, status: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status = status
        self.lines = lines


def console() -> Console:
    """Where tables go: as wide as the terminal, or wide enough for a file."""
    bounded = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if bounded else _UNBOUNDED_WIDTH, highlight=False)


def print_line(text: str) -> None:
    """A line on standard output."""
    sys.stdout.write(text + "\n")


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(text + "\n")
