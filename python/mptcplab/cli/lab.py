"""`mptcplab lab`: the laboratory as a page in the browser."""

import re
from pathlib import Path
from typing import Final

import click

from mptcplab.cli.common import CANNOT, FILE_PATH, WRONG_INPUT, Failure, print_line, say

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,128}")


@click.command()
@click.argument("file", type=FILE_PATH, required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 takes a free one.")
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    help="Address to listen on; with any other than 127.0.0.1, other machines may reach the page.",
)
@click.option(
    "--token",
    metavar="TEXT",
    envvar="MPTCPLAB_LAB_TOKEN",
    help="Token of the address, so that its links stay valid when the server is started again with the same --port.",
)
@click.option("--tour", is_flag=True, help="Begin with the guided tour.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def lab(file: Path | None, port: int, host: str, token: str | None, tour: bool, no_browser: bool) -> None:
    """Open the laboratory in the browser.

    Prints one line with the address, and serves until Ctrl-C.

    \b
    Example: mptcplab lab scenarios/wifi-lte.toml
    Example: mptcplab lab --tour
    Example: mptcplab lab --host 0.0.0.0 --port 8000 --token a-course-of-this-term
    """
    if token is not None and not _TOKEN.fullmatch(token):
        raise Failure(
            WRONG_INPUT,
            f"--token: found {len(token)} characters; expected 16 to 128 letters, digits, - or _: whoever has it can "
            "run simulations on this machine",
        )
    from mptcplab.lab import server  # slow to load
    from mptcplab.lab.gate import is_loopback
    from mptcplab.scenario import Scenario

    if file is not None:
        scenario = Scenario.load(file)  # an error is told here, not on a page
        file = Path(scenario.source)
    if not is_loopback(host):
        say(
            f"warning: anyone who can reach {host} and has the address with its token can run simulations on "
            "this machine, and the connection is not encrypted"
        )
    try:
        server.serve(file, host, port, browser=not no_browser, say=print_line, token=token, tour=tour)
    except KeyboardInterrupt:
        return
    except OSError as error:
        status = CANNOT if file is None else WRONG_INPUT
        raise Failure(status, f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
