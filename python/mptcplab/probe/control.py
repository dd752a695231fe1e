"""Orders between the ends of a probe: lines of JSON over TCP, by Multipath TCP where both kernels have it."""

import errno
import json
import socket
import time
from typing import Any, Final

_IPPROTO_MPTCP: Final = 262
_SOL_MPTCP: Final = 284
_MPTCP_INFO: Final = 1
_LONGEST_LINE: Final = 8_000_000
_LEAST_WAIT_S: Final = 0.001


class ClosedError(Exception):
    """The other end has gone, or says what is no order."""


def new_socket() -> tuple[socket.socket, bool]:
    """A socket of Multipath TCP, and whether this kernel has it; else one of TCP."""
    try:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP), True
    except OSError:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM), False


def speaks_mptcp(connection: socket.socket) -> bool:
    """Whether an open connection is one of Multipath TCP and has not fallen back to TCP."""
    try:
        connection.getsockopt(_SOL_MPTCP, _MPTCP_INFO, 128)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENOPROTOOPT, errno.ENOTSUP):
            return False
        raise
    return True


class Lines:
    """A connection that carries orders."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._held = b""

    def say(self, order: dict[str, Any]) -> None:
        """Send one. Raises ClosedError."""
        try:
            self.connection.sendall(json.dumps(order, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            raise ClosedError(str(error)) from None

    def hear(self, longest: int = _LONGEST_LINE, within_s: float | None = None) -> dict[str, Any]:
        """The next, which with `within_s` is complete after so long. Raises ClosedError."""
        until = None if within_s is None else time.monotonic() + within_s
        while b"\n" not in self._held:
            try:
                if until is not None:
                    self.connection.settimeout(max(_LEAST_WAIT_S, until - time.monotonic()))
                part = self.connection.recv(65_536)
            except OSError as error:
                raise ClosedError(str(error)) from None
            if not part or len(self._held) + len(part) > longest:
                raise ClosedError("the connection was closed" if not part else "a line that is too long")
            self._held += part
        line, _, self._held = self._held.partition(b"\n")
        try:
            order = json.loads(line)
        except (ValueError, RecursionError):
            raise ClosedError("a line that is not JSON") from None
        if not isinstance(order, dict):
            raise ClosedError("a line that is not a JSON object")
        return order
