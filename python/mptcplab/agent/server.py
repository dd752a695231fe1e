"""The agent: listens, lets in who has the key, and serves one controller at a time."""

import contextlib
import logging
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from mptcplab.agent.session import Permissions, Session
from mptcplab.agent.undo import Undo
from mptcplab.testbed import frames, key

_HANDSHAKE_S: Final = 5.0
_KNOCKING: Final = 8
"""How many may be in the handshake at a time; others wait in the kernel."""
_log = logging.getLogger("mptcplab.agent")


class Agent:
    """One, from its first `with` to the end."""

    def __init__(self, key_file: Path, permissions: Permissions, undo: Undo, address: tuple[str, int]) -> None:
        """Listens on return. Raises KeyFileError, and OSError when the address cannot be listened on."""
        self._key = key_file
        self._context = key.context(key_file, server=True)
        self._permissions = permissions
        self._undo = undo
        self._listener = socket.create_server(address, backlog=16)
        self._busy = threading.Lock()
        self._knocking = threading.Semaphore(_KNOCKING)
        self._channels: set[ssl.SSLSocket] = set()
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def serve(self) -> None:
        """Until it is interrupted: by Ctrl-C, SIGTERM or SIGHUP, after which everything is put back."""
        with _interrupted_by(signal.SIGTERM, signal.SIGHUP):
            try:
                while True:
                    self._knocking.acquire()
                    caller, address = self._listener.accept()
                    thread = threading.Thread(target=self._one, args=(caller, address[0]), name="session")
                    self._threads = [each for each in self._threads if each.is_alive()] + [thread]
                    thread.start()
            except KeyboardInterrupt:
                pass
            finally:
                self._listener.close()
                self._leave()

    def _leave(self) -> None:
        for channel in list(self._channels):
            _hang_up(channel)
        for thread in self._threads:
            thread.join()

    def _one(self, caller: socket.socket, address: str) -> None:
        channel = None
        try:
            try:
                channel = self._let_in(caller)
            finally:
                self._knocking.release()
            if channel is not None:
                self._session(channel, address)
            else:
                _log.warning("%s has a different key", address)
        except OSError as error:  # of TLS too
            _log.warning("%s was not admitted: %s", address, error.strerror or error)
        finally:
            (channel or caller).close()

    def _let_in(self, caller: socket.socket) -> ssl.SSLSocket | None:
        caller.settimeout(_HANDSHAKE_S)
        channel = self._context.wrap_socket(caller, server_side=True, do_handshake_on_connect=False)
        try:
            with _deadline(channel):
                channel.do_handshake()
            if key.is_ours(channel, self._key):
                return channel
        except BaseException:
            channel.close()
            raise
        channel.close()
        return None

    def _session(self, channel: ssl.SSLSocket, address: str) -> None:
        if not self._busy.acquire(blocking=False):
            _send_away(channel)
            _log.warning("%s was rejected: another controller has a session", address)
            return
        self._channels.add(channel)
        try:
            _log.info("%s has a session", address)
            Session(self._permissions, self._undo, self.port).serve(channel)
            _log.info("the session of %s is over, and everything is restored", address)
        finally:
            self._channels.discard(channel)
            self._busy.release()


def _send_away(channel: ssl.SSLSocket) -> None:
    """Answer the caller's first request; a connection closed with that unread is reset, and the answer lost."""
    with _deadline(channel), contextlib.suppress(frames.ProtocolError):
        frames.read(channel.recv, frames.LARGEST_REQUEST)
    channel.sendall(frames.encode({"refused": "another controller uses this agent"}))


@contextlib.contextmanager
def _deadline(channel: ssl.SSLSocket) -> Iterator[None]:
    """A time for all bytes, which a time for each byte is not."""
    timer = threading.Timer(_HANDSHAKE_S, _hang_up, [channel])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(channel: ssl.SSLSocket) -> None:
    """End what another thread waits for; TLS itself is left to that thread."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(channel, socket.SHUT_RDWR)


@contextlib.contextmanager
def _interrupted_by(*signals: signal.Signals) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before: dict[signal.Signals, Callable[..., object] | int | None] = {}
    for each in signals:
        before[each] = signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
