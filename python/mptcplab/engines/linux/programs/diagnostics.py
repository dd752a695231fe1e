"""What the kernel tells of all TCP sockets of a namespace (sock_diag(7)), and of each once more when it goes.

Subflows are TCP sockets too. A program's sockets are not ours to ask, so this is how they are seen. The layouts are
those of linux/inet_diag.h and linux/tcp.h; of a kernel that tells less, what it does not tell is absent.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_NETLINK_SOCK_DIAG: Final = 4
_SOL_NETLINK: Final = 270
_ADD_MEMBERSHIP: Final = 1
_RECEIVE_BYTES: Final = 8 << 20
_SO_RCVBUFFORCE: Final = 33
_DESTROYED: Final = (1, 3)
"""`SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`."""
_BY_FAMILY: Final = 20
"""`SOCK_DIAG_BY_FAMILY`."""
_REQUEST_DUMP: Final = 0x1 | 0x300
_ERROR: Final = 2
_DONE: Final = 3

_INFO: Final = 2
_CONGESTION: Final = 4
"""`INET_DIAG_INFO` and `INET_DIAG_CONG`; asked for by the bit below each."""
_ASKED: Final = 1 << (_INFO - 1) | 1 << (_CONGESTION - 1)
# All but TIME_WAIT, CLOSE, LISTEN and NEW_SYN_RECV, which have no `tcp_info` of a transfer.
_STATES: Final = 0xFFF & ~(1 << 0 | 1 << 6 | 1 << 7 | 1 << 10)

_HEADER: Final = struct.Struct("=IHHII")
_MESSAGE: Final = struct.Struct("=BBBB")
_PORTS: Final = struct.Struct(">HH")
_ATTRIBUTE: Final = struct.Struct("=HH")
_MESSAGE_BYTES: Final = 72
_MAPPED: Final = bytes(10) + b"\xff\xff"
"""Before an address of IPv4 in one of IPv6 (RFC 4291 section 2.5.5.2)."""


class End(NamedTuple):
    """An address, packed as on the wire, and a port."""

    address: bytes
    port: int


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """A TCP socket as the kernel tells of it."""

    cookie: bytes
    """Tells it from every other of the machine."""
    local: End
    remote: End
    gone: bool
    """Whether this is the last of it."""
    congestion: str | None
    cwnd_segments: int
    srtt_us: int
    in_flight_segments: int
    retransmissions: int
    data_segments_sent: int
    bytes_acked: int
    """By the peer; a SYN or FIN of its own is one of them."""
    bytes_received: int
    timeouts: int | None
    """None where the kernel does not count them, as 6.1."""


class LostError(Exception):
    """The kernel had more to tell than there was room for."""


class Sockets:
    """The TCP sockets of the namespace that the calling thread is in."""

    def __init__(self) -> None:
        """Raises OSError when the kernel has no sock_diag, or will not tell of sockets that go (CAP_NET_ADMIN)."""
        self._asking = _netlink()
        self._listening = _netlink()
        for group in _DESTROYED:
            self._listening.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, group)
        self._listening.setblocking(False)

    def close(self) -> None:
        """Ask no more."""
        self._asking.close()
        self._listening.close()

    def standing(self) -> list[TcpSocket]:
        """Every one that stands now and has addresses of IPv4, whatever family it was opened as."""
        return [*self._standing(socket.AF_INET), *self._standing(socket.AF_INET6)]

    def _standing(self, family: int) -> list[TcpSocket]:
        request = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, _ASKED, 0, _STATES)
        length = _HEADER.size + len(request)
        self._asking.send(_HEADER.pack(length, _BY_FAMILY, _REQUEST_DUMP, 1, 0) + request)
        found: list[TcpSocket] = []
        while True:
            for kind, body in _messages(self._asking.recv(1 << 16)):
                if kind == _DONE:
                    return found
                if kind == _ERROR:
                    number = -int.from_bytes(body[:4], "little", signed=True)
                    raise OSError(number, os.strerror(number), "sock_diag")
                found += [seen] if (seen := _read(body, gone=False)) else []

    def gone(self) -> Iterator[TcpSocket]:
        """Every one that went since the last call. Raises LostError when some were not told of."""
        while True:
            try:
                data = self._listening.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno == errno.ENOBUFS:
                    raise LostError from None
                raise
            for kind, body in _messages(data):
                if kind == _BY_FAMILY and (seen := _read(body, gone=True)):
                    yield seen


def _netlink() -> socket.socket:
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG)
    opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
    opened.bind((0, 0))
    opened.settimeout(5)
    return opened


def _messages(data: bytes) -> Iterator[tuple[int, memoryview]]:
    view = memoryview(data)
    while len(view) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(view)
        if not _HEADER.size <= length <= len(view):
            return
        yield kind, view[_HEADER.size : length]
        view = view[(length + 3) & ~3 :]


def _read(body: memoryview, *, gone: bool) -> TcpSocket | None:
    """None for what has no addresses of IPv4, or tells nothing."""
    if len(body) < _MESSAGE_BYTES:
        return None
    family = _MESSAGE.unpack_from(body)[0]
    mapped = family == socket.AF_INET6 and body[8:20] == body[24:36] == _MAPPED
    if family != socket.AF_INET and not mapped:
        return None
    local, remote = (bytes(body[20:24]), bytes(body[36:40])) if mapped else (bytes(body[8:12]), bytes(body[24:28]))
    attributes = dict(_attributes(body[_MESSAGE_BYTES:]))
    info = attributes.get(_INFO)
    if info is None or len(info) < 160:
        return None
    local_port, remote_port = _PORTS.unpack_from(body, 4)
    sent_and_not_acked, sacked, lost, retransmitted = struct.unpack_from("=4I", info, 24)
    congestion = attributes.get(_CONGESTION)
    return TcpSocket(
        cookie=bytes(body[44:52]),
        local=End(local, local_port),
        remote=End(remote, remote_port),
        gone=gone,
        congestion=None if congestion is None else bytes(congestion).rstrip(b"\0").decode("ascii", "replace"),
        cwnd_segments=_u32(info, 80),
        srtt_us=_u32(info, 68),
        in_flight_segments=max(0, sent_and_not_acked + retransmitted - sacked - lost),
        retransmissions=_u32(info, 100),
        data_segments_sent=_u32(info, 156),
        bytes_acked=_u64(info, 120),
        bytes_received=_u64(info, 128),
        timeouts=int.from_bytes(info[240:242], "little") if len(info) >= 242 else None,
    )


def _attributes(view: memoryview) -> Iterator[tuple[int, memoryview]]:
    while len(view) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(view)
        if not _ATTRIBUTE.size <= length <= len(view):
            return
        yield kind, view[_ATTRIBUTE.size : length]
        view = view[(length + 3) & ~3 :]


def _u32(info: memoryview, at: int) -> int:
    return int.from_bytes(info[at : at + 4], "little")


def _u64(info: memoryview, at: int) -> int:
    return int.from_bytes(info[at : at + 8], "little")
