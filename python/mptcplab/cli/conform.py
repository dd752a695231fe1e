"""`mptcplab conform`: the cases of conformance, played to our transport and to the kernel, side by side."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from mptcplab.cli.common import CANNOT, FAILED, FILE_PATH, WRONG_INPUT, Failure, console
from mptcplab.shipped import conformance_directory

_BOTH: Final = ("transport", "linux")
_STYLES: Final = {"met": "green", "failed": "bold red", "mended": "bold red", "departs": "yellow", "cannot": "dim"}
_THREADS: Final = {"transport": 2, "linux": 16}
"""With the kernel a case mostly waits."""


@click.command()
@click.argument("only", metavar="[FILTER]", default="")
@click.option("--against", type=click.Choice([*_BOTH, "both"]), default="transport", help="What to test.")
@click.option("--cases", "folder", type=FILE_PATH, help="Folder with other test cases.")
@click.option("--all", "everything", is_flag=True, help="Print a line for every case, not only for those that fail.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def conform(only: str, against: str, folder: Path | None, everything: bool, as_json: bool) -> None:
    """Run the conformance tests against our transport or against Linux.

    A case is a text file: segments in, segments out, and the requirement that it tests (docs/conformance.md). FILTER
    is part of a case's name or of its requirement. Our transport runs in virtual time; Linux runs in real time in a
    network namespace of its own, which needs root. The exit status is 1 if a case fails that is not a known departure.

    \b
    Example: mptcplab conform tcp/listen
    """
    place = folder or conformance_directory()
    if place is None or not place.is_dir():
        raise Failure(WRONG_INPUT, f"found no folder of cases at {place}, expected one: --cases FOLDER")
    judged = _BOTH if against == "both" else (against,)
    rows = play(place, only, judged)
    if not rows:
        raise Failure(WRONG_INPUT, f"no case below {place} has {only!r} in its name or its requirement")
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        _show(rows, judged, everything)
    verdicts = [row[who]["word"] for row in rows for who in judged]
    if any(word in ("failed", "mended") for word in verdicts):
        raise Failure(FAILED, "a case fails that is not a known departure, or a known departure now passes")
    if all(word == "cannot" for word in verdicts):
        raise Failure(CANNOT, f"no case could be run: {rows[0][judged[0]]['detail']}")


def play(folder: Path, only: str, against: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each case, with the verdicts of those it was played to."""
    from mptcplab import _core

    rows: list[dict[str, Any]] = []
    for who in against:
        try:
            played = json.loads(_core.play_cases(folder, only, [who], _THREADS[who]))
        except ValueError as error:
            raise Failure(WRONG_INPUT, *str(error).splitlines()) from error
        if rows:
            for row, other in zip(rows, played, strict=True):
                row[who] = other[who]
        else:
            rows = played
    return rows


def _show(rows: Sequence[dict[str, Any]], judged: Sequence[str], everything: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("case", "requirement", *judged, "", box=None, pad_edge=False)
    for row in rows:
        words = [row[who]["word"] for who in judged]
        if everything or set(words) != {"met"}:
            details = "; ".join(
                f"{row[who]['detail']}" + (f" (line {row[who]['line']})" if row[who]["word"] == "failed" else "")
                for who in judged
                if row[who]["detail"]
            )
            marks = [Text(word, style=_STYLES[word]) for word in words]
            table.add_row(row["case"], row["requirement"], *marks, Text(details, style="dim"))
    shown = console()
    if table.row_count:
        shown.print(table)
    for who in judged:
        counts = Counter(row[who]["word"] for row in rows)
        parts = [f"{counts[word]} {name}" for word, name in _NAMES.items() if counts[word]]
        shown.print(f"{who}: {len(rows)} cases: {', '.join(parts)}")


_NAMES: Final = {
    "met": "met",
    "departs": "known departures",
    "cannot": "cannot be played",
    "failed": "failed",
    "mended": "known departures that are met",
}
