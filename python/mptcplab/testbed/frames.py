"""Messages of the control channel: four bytes of length, most significant first, then a JSON object in UTF-8.

Whoever reads one does not trust it: it may be too long, no JSON, no object, or nested without end.
"""

import json
import struct
from collections.abc import Callable
from typing import Any, Final

_LENGTH: Final = struct.Struct(">I")
LARGEST_REQUEST: Final = 8 << 20
"""Bytes of what an agent takes."""
LARGEST_ANSWER: Final = 256 << 20
"""Bytes of what a controller takes."""


class ProtocolError(Exception):
    """The other end does not keep to the protocol."""


def encode(message: dict[str, Any]) -> bytes:
    """A message as it is sent."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    return _LENGTH.pack(len(body)) + body


def decode(body: bytes) -> dict[str, Any]:
    """What a message says, without its length. Raises ProtocolError."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ProtocolError("a message that is not JSON") from None
    if not isinstance(message, dict):
        raise ProtocolError("a message that is not an object")
    return message


def read(receive: Callable[[int], bytes], largest: int) -> dict[str, Any] | None:
    """The next message; None at the end of the stream. `receive` answers at most so many bytes, none at the end.

    Raises ProtocolError, and whatever `receive` raises.
    """
    head = _exactly(receive, _LENGTH.size)
    if not head:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > largest:
        raise ProtocolError(f"a message of {length} bytes, more than {largest}")
    body = _exactly(receive, length)
    if length and not body:
        raise ProtocolError("the connection ended in the middle of a message")
    return decode(body)


def _exactly(receive: Callable[[int], bytes], length: int) -> bytes:
    """So many bytes, or none when the stream ends before the first."""
    parts = []
    missing = length
    while missing:
        part = receive(min(missing, 1 << 16))
        if not part:
            if missing == length:
                return b""
            raise ProtocolError("the connection ended in the middle of a message")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _no_constant(name: str) -> float:
    raise ValueError(name)
