"""Listens, says where, and opens the browser."""

import asyncio
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from mptcplab.lab.app import build
from mptcplab.lab.gate import is_loopback
from mptcplab.lab.opened import Opened


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one. Raises OSError."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


def serve(
    file: Path | None,
    host: str,
    port: int,
    *,
    browser: bool,
    say: Callable[[str], None],
    token: str | None = None,
    tour: bool = False,
) -> None:
    """Serve until Ctrl-C; `say` gets the address, token included, when the server listens.

    Without a `token` there is a new one. With `tour` the address opens the guided tour.

    Raises OSError for a port that is taken, or a file that cannot be read.
    """
    opened = None if file is None else Opened(file, writable=is_loopback(host))
    sock = listen(host, port)
    port = sock.getsockname()[1]
    token = token or secrets.token_urlsafe(24)
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    address = f"http://{shown}:{port}/?token={token}{'#tour' if tour else ''}"
    app = build(token, host=host, port=port, opened=opened)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, lifespan="on", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)

    async def run() -> None:
        serving = asyncio.create_task(server.serve([sock]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            say(address)
            if browser:
                await asyncio.to_thread(webbrowser.open, address)
        await serving

    asyncio.run(run())
