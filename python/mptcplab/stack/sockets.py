"""A stack and its connections."""

import ipaddress
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

from mptcplab import _core
from mptcplab.stack.state import ConnectionState
from mptcplab.stack.tun import Tun

_LOOK_EVERY_S: Final = 0.1
"""Waiting is cut into pieces, so that Ctrl-C is heard."""

_PIECE_BYTES: Final = 1 << 16

T = TypeVar("T")


def _in_pieces(wait: Callable[[float], T], timeout_s: float | None) -> T:
    """Call `wait` with short timeouts until it succeeds or `timeout_s` has passed; None waits forever."""
    until_s = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        left_s = _LOOK_EVERY_S if until_s is None else until_s - time.monotonic()
        try:
            return wait(max(0.0, min(left_s, _LOOK_EVERY_S)))
        except TimeoutError:
            if until_s is not None and time.monotonic() >= until_s:
                raise


class Connection:
    """A connection: a stream of bytes each way.

    Waiting methods take `timeout_s` (None: for ever) and raise TimeoutError, or ConnectionError when the connection was
    reset, refused or given up.
    """

    def __init__(self, stack: "Stack", socket: _core.Socket) -> None:
        self._stack = stack
        self._socket = socket

    def wait_established(self, timeout_s: float | None = None) -> None:
        """Wait until data can be carried."""
        _in_pieces(self._socket.wait_established, timeout_s)

    def send(self, data: bytes, timeout_s: float | None = None) -> None:
        """Append to the stream; waits while too much is on its way."""
        for at in range(0, len(data), _PIECE_BYTES):
            piece = data[at : at + _PIECE_BYTES]
            _in_pieces(lambda wait_s, piece=piece: self._socket.write(piece, wait_s), timeout_s)  # type: ignore[misc]

    def recv(self, most_bytes: int = _PIECE_BYTES, timeout_s: float | None = None) -> bytes:
        """The next bytes, at most about `most_bytes`; empty at the end of the stream."""
        return _in_pieces(lambda wait_s: self._socket.read(most_bytes, wait_s), timeout_s)

    def pieces(self, timeout_s: float | None = None) -> Iterator[bytes]:
        """All that comes, piece by piece, to the end of the stream; `timeout_s` is for each."""
        while piece := self.recv(1 << 20, timeout_s):
            yield piece

    def recv_all(self, timeout_s: float | None = None) -> bytes:
        """All that comes, to the end of the stream."""
        return b"".join(self.pieces(timeout_s))

    def set_flow_size(self, size_bytes: int) -> None:
        """Say how many bytes will have been sent in all before `close`, from the first one on.

        Schedulers that look at what is left of a flow need it, as data is written bit by bit. It binds nobody and may
        be said again.
        """
        self._socket.set_flow_size(size_bytes)

    def close(self) -> None:
        """Write no more; what was written is still sent, and reading goes on."""
        self._socket.close()

    def wait_flushed(self, timeout_s: float | None = None) -> None:
        """Wait until the peer has acknowledged all that was written, and its end."""
        _in_pieces(self._socket.wait_flushed, timeout_s)

    def wait_ended(self, timeout_s: float | None = None) -> str:
        """Wait for the end of the connection: "closed", in order, or "aborted"."""
        return _in_pieces(self._socket.wait_ended, timeout_s)

    def abort(self) -> None:
        """Reset the connection, under MPTCP with MP_FASTCLOSE."""
        self._stack.core.abort(self._socket)

    def join(self, local_id: int, remote_id: int, *, backup: bool = False) -> None:
        """Open a subflow between two address ids."""
        self._stack.core.join(self._socket, local_id, remote_id, backup)

    def announce(self, local_id: int, port: int | None = None) -> None:
        """Tell the peer of an address (ADD_ADDR)."""
        self._stack.core.announce(self._socket, local_id, port)

    def withdraw(self, local_id: int) -> None:
        """Withdraw an address (REMOVE_ADDR) and reset its subflows."""
        self._stack.core.withdraw(self._socket, local_id)

    def set_backup(self, local_id: int, remote_id: int, backup: bool) -> None:
        """Make subflows backups, or active ones again (MP_PRIO)."""
        self._stack.core.set_backup(self._socket, local_id, remote_id, backup)

    def close_path(self, local_id: int, remote_id: int) -> None:
        """End the subflows between two address ids in order."""
        self._stack.core.close_path(self._socket, local_id, remote_id)

    def events(self) -> list[str]:
        """What has happened since the last call, for instance "Established"."""
        return self._socket.take_events()

    def state(self) -> ConnectionState:
        """The state of the connection. ConnectionError before the stack has seen it, or after the stack has ended."""
        text = self._stack.core.look(self._socket)
        if text is None:
            raise ConnectionError("the stack has no such connection")
        return ConnectionState.from_json(text)


class Listener:
    """Connections to a port of a stack."""

    def __init__(self, stack: "Stack", port: int) -> None:
        self._stack = stack
        self.port = port

    def accept(self, timeout_s: float | None = None) -> Connection:
        """The next connection."""
        socket = _in_pieces(lambda wait_s: self._stack.core.accept(self.port, wait_s), timeout_s)
        return Connection(self._stack, socket)


class Stack:
    """Our own TCP and Multipath TCP behind TUN devices, on a thread of its own.

    The addresses of the devices are numbered from 0 in their order: those are the address ids of Multipath TCP.
    `backup` holds the ids of those whose subflows are to be backups. Keys, nonces, sequence numbers and ports come from
    the operating system's random numbers; plug-ins draw from `seed`.
    """

    def __init__(self, devices: Sequence[Tun], *, backup: Sequence[int] = (), seed: int | None = None) -> None:
        places = [(number, address) for number, device in enumerate(devices) for address in device.addresses]
        settings = {
            "addresses": [
                {"id": identity, "address": address, "device": number, "backup": identity in backup}
                for identity, (number, address) in enumerate(places)
            ],
            "seed": secrets.randbits(63) if seed is None else seed,
        }
        self.addresses = [address for _, address in places]
        self._mtu_bytes = min(device.mtu_bytes for device in devices)
        self.core = _core.Stack(json.dumps(settings), [device.fileno() for device in devices])

    def connect(
        self, address: str, port: int, *, addresses: Sequence[int] = (), timeout_s: float | None = 30, **options: object
    ) -> Connection:
        """Open a connection, from all addresses of the stack or those with these ids, and wait until it is established.

        `options`: protocol ("mptcp", "tcp"), congestion, variant, scheduler, path_manager, checksum, receive_buffer,
        mss, ecn, pacing, refuse_joins_to_first_address, ttl, dscp.
        """
        version = ipaddress.ip_address(address).version
        socket = self.core.connect(address, port, self._options(options, version), list(addresses))
        connection = Connection(self, socket)
        connection.wait_established(timeout_s)
        return connection

    def listen(self, port: int, **options: object) -> Listener:
        """Accept connections to a port of every address; options as for `connect`."""
        version = 6 if any(":" in address for address in self.addresses) else 4
        self.core.listen(port, self._options(options, version))
        # The stack's thread answers in turn: once it has, no client that comes is refused any more.
        self.core.counters()
        return Listener(self, port)

    def _options(self, options: Mapping[str, object], version: int) -> str:
        headers_bytes = 60 if version == 6 or any(":" in address for address in self.addresses) else 40
        return json.dumps({"mss": self._mtu_bytes - headers_bytes, **options})

    def impair(self, device: int, **how: object) -> None:
        """Let the packets of a device fare worse, both ways; without arguments: as they are.

        loss, delay_ns, reorder (share), reorder_ns, strip_syn, strip_syn_ack, strip_after, alter_outward, alter_inward,
        seed.
        """
        self.core.impair(device, json.dumps(how))

    def counters(self) -> list[dict[str, int]]:
        """What the devices have counted."""
        counted: list[dict[str, int]] = json.loads(self.core.counters())
        return counted

    def close(self) -> None:
        """End the stack; peers of connections that stand hear nothing of it."""
        self.core.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
