"""One file by HTTP over our own stack: as much of RFC 9112 as a GET needs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

from mptcplab.errors import Error
from mptcplab.stack.sockets import Connection, Stack
from mptcplab.stack.state import ConnectionState

_HEAD_LIMIT_BYTES: Final = 1 << 16


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
    """Fetch `url` from `address` and write the content to `out`; `timeout_s` without news ends it.

    Raises HttpError, TimeoutError, ConnectionError.
    """
    began_s = time.monotonic()
    connection = stack.connect(address, url.port, timeout_s=timeout_s, **options)
    host = f"[{url.host}]" if ":" in url.host else url.host
    request = f"GET {url.path} HTTP/1.0\r\nHost: {host}:{url.port}\r\nUser-Agent: mptcplab\r\nConnection: close\r\n\r\n"
    connection.send(request.encode("ascii"), timeout_s)
    length, content = _head(connection, timeout_s)
    size_bytes = len(content)
    out.write(content)
    for piece in connection.pieces(timeout_s):
        out.write(piece)
        size_bytes += len(piece)
        if progress is not None:
            progress(size_bytes)
    took_s = time.monotonic() - began_s
    state = connection.state()
    connection.close()
    if length is not None and size_bytes != length:
        raise HttpError(f"the server announced {length} bytes and sent {size_bytes}")
    return Fetched(size_bytes, took_s, state)


def _head(connection: Connection, timeout_s: float) -> tuple[int | None, bytes]:
    """The content's length, where the server tells it, and what came of it with the head."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(timeout_s=timeout_s)
        head += piece
        if not piece or len(head) > _HEAD_LIMIT_BYTES:
            raise HttpError(f"no HTTP answer: {head[:60]!r}")
    text, _, content = head.partition(b"\r\n\r\n")
    status, *lines = text.decode("latin-1").split("\r\n")
    fields = status.split(" ", 2)
    if not fields[0].startswith("HTTP/1.") or len(fields) < 2:
        raise HttpError(f"no HTTP answer: {status!r}")
    if fields[1] != "200":
        raise HttpError(f"the server answers {' '.join(fields[1:])}")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = headers.get("content-length", "")
    return (int(length) if length.isdecimal() else None), content
