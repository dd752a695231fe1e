"""`mptcplab analyze`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mptcplab.capture import CaptureError
from mptcplab.capture import analyze as analyze_captures
from mptcplab.capture.analysis import check
from mptcplab.cli.common import WRONG_INPUT, Failure, console, say
from mptcplab.cli.progress import Progress


def analyze(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="CAPTURE…", help="Captures (pcapng or pcap) that belong together.", show_default=False),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write Parquet files and report.html there.", show_default=False),
    ] = None,
    from_s: Annotated[
        float | None,
        typer.Option("--from", metavar="SECONDS", help="Leave out of rates and shares what was before.", min=0.0),
    ] = None,
    to_s: Annotated[
        float | None,
        typer.Option("--to", metavar="SECONDS", help="Leave out of rates and shares what came later.", min=0.0),
    ] = None,
) -> None:
    """What packet captures say about Multipath TCP: connections, subflows, reinjections, goodput, delays.

    Several captures (of each interface, of both hosts) are taken together. Times count from the first TCP packet.

    Example: `mptcplab analyze out/wifi-lte/captures/*.pcapng --out out/wifi-lte-packets`
    """
    if out is not None:
        check(out)
    with Progress("reading", sys.stderr) as progress:
        try:
            analysis = analyze_captures(files, from_s=from_s, to_s=to_s, progress=progress.update)
        except CaptureError as error:
            raise Failure(WRONG_INPUT, *map(str, error.args)) from None
        except FileNotFoundError as error:
            raise Failure(WRONG_INPUT, f"{error.filename}: there is no such file") from None
    if out is not None:
        analysis.save(out)
    if as_json:
        sys.stdout.write(analysis.to_json())
    else:
        from mptcplab.capture import tables

        terminal = console()
        terminal.print(tables.for_terminal(analysis, terminal))
    for note in analysis.notes:
        say(f"note: {note}")
    if out is not None:
        say(f"wrote {out / 'report.html'}")
