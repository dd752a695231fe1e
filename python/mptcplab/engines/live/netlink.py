"""What is asked of the kernel to furnish a host: interfaces, addresses, routes, rules, the path manager of MPTCP.

Messages of rtnetlink(7) and generic netlink, each answered before the next; layouts of linux/rtnetlink.h and
linux/mptcp_pm.h. A general library takes longer to load than a guest of the engine linux-virtual takes to boot.
"""

import os
import socket
import struct
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from types import TracebackType
from typing import Final, NamedTuple, Self

Address = IPv4Address | IPv6Address

_ROUTE: Final = 0
_GENERIC: Final = 16
"""Netlink's protocols."""
_HEADER: Final = struct.Struct("=IHHII")
_REQUEST: Final = 0x1 | 0x4
"""With an acknowledgment."""
_CREATE: Final = 0x400 | 0x200
"""Anew: an error if it exists."""
_ERROR: Final = 2
_NESTED: Final = 0x8000
_ECHO: Final = 0x8
_ROOT: Final = 0xFFFF_FFFF
"""The discipline of a device that all packets leave by."""
_UP: Final = 1
_MAIN: Final = 254
_STATIC: Final = 4
_UNICAST: Final = 1
_TO_TABLE: Final = 1
_PRIORITY: Final = 32_000
"""Of rules: before those of the main table."""
_CONTROLLER: Final = 0x10
_PATH_MANAGER: Final = b"mptcp_pm\0"


def attribute(kind: int, data: bytes) -> bytes:
    """One attribute, padded."""
    return struct.pack("=HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)


def _number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


def _family(version: int) -> int:
    return socket.AF_INET6 if version == 6 else socket.AF_INET


class _Socket:
    """A netlink socket of the calling thread's namespace."""

    def __init__(self, protocol: int) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def ask(self, kind: int, body: bytes, flags: int = 0) -> list[bytes]:
        """The bodies that the kernel answers until it acknowledges. Raises OSError when it refuses."""
        self._number += 1
        length = _HEADER.size + len(body)
        self._socket.send(_HEADER.pack(length, kind, _REQUEST | flags, self._number, 0) + body)
        answers = []
        while True:
            data = self._socket.recv(1 << 16)
            while data:
                length, answer, _, number, _ = _HEADER.unpack_from(data)
                message, data = data[_HEADER.size : length], data[(length + 3) & ~3 :]
                if number != self._number:
                    continue
                if answer != _ERROR:
                    answers.append(message)
                    continue
                (code,) = struct.unpack_from("=i", message)
                if code:
                    raise OSError(-code, os.strerror(-code))
                return answers


class Links(_Socket):
    """Interfaces and what leaves by them."""

    def __init__(self) -> None:
        super().__init__(_ROUTE)

    def raise_(self, index: int, *, mtu: int | None = None, queue_packets: int | None = None) -> None:
        """Raise an interface."""
        options = b"" if mtu is None else _number(4, mtu)
        options += b"" if queue_packets is None else _number(13, queue_packets)
        self.ask(16, struct.pack("=BxHiII", 0, 0, index, _UP, _UP) + options)

    def add_address(self, index: int, address: Address) -> None:
        """Give an interface an address, without a network around it."""
        body = struct.pack("=BBBBI", _family(address.version), address.max_prefixlen, 0, 0, index)
        own = attribute(2, address.packed) if address.version == 4 else b""
        self.ask(20, body + own + attribute(1, address.packed), _CREATE)

    def add_route(
        self,
        network: IPv4Network | IPv6Network,
        index: int,
        *,
        table: int = _MAIN,
        metric: int = 0,
        mss_bytes: int | None = None,
    ) -> None:
        """Let packets to a network leave by an interface; SYNs among them announce `mss_bytes` where that is given."""
        head = (_family(network.version), network.prefixlen, 0, 0, table if table < 256 else 0)
        body = struct.pack("=BBBBBBBBI", *head, _STATIC, 0, _UNICAST, 0)
        body += attribute(1, network.network_address.packed) + _number(4, index) + _number(15, table)
        body += _number(6, metric) if metric else b""
        self.ask(24, body + (b"" if mss_bytes is None else attribute(8, _number(8, mss_bytes))), _CREATE)

    def add_rule(self, source: Address, table: int) -> None:
        """Let packets from an address look into a table of their own first."""
        body = struct.pack("=BBBBBBBBI", _family(source.version), 0, source.max_prefixlen, 0, 0, 0, 0, _TO_TABLE, 0)
        self.ask(32, body + attribute(2, source.packed) + _number(6, _PRIORITY) + _number(15, table), _CREATE)


class Counts(NamedTuple):
    """What a queueing discipline has sent and dropped, and what it holds."""

    bytes: int
    packets: int
    drops: int
    queue_packets: int
    queue_bytes: int


class Disciplines(_Socket):
    """The queueing discipline of a device, from whichever thread; it stays in the namespace that it was made in."""

    def __init__(self, device: str) -> None:
        super().__init__(_ROUTE)
        self._index = socket.if_nametoindex(device)

    def read(self) -> Counts:
        """Its counters now, those of disciplines inside of it among them."""
        answers = self.ask(38, struct.pack("=BxHiIII", 0, 0, self._index, 0, _ROOT, 0), _ECHO)
        options = dict(_attributes(answers[0][20:]))
        found = dict(_attributes(options[7]))
        sent_bytes, packets = struct.unpack_from("=QI", found[1])
        held, backlog, drops = struct.unpack_from("=III", found[3])
        return Counts(sent_bytes, packets, drops, held, backlog)


class PathManager(_Socket):
    """The kernel's own path manager of Multipath TCP."""

    def __init__(self) -> None:
        super().__init__(_GENERIC)
        (answer,) = self.ask(_CONTROLLER, struct.pack("=BBH", 3, 1, 0) + attribute(2, _PATH_MANAGER))
        self._kind: int = next(struct.unpack("=H", data[:2])[0] for kind, data in _attributes(answer[4:]) if kind == 1)

    def limit(self, *, subflows: int, accepted_addresses: int) -> None:
        """Of each connection: subflows beyond the first, and addresses of the peer's that are taken."""
        self._command(5, _number(2, accepted_addresses) + _number(3, subflows))

    def add_endpoint(self, number: int, address: Address, flags: int, port: int | None = None) -> None:
        """An address of the host's for further subflows; one that is announced may have a port."""
        self._command(1, _endpoint(number, address, flags, port))

    def delete_endpoint(self, number: int, address: Address) -> None:
        """The address is gone: the peer is told (REMOVE_ADDR), and subflows from it are closed. Number 0 is the address
        that opened a connection."""
        self._command(2, _endpoint(number, address, None))

    def set_flags(self, number: int, address: Address, flags: int) -> None:
        """Make subflows from an endpoint backups, or active ones again (MP_PRIO)."""
        self._command(7, _endpoint(number, address, flags))

    def _command(self, command: int, body: bytes) -> None:
        self.ask(self._kind, struct.pack("=BBH", command, 1, 0) + body)


def _endpoint(number: int, address: Address, flags: int | None, port: int | None = None) -> bytes:
    inner = attribute(1, struct.pack("=H", _family(address.version))) + attribute(2, bytes([number]))
    inner += attribute(4 if address.version == 6 else 3, address.packed)
    inner += b"" if port is None else attribute(5, struct.pack("=H", port))
    return attribute(1 | _NESTED, inner + (b"" if flags is None else _number(6, flags)))


def _attributes(data: bytes) -> Iterable[tuple[int, bytes]]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & ~_NESTED, data[4:length]
        data = data[(length + 3) & ~3 :]
