"""`mptcplab get`: a file from an HTTP server, with our own stack."""

import ipaddress
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from mptcplab import files, machine, registry
from mptcplab.cli.common import FAILED, FILE_PATH, WRONG_INPUT, Failure, say

_PATH_LIMIT = 8


@click.command()
@click.argument("url", metavar="URL")
@click.option("--out", "-o", type=FILE_PATH, metavar="FILE", help="File to write; standard output by default.")
@click.option(
    "--paths",
    type=click.IntRange(min=1, max=_PATH_LIMIT),
    default=2,
    help="Number of TUN devices to create; each is a path.",
)
@click.option(
    "--tun",
    metavar="NAME=ADDRESS",
    multiple=True,
    help="Use this existing TUN device instead, with this address for our stack; may be repeated.",
)
@click.option("--congestion", default="lia", help="Congestion control.")
@click.option("--checksum", is_flag=True, help="Request DSS checksums.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=30, help="Give up after this many seconds without data."
)
def get(
    url: str,
    out: Path | None,
    paths: int,
    tun: tuple[str, ...],
    congestion: str,
    checksum: bool,
    timeout: float,
) -> None:
    """Download a file over HTTP with our own Multipath TCP instead of the kernel's.

    The stack sends and receives through TUN devices that the command creates. The server can be on this machine, in one
    of its namespaces, or elsewhere if this machine forwards and translates the stack's addresses (10.213.0.0/16).

    \b
    Example: mptcplab get http://192.0.2.1:8080/file -o file
    """
    from mptcplab.stack import Stack
    from mptcplab.stack.http import HttpError, Url, UrlError, fetch

    try:
        where = Url.parse(url)
        address = _resolve(where.host)
        given = [_given(each) for each in tun or []]
    except UrlError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    if ipaddress.ip_address(address).is_loopback:
        raise Failure(
            WRONG_INPUT,
            f"the loopback address {address} cannot be reached through a TUN device; expected another address of this "
            "machine, such as 10.213.0.1 for a server that listens on all",
        )
    if out is not None:
        files.check_target(out)
    known = registry.names("congestion", "stack")
    if congestion not in known:
        raise Failure(WRONG_INPUT, f"--congestion: found {congestion!r}; expected one of {', '.join(known)}")
    machine.require("the engine 'stack'", (machine.network_administration(), machine.tun()))
    family = ipaddress.ip_address(address).version
    options: dict[str, Any] = {"congestion": congestion, "checksum": checksum, "path_manager": "fullmesh"}
    with ExitStack() as opened:
        devices = [opened.enter_context(each) for each in _devices(given, paths, family)]
        stack = opened.enter_context(Stack(devices))
        target = opened.enter_context(files.written(out)) if out is not None else sys.stdout.buffer
        try:
            fetched = fetch(stack, address, where, target, timeout_s=timeout, **options)
        except ValueError as error:
            raise Failure(WRONG_INPUT, str(error)) from None
        except TimeoutError:
            raise Failure(
                FAILED,
                f"no answer from {address}:{where.port} within {timeout:g} s; for a server elsewhere this machine must "
                "forward (sysctl net.ipv4.ip_forward=1) and translate the stack's addresses, 10.213.0.0/16",
            ) from None
        except (HttpError, ConnectionError) as error:
            raise Failure(FAILED, f"{url}: {error}") from None
    state = fetched.state
    rate = 8 * fetched.size_bytes / fetched.took_s / 1e6
    say(f"{fetched.size_bytes} bytes in {fetched.took_s:.3f} s, {rate:.1f} Mbit/s, {_spoken(state)}")
    for subflow in state.subflows if not state.fallback else ():
        say(f"  {subflow.local} – {subflow.remote}: {subflow.bytes_received} bytes, RTT {subflow.srtt_s * 1e3:.2f} ms")


def _spoken(state: Any) -> str:  # noqa: ANN401 - ConnectionState, which loads slowly
    if state.fallback:
        return "by TCP: the server, or a middlebox on the path, does not support Multipath TCP"
    return f"by Multipath TCP over {len(state.subflows)} subflow{'s' if len(state.subflows) != 1 else ''}"


def _resolve(host: str) -> str:
    from mptcplab.stack.http import UrlError

    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise UrlError(f"URL: {host!r}: {error.strerror}") from None


def _given(text: str) -> tuple[str, str]:
    from mptcplab.stack.http import UrlError

    name, _, address = text.partition("=")
    try:
        return name, str(ipaddress.ip_address(address))
    except ValueError:
        raise UrlError(f"--tun: found {text!r}; expected NAME=ADDRESS, such as tun0=10.0.0.2") from None


def _devices(given: list[tuple[str, str]], paths: int, family: int) -> list[Any]:
    from mptcplab.stack import Tun

    if given:
        return [Tun(name, host=[], stack=address) for name, address in given]
    if family == 4:
        pairs = [(f"10.213.{path}.1/30", f"10.213.{path}.2") for path in range(paths)]
    else:
        pairs = [(f"fd6d:7074:{path}::1/126", f"fd6d:7074:{path}::2") for path in range(paths)]
    return [Tun(f"mptcplab{path}", host=host, stack=stack) for path, (host, stack) in enumerate(pairs)]
