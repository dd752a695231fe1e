"""Listens, says where, and opens the browser."""

import asyncio
import html
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from mptcplab import files
from mptcplab.lab.app import build
from mptcplab.lab.gate import is_loopback
from mptcplab.lab.impatience import Impatient
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
        app,
        http=Impatient,
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)

    async def run() -> None:
        serving = asyncio.create_task(server.serve([sock]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started and not server.should_exit:
            say(address)
            if browser:
                with _way_to(address) as way:
                    # Some browsers keep whoever starts them waiting; the server's end does not wait for them.
                    threading.Thread(target=webbrowser.open, args=(way,), daemon=True).start()
                    await serving
        await serving

    with _ended_by_sigterm(server):
        asyncio.run(run())


@contextmanager
def _ended_by_sigterm(server: uvicorn.Server) -> Iterator[None]:
    """uvicorn ends at a SIGTERM that comes while it serves, and repeats it then: neither that one nor an earlier one
    may end the process before it has cleaned up, and none may be lost."""

    def end(_: int, __: FrameType | None) -> None:
        server.should_exit = True

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _way_to(address: str) -> Iterator[str]:
    """A page that only this user can read and that leads to `address`: all users see what a browser is started with."""
    with files.scratch("mptcplab-lab-") as private:
        page = Path(private) / "open.html"
        page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">', encoding="utf-8")
        yield page.as_uri()
