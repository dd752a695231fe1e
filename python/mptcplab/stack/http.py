"""Fetch one file by HTTP over our own stack."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import urlsplit

from mptcplab.errors import Error
from mptcplab.stack.sockets import Connection, Stack
from mptcplab.stack.state import ConnectionState

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

_PIECE_BYTES: Final = 1 << 20


class UrlError(Error, ValueError):
    """The URL cannot be fetched; the message gives the expected form."""


class HttpError(Error, RuntimeError):
    """The server did not answer with a file."""


@dataclass(frozen=True)
class Url:
    """Where a file is."""

    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, text: str) -> "Url":
        """Take `http://host:port/path` apart. Raises UrlError."""
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise UrlError(f"URL {text!r}: {error}; expected http://address:port/file") from None
        if parts.scheme != "http" or not parts.hostname:
            raise UrlError(f"URL: found {text!r}; expected http://address:port/file")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if any(not "!" <= each <= "~" for each in path):
            raise UrlError(f"URL: found {path!r}; expected printable ASCII, the rest as %XX")
        return cls(parts.hostname, port or 80, path)


@dataclass(frozen=True)
class Fetched:
    """How a fetch went."""

    size_bytes: int
    took_s: float
    """From the SYN to the last byte."""
    state: ConnectionState


def fetch(
    stack: Stack,
    address: str,
    url: Url,
    out: BinaryIO,
    *,
    timeout_s: float = 30,
    progress: Callable[[int], None] | None = None,
    **options: Any,  # noqa: ANN401 - what Stack.connect takes
) -> Fetched:
    """Fetch `url` from `address` and write the content to `out`; give up after `timeout_s` without data.

    Raises HttpError, TimeoutError, ConnectionError.
    """
    began_s = time.monotonic()
    connection = stack.connect(address, url.port, timeout_s=timeout_s, **options)
    client = HTTPConnection(url.host, url.port)
    client.sock = _Socket(connection, timeout_s)
    try:
        client.request("GET", url.path, headers={"User-Agent": "mptcplab", "Connection": "close"})
        size_bytes = _copy(client.getresponse(), out, progress)
    except IncompleteRead:
        raise HttpError("the connection ended before all of the content had arrived") from None
    except RemoteDisconnected:
        raise HttpError("the server closed the connection without a response") from None
    except HTTPException as error:
        raise HttpError(f"not an HTTP response: {error!r}") from None
    took_s = time.monotonic() - began_s
    state = connection.state()
    connection.close()
    return Fetched(size_bytes, took_s, state)


def _copy(response: HTTPResponse, out: BinaryIO, progress: Callable[[int], None] | None) -> int:
    """Copy the content to `out` and return its size in bytes."""
    if response.status != HTTPStatus.OK:
        raise HttpError(f"the server answered {response.status} {response.reason}".rstrip())
    size_bytes = 0
    while piece := response.read1(_PIECE_BYTES):
        out.write(piece)
        size_bytes += len(piece)
        if progress is not None:
            progress(size_bytes)
    if response.length:
        raise HttpError(f"the server announced {size_bytes + response.length} bytes and sent {size_bytes}")
    return size_bytes


class _Socket:
    """A connection of ours with those methods of a socket that `http.client` calls."""

    def __init__(self, connection: Connection, timeout_s: float) -> None:
        self._connection = connection
        self._timeout_s = timeout_s

    def sendall(self, data: bytes) -> None:
        self._connection.send(data, self._timeout_s)

    def makefile(self, _mode: str) -> BufferedReader:
        return BufferedReader(_Reader(self._connection, self._timeout_s))

    def close(self) -> None:
        """`fetch` closes the connection itself, after it has read the state."""


class _Reader(RawIOBase):
    """What arrives on a connection."""

    def __init__(self, connection: Connection, timeout_s: float) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Buffer", /) -> int:
        with memoryview(buffer) as view:
            # `recv` may return somewhat more than it was asked for.
            data = self._left or self._connection.recv(len(view), self._timeout_s)
            taken = min(len(data), len(view))
            view[:taken] = data[:taken]
        self._left = data[taken:]
        return taken
