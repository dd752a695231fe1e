"""`mptcplab lab`: the laboratory as a page in the browser."""

from pathlib import Path

import click

from mptcplab.cli.common import CANNOT, FILE_PATH, WRONG_INPUT, Failure, print_line, say


@click.command()
@click.argument("file", type=FILE_PATH, required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 takes a free one.")
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    help="Address to listen on; with any other than 127.0.0.1, other machines may reach the page.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def lab(file: Path | None, port: int, host: str, no_browser: bool) -> None:
    """Open the laboratory in the browser.

    Prints one line with the address, and serves until Ctrl-C.

    \b
    Example: mptcplab lab scenarios/wifi-lte.toml
    """
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
        server.serve(file, host, port, browser=not no_browser, say=print_line)
    except KeyboardInterrupt:
        return
    except OSError as error:
        status = CANNOT if file is None else WRONG_INPUT
        raise Failure(status, f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
