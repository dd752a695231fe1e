"""Fetching a file by HTTP, with a server's answers played to it."""

import io
from typing import Any, cast

import pytest
from mptcplab.stack import Stack
from mptcplab.stack.http import Fetched, HttpError, Url, fetch


class Server:
    """A stack whose one connection answers with `answer`, in pieces of `piece_bytes` whatever is asked for."""

    def __init__(self, answer: bytes, piece_bytes: int = 7) -> None:
        self.left = answer
        self.piece_bytes = piece_bytes
        self.request = b""
        self.closed = False

    def connect(self, *_: object, **__: object) -> "Server":
        return self

    def send(self, data: bytes, _timeout_s: float) -> None:
        self.request += data

    def recv(self, _most_bytes: int, _timeout_s: float) -> bytes:
        piece, self.left = self.left[: self.piece_bytes], self.left[self.piece_bytes :]
        return piece

    def state(self) -> Any:
        return None

    def close(self) -> None:
        self.closed = True


def get(answer: bytes, piece_bytes: int = 7) -> tuple[bytes, Fetched, Server]:
    server, out = Server(answer, piece_bytes), io.BytesIO()
    fetched = fetch(cast("Stack", server), "10.0.0.1", Url.parse("http://10.0.0.1:81/a?b"), out)
    return out.getvalue(), fetched, server


@pytest.mark.parametrize("piece_bytes", [1, 7, 1 << 21])
@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\n\r\nhello, world",
        b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello, world",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n",
    ],
    ids=["to the end", "of a length", "in chunks"],
)
def test_the_content_arrives(answer: bytes, piece_bytes: int) -> None:
    content, fetched, server = get(answer, piece_bytes)
    assert (content, fetched.size_bytes, server.closed) == (b"hello, world", 12, True)


def test_the_request() -> None:
    _, _, server = get(b"HTTP/1.0 200 OK\r\n\r\n")
    first, *fields = server.request.decode().split("\r\n")
    assert first == "GET /a?b HTTP/1.1"
    assert "Host: 10.0.0.1:81" in fields
    assert "Connection: close" in fields


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"", "the server closed the connection without a response"),
        (b"SSH-2.0-x\r\n", "not an HTTP response: BadStatusLine"),
        (b"HTTP/1.0 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n", "not an HTTP response: .*got more than 100 headers"),
        (b"HTTP/1.0 404 Gone fishing\r\n\r\n", "the server answered 404 Gone fishing$"),
        (b"HTTP/1.0 301\r\n\r\n", "the server answered 301$"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello", "the server announced 12 bytes and sent 5"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            "the connection ended before all of the content had arrived",
        ),
    ],
)
def test_an_answer_that_is_no_file(answer: bytes, says: str) -> None:
    with pytest.raises(HttpError, match=says):
        get(answer)
