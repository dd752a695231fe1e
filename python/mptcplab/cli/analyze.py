"""`mptcplab analyze`."""

import json
import sys
from pathlib import Path

import click

from mptcplab.cli.common import FILE_PATH, WRONG_INPUT, Failure, console, print_line, say
from mptcplab.cli.progress import Progress
from mptcplab.files import with_file
from mptcplab.results import inventory


@click.command()
@click.argument("files", metavar="CAPTURE…", nargs=-1, required=True, type=FILE_PATH)
@click.option("--connection", type=click.IntRange(min=0), metavar="N", help="Print the details of this connection.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    default=3,
    show_default=True,
    help="How many connections the lists of the worst have.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, which has all, instead of tables.")
@click.option("--out", type=FILE_PATH, metavar="DIR", help="Write Parquet files and report.html to DIR.")
@click.option(
    "--from",
    "from_s",
    type=click.FloatRange(min=0.0),
    metavar="SECONDS",
    help="Exclude earlier packets from rates and shares.",
)
@click.option(
    "--to",
    "to_s",
    type=click.FloatRange(min=0.0),
    metavar="SECONDS",
    help="Exclude later packets from rates and shares.",
)
def analyze(
    files: tuple[Path, ...],
    connection: int | None,
    top: int,
    as_json: bool,
    out: Path | None,
    from_s: float | None,
    to_s: float | None,
) -> None:
    """Analyse packet captures: connections, subflows, reinjections, goodput and delays.

    Several captures (of each interface, of both hosts) are analysed together; they may be packed (gzip, Zstandard, xz),
    and - is the standard input. Times count from the first TCP packet. A summary is printed, for a single connection
    with its details. In a folder, each capture is analysed separately, and each subfolder as one set of captures; --out
    then receives one dataset with the column `capture`.

    \b
    Example: mptcplab analyze out/wifi-lte/captures/*.pcapng --out out/wifi-lte-packets
    """
    from mptcplab.capture import analysis as captures  # polars loads slowly
    from mptcplab.capture import tables

    if len(files) == 1 and _is_folder(files[0]):
        _folder(files[0], as_json=as_json, out=out, from_s=from_s, to_s=to_s)
        return
    files = _without_inventory(files)
    if out is not None:
        captures.check(out)
    with Progress("reading", sys.stderr) as progress:
        try:
            analysis = captures.analyze(
                files, from_s=from_s, to_s=to_s, progress=progress.update, series=out is not None
            )
        except captures.CaptureError as error:
            raise Failure(WRONG_INPUT, *map(str, error.args)) from None
        except FileNotFoundError as error:
            raise Failure(WRONG_INPUT, f"{error.filename}: no such file") from None
        except OSError as error:
            raise Failure(WRONG_INPUT, with_file(error)) from None
    count = len(analysis.summary["connections"])
    if connection is not None and connection >= count:
        raise Failure(
            WRONG_INPUT, f"--connection: found {connection}; expected 0 to {count - 1}, since there are {count}"
        )
    if out is not None:
        analysis.save(out)
    if as_json:
        sys.stdout.write(analysis.to_json())
    else:
        terminal = console()
        terminal.print(tables.for_terminal(analysis, terminal, connection=connection, top=top))
        if connection is None and count > 1:
            say("--connection N prints the details of a connection, --json has all")
    for note in analysis.notes:
        say(f"note: {note}")
    if out is not None:
        say(f"wrote {out / 'report.html'}")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long
        return False


def _without_inventory(files: tuple[Path, ...]) -> tuple[Path, ...]:
    """Without the list of checksums that our own results have beside their captures: DIR/* names it too."""
    return tuple(file for file in files if file.name != inventory.FILE) or files


def _folder(folder: Path, *, as_json: bool, out: Path | None, from_s: float | None, to_s: float | None) -> None:
    from mptcplab.capture import bulk
    from mptcplab.capture.analysis import CaptureError

    if out is not None:
        bulk.check(out)
    with Progress("reading", sys.stderr) as progress:
        try:
            found = bulk.analyze_folder(folder, from_s=from_s, to_s=to_s, progress=progress.update)
        except CaptureError as error:
            raise Failure(WRONG_INPUT, *map(str, error.args)) from None
    if as_json:
        sys.stdout.write(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        for name, analysis in found.analyses.items():
            protocols = analysis.connections["protocol"].to_list()
            count = f"{len(protocols)} {'connection' if len(protocols) == 1 else 'connections'}"
            print_line(
                f"{name}: {count}, {protocols.count('mptcp')} of them MPTCP, {analysis.subflows.height} subflows, "
                f"{analysis.summary['duration_s']:g} s"
            )
    for name, reason in found.refused.items():
        say(f"note: {name} was skipped: {reason}")
    if out is not None:
        found.save(out)
        say(f"wrote {out}")
