"""`mptcplab agent`: this machine as a host of the engine testbed."""

import sys
from pathlib import Path

import click

from mptcplab.cli.common import CANNOT, FILE_PATH, Failure, print_line, say
from mptcplab.testbed import KEY_FILE, PORT

_STATE = "/var/lib/mptcplab/agent.json"


@click.command()
@click.option("--new-key", type=FILE_PATH, metavar="FILE", help="Write a new key to FILE and exit.")
@click.option(
    "--key", "key_file", type=FILE_PATH, metavar="FILE", default=KEY_FILE, help="The key that all hosts share."
)
@click.option("--host", metavar="ADDRESS", default="0.0.0.0", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, help="Port to listen on; 0 takes a free one.")
@click.option("--interface", "interfaces", metavar="NAME", multiple=True, help="Use only this interface (repeatable).")
@click.option(
    "--allow", "programs", metavar="PROGRAM", multiple=True, help="Let scenarios run this program (repeatable)."
)
@click.option("--state", type=FILE_PATH, metavar="FILE", default=_STATE, help="File that records what to restore.")
@click.option("--clean-up", is_flag=True, help="Restore what a killed agent left changed, and exit.")
def agent(
    new_key: Path | None,
    key_file: Path,
    host: str,
    port: int,
    interfaces: tuple[str, ...],
    programs: tuple[str, ...],
    state: Path,
    clean_up: bool,
) -> None:
    """Let the engine testbed use this machine as a host.

    Waits until Ctrl-C for a controller with the same key, and sets up what a run needs: routes, kernel parameters,
    shapers, connections, captures. Everything is restored after each run.

    \b
    Example: mptcplab agent --new-key testbed.key
             sudo mptcplab agent --key testbed.key
    """
    from mptcplab.testbed import key  # loads ssl

    if new_key is not None:
        print_line(f"{new_key.expanduser()}: SHA-256 {key.make(new_key.expanduser())}")
        return
    import logging

    from mptcplab import machine
    from mptcplab.agent.undo import Undo

    key_file = key_file.expanduser()
    fingerprint = "" if clean_up else key.fingerprint(key_file)
    machine.require("mptcplab agent", machine.agent())
    undo = Undo(state)
    for problem in undo.left_over():
        say(f"not restored: {problem}")
    if clean_up:
        return
    from mptcplab.agent.server import Agent  # loads the core
    from mptcplab.agent.session import Permissions

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        running = Agent(key_file, Permissions(interfaces, programs), undo, (host, port))
    except OSError as error:
        raise Failure(CANNOT, f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    print_line(f"listening on {host}, port {running.port}; key {fingerprint}")
    sys.stdout.flush()
    running.serve()
