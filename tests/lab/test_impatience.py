"""Who opens connections and does not ask, or asks without end: the server goes on answering the others."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from mptcplab.lab import impatience
from mptcplab.lab.app import build
from mptcplab.lab.impatience import Impatient
from mptcplab.lab.server import listen

from tests.lab.conftest import TOKEN

AT_MOST_S = 60.0
"""No wait is longer, however busy the machine is."""
PIECES: dict[str, list[bytes]] = {
    "nothing": [],
    "a head without end": [b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n"] + [b"x: y\r\n"] * 10_000,
    "a body without end": [
        b"POST /api/read HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"cookie: mptcplab-lab-%d=" + TOKEN.encode() + b"\r\ncontent-length: 100000\r\n\r\n"
    ]
    + [b" "] * 10_000,
    "the body of a request that is refused": [
        b"POST /api/read HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100000\r\n\r\n"
    ]
    + [b" "] * 10_000,
    "a second head without end": [
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n",
    ]
    + [b"x: y\r\n"] * 10_000,
}


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server that is even less patient."""
    monkeypatch.setattr(impatience, "REQUEST_S", 0.5)
    monkeypatch.setattr(impatience, "MOST_WAITING", 5)
    sock = listen("127.0.0.1", 0)
    sock.listen()
    port = sock.getsockname()[1]
    config = uvicorn.Config(build(TOKEN, port=port), http=Impatient, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([sock],))
    thread.start()
    yield port
    server.should_exit = True
    thread.join(AT_MOST_S)
    assert not thread.is_alive()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=AT_MOST_S)


def is_answered(port: int) -> bool:
    with connected(port) as asking:
        asking.sendall(b"GET /api/alive HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        return asking.recv(1000).startswith(b"HTTP/1.1 401")


def is_ended(slow: socket.socket, pieces: list[bytes]) -> bool:
    """Whether the server ends the connection while the pieces come, each before uvicorn's own patience ends."""
    slow.settimeout(0.02)
    ends = time.monotonic() + AT_MOST_S
    left = iter(pieces)
    while time.monotonic() < ends:
        try:
            slow.sendall(next(left, b""))
            if slow.recv(100_000) == b"":
                return True
        except TimeoutError:
            pass
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize("what", PIECES)
def test_a_request_that_does_not_come_is_not_waited_for(port: int, what: str) -> None:
    pieces = [piece.replace(b"%d", str(port).encode()) for piece in PIECES[what]]
    with connected(port) as slow:
        assert is_ended(slow, pieces)
    assert is_answered(port)


def test_many_that_wait_make_no_one_else_wait(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impatience, "REQUEST_S", 2 * AT_MOST_S)
    many = []
    for _ in range(20):
        many.append(connected(port))
        assert is_answered(port), "and has come after the server knows of the one before"
    for early in many[:14]:
        assert early.recv(1) == b"", "the one that has waited longest"
    for late in many[17:]:
        late.setblocking(False)
        with pytest.raises(BlockingIOError):
            late.recv(1)
    for each in many:
        each.close()
