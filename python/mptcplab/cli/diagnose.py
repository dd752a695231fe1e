"""`mptcplab diagnose`."""

import json
import os
import sys
from pathlib import Path

import click

from mptcplab.cli.common import FAILED, FILE_PATH, JSON, WRONG_INPUT, Failure, print_line


@click.command()
@click.argument("files", metavar="FILE…|-|DIR", nargs=-1)
@click.option("--collect", is_flag=True, help="Print a shell script that gathers what this command reads.")
@click.option("--hide", is_flag=True, help="Replace addresses and host names in the answer, each always by the same.")
@click.option("--scenario", type=FILE_PATH, metavar="OUT", help="Write a scenario that replays the busiest connection.")
@JSON
def diagnose(files: tuple[str, ...], collect: bool, hide: bool, scenario: Path | None, as_json: bool) -> int:
    """Say what limits Multipath TCP connections, from pasted output of ss, nstat, ip, tc and sysctl, logs and captures.

    Outputs may come in any order, together in one file or in several, with prompts and time stamps between them. Each
    statement is printed with the lines that show it and with what to run next. Nothing is changed on this machine.

    \b
    Example: mptcplab diagnose --collect > collect.sh
             sh collect.sh 10 client.txt        (as root, on the client, during a transfer; likewise on the server)
             mptcplab diagnose client.txt server.txt
    """
    from mptcplab.diagnose.collect import SCRIPT

    if collect:
        if files:
            raise Failure(WRONG_INPUT, "--collect prints a script and reads nothing: leave the files out")
        sys.stdout.write(SCRIPT)
        return 0
    if not files:
        raise Failure(
            WRONG_INPUT,
            "nothing to read: name files or folders, or - for standard input; "
            "--collect prints a script that gathers what is read",
        )
    from mptcplab.diagnose import printing, report
    from mptcplab.diagnose.diagnosis import diagnose as run
    from mptcplab.diagnose.hide import Hide
    from mptcplab.diagnose.reading import InputError

    try:
        found = run(files)
    except InputError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    document = report.document(found)
    status = 0
    replayed: list[str] = []
    if scenario is not None:
        from mptcplab.diagnose.replay import ReplayError, replay

        _check(scenario)
        try:
            replayed = replay(found, scenario)
        except ReplayError as error:
            replayed, status = [f"no scenario was written: {error}"], FAILED
    if hide:
        cover = Hide(host.name for host in found.reading.hosts)
        document = cover.document(document)
        replayed = [cover.text(line) for line in replayed]
    if as_json:
        document["scenario"] = replayed or None
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return status
    width = os.get_terminal_size().columns if sys.stdout.isatty() else 110
    for line in printing.lines(document, max(60, min(width, 140))):
        print_line(line)
    for line in replayed:
        print_line(line)
    return status


def _check(out: Path) -> None:
    """Nobody else's file is overwritten."""
    from mptcplab.diagnose.replay import HEADER

    if not out.parent.is_dir():
        raise Failure(WRONG_INPUT, f"--scenario {out}: found no directory {out.parent}; expected one that exists")
    if out.exists() and not (out.is_file() and out.read_bytes().startswith(HEADER.encode())):
        raise Failure(WRONG_INPUT, f"--scenario {out}: exists, and was not written by diagnose; expected another name")
