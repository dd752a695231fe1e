"""`mptcplab verify`: whether a directory holds what a command wrote there."""

from pathlib import Path

import click

from mptcplab.cli.common import FAILED, FILE_PATH, Failure, print_line


@click.command()
@click.argument("directory", metavar="DIR", type=FILE_PATH)
def verify(directory: Path) -> None:
    """Check the files of a result against the digests that were written with them (files.sha256).

    For what run, sweep, analyze, advise and reproduce wrote. The exit status is 1 if a file was changed or is missing.
    Files that were added are named, and do no harm.

    \b
    Example: mptcplab verify out/wifi-lte
    """
    from mptcplab.results import inventory

    found = inventory.compared(directory)
    for name in found.added:
        print_line(f"{name}: added")
    wrong = [*(f"{name}: changed" for name in found.changed), *(f"{name}: missing" for name in found.missing)]
    if wrong:
        raise Failure(FAILED, *(f"{directory / line}" for line in wrong))
    print_line(f"{directory}: {found.listed} files, as they were written")
