"""`mptcplab probe`: what the paths of this machine are like, measured against a server of one's own."""

import json
import secrets
import sys
from typing import Final

import click

from mptcplab.cli.common import CANNOT, WRONG_INPUT, Failure, print_line, say

_PORT: Final = 5310


@click.command()
@click.argument("server", metavar="[SERVER[:PORT]]", required=False)
@click.option("--server", "serving", is_flag=True, help="Run as the server: answer probes for --minutes.")
@click.option(
    "--path", "paths", metavar='"NAME: INTERFACE"', multiple=True, help="A path: an interface or its address."
)
@click.option(
    "--token", metavar="TOKEN", help="Token that the server printed; with --server, the one that clients must use."
)
@click.option("--host", metavar="ADDRESS", default="0.0.0.0", help="With --server: the address to listen on.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=_PORT, help="With --server: the port to listen on (TCP and UDP)."
)
@click.option("--minutes", type=click.FloatRange(0.05, 1440), default=60.0, help="With --server: how long it serves.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON document instead.")
def probe(
    server: str | None,
    serving: bool,
    paths: tuple[str, ...],
    token: str | None,
    host: str,
    port: int,
    minutes: float,
    as_json: bool,
) -> None:
    """Measure rate, round-trip time, queue and loss of this machine's paths to a server of yours.

    Run mptcplab probe --server on the server; it prints a token and sends nothing to clients without it.
    Each path is saturated for some seconds, with at most 64 MB in each direction. Do this only on paths and with
    servers that you are allowed to load.

    \b
    Example: mptcplab probe server.example --token 8s6f… --path "fibre: eth0" --path "lte: wwan0"
    """
    if serving:
        if server is not None or paths:
            raise Failure(
                WRONG_INPUT, "--server: found a server or a path to measure too; expected only one of the two"
            )
        _serve(host, port, secrets.token_urlsafe(12) if token is None else token, minutes)
        return
    from mptcplab.advice.errors import AdviceError
    from mptcplab.probe.client import ProbeError
    from mptcplab.probe.machine import measure, read_server, read_sources

    if server is None:
        raise Failure(WRONG_INPUT, "SERVER: found none; expected the host that runs mptcplab probe --server")
    try:
        found = measure(read_server(server, token), read_sources(paths, 1), say)
    except AdviceError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    except ProbeError as error:
        raise Failure(CANNOT, str(error)) from None
    if as_json:
        sys.stdout.write(json.dumps(found.to_dict(), indent=2) + "\n")
        return
    for path in found.paths:
        print_line(f'--path "{path.words()}"')
    for note in found.notes():
        print_line(f"  - {note}")


def _serve(host: str, port: int, token: str, minutes: float) -> None:
    from mptcplab.probe.server import serve

    def ready(at: int) -> None:
        print_line(f"Serving probes on port {at} (TCP and UDP) for {minutes:g} minutes; Ctrl-C stops it.")
        print_line(f"Anyone who has the token can make this machine send 64 MB: --token {token}")
        sys.stdout.flush()

    try:
        serve(host, port, token, 60 * minutes, ready)
    except OSError as error:
        raise Failure(CANNOT, f"{host}:{port}: {error.strerror}") from None
