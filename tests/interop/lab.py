"""A namespace with the kernel at one end of two TUN devices and our stack at the other.

It runs in a process in a network namespace of its own (`unshare --net`): what it makes goes with the process.
"""

import hashlib
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mptcplab.stack import Connection, Stack, Tun
from mptcplab.stack.tun import ip

Role = Literal["client", "server"]
"""What our stack is: it opens the connection, or accepts it."""

MPTCP = 262
FIRST_PORT = 20_000
"""Connections have the ports from here on, one after another: none that the kernel may give to a subflow of its own
(`net.ipv4.ip_local_port_range` begins at 32,768)."""
_SOL_MPTCP, _MPTCP_INFO = 284, 1
_FLAG_FALLBACK = 1

FALLBACKS = (
    "MPCapableFallbackACK",
    "MPCapableFallbackSYNACK",
    "MPFallbackTokenInit",
    "DSSCorruptionFallback",
    "InfiniteMapTx",
    "InfiniteMapRx",
    "MPCapableDataFallback",
    "MD5SigFallback",
    "DssFallback",
    "SimultConnectFallback",
    "FallbackFailed",
    "Blackhole",
)
"""Counters of the kernel that say that TCP is spoken where MPTCP was asked for."""

FAULTS = (
    "MPJoinSynAckHMacFailure",
    "MPJoinAckHMacFailure",
    "MPJoinNoTokenFound",
    "DSSNotMatching",
    "DSSNoMatchTCP",
    "DSSCorruptionReset",
    "DataCsumErr",
    "MPFailTx",
    "MPFailRx",
    "RmAddrDrop",
)
"""Counters of the kernel that say that one of the two made a mistake."""


def counters() -> dict[str, int]:
    """The kernel's counters of Multipath TCP in this namespace."""
    lines = [line.split() for line in Path("/proc/net/netstat").read_text().splitlines() if line.startswith("MPTcpExt")]
    names, values = lines
    return dict(zip(names[1:], map(int, values[1:]), strict=True))


def _sysctl(name: str, value: int | str) -> None:
    Path("/proc/sys", *name.split(".")).write_text(str(value))


def until(what: str, condition: Callable[[], object], timeout_s: float = 5.0) -> None:
    """Wait until it holds."""
    end_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end_s:
            raise AssertionError(f"within {timeout_s} s it did not come about that {what}")
        time.sleep(0.002)


def content(size_bytes: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size_bytes)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Pair:
    """The two ends of one connection."""

    ours: Connection
    kernel: socket.socket
    stack: Stack

    def exchange(self, up_bytes: int, down_bytes: int, timeout_s: float = 30.0) -> None:
        """Both ends send so much, close, and compare by SHA-256 what they got; up is from our stack to the kernel."""
        up, down = content(up_bytes, 1), content(down_bytes, 2)
        got: dict[str, bytes] = {}

        def work(name: str, act: Callable[[], object]) -> threading.Thread:
            def run() -> None:
                try:
                    act()
                except OSError as error:
                    failures.append(f"{name}: {error}")

            thread = threading.Thread(target=run, name=name, daemon=True)
            thread.start()
            return thread

        def kernel_sends() -> None:
            self.kernel.sendall(down)
            self.kernel.shutdown(socket.SHUT_WR)

        def kernel_reads() -> None:
            got["up"] = b"".join(iter(lambda: self.kernel.recv(1 << 20), b""))

        def we_send() -> None:
            self.ours.send(up, timeout_s)
            self.ours.close()

        def we_read() -> None:
            got["down"] = self.ours.recv_all(timeout_s)

        failures: list[str] = []
        self.kernel.settimeout(timeout_s)
        threads = [work(act.__name__, act) for act in (kernel_sends, kernel_reads, we_send, we_read)]
        for thread in threads:
            thread.join(2 * timeout_s)
        assert not failures, f"{failures}; ours: {self.ours.state()}, {self.ours.events()}"
        assert not [thread.name for thread in threads if thread.is_alive()], "an exchange did not end"
        for way, sent in (("up", up), ("down", down)):
            assert sha256(got[way]) == sha256(sent), f"{way}: {len(got[way])} bytes of {len(sent)}, or other ones"

    def end_in_order(self) -> None:
        """Both have closed: the connection must end without a reset."""
        ended = self.ours.wait_ended(10)
        self.kernel.close()
        assert ended == "closed", ended

    def kernel_fell_back(self) -> bool:
        return bool(self._info()[1] & _FLAG_FALLBACK)

    def kernel_subflows(self) -> int:
        """Subflows, as the kernel counts them."""
        return self._info()[0]

    def _info(self) -> tuple[int, int]:
        info = self.kernel.getsockopt(_SOL_MPTCP, _MPTCP_INFO, 128)
        # linux/mptcp.h: mptcpi_subflows_total, mptcpi_flags.
        return struct.unpack_from("=B", info, 80)[0], struct.unpack_from("=I", info, 8)[0]

    def segments(self) -> list[int]:
        """Data segments that we sent by each subflow."""
        return [subflow.segments_sent for subflow in self.ours.state().subflows]

    def received(self) -> list[int]:
        """Data segments that came by each subflow."""
        return [subflow.segments_received for subflow in self.ours.state().subflows]


class Lab:
    """Two devices: the kernel's addresses `kernel[0]`, `kernel[1]`, ours `ours[0]`, `ours[1]`."""

    def __init__(self, family: Literal[4, 6], checksum: bool, offloads: bool = True) -> None:
        self.family = family
        self.checksum = checksum
        _sysctl("net.mptcp.enabled", 1)
        _sysctl("net.mptcp.checksum_enabled", int(checksum))
        _sysctl("net.ipv4.tcp_congestion_control", "reno")  # new namespaces take the host's
        _sysctl("net.ipv4.conf.all.rp_filter", 0)
        _sysctl("net.ipv4.conf.default.rp_filter", 0)
        # Blackhole detection would refuse MPTCP to all after the cases that strip options.
        _sysctl("net.mptcp.blackhole_timeout", 0)
        ip("link", "set", "lo", "up")
        net, bits = ("10.77.{}.{}", 24) if family == 4 else ("fd77:{}::{}", 64)
        self.kernel = [net.format(number, 1) for number in (1, 2)]
        self.ours = [net.format(number, 2) for number in (1, 2)]
        self.devices = [
            Tun(f"path{number}", host=f"{self.kernel[number]}/{bits}", stack=self.ours[number], offloads=offloads)
            for number in (0, 1)
        ]
        self._port = FIRST_PORT

    @contextmanager
    def pair(
        self,
        role: Role,
        *,
        stack: dict[str, Any] | None = None,
        before: dict[str, Any] | None = None,
        primed: bool = True,
        **options: Any,
    ) -> Iterator[Pair]:
        """A connection on a stack of its own.

        `stack` are the stack's arguments, `before` its impairment of both devices. `primed`: a byte has gone each way,
        so that each end knows that the other speaks MPTCP and may add subflows (RFC 8684 §3.1).
        """
        ip("mptcp", "limits", "set", "subflows", "4", "add_addr_accepted", "4")
        self._port += 1
        options = {"checksum": self.checksum, "path_manager": "default", **options}
        family = socket.AF_INET if self.family == 4 else socket.AF_INET6
        kernel: socket.socket | None = None
        try:
            with Stack(self.devices, seed=self._port, **(stack or {})) as ours:
                for device in (0, 1) if before else ():
                    ours.impair(device, **{"seed": device, **(before or {})})
                if role == "client":
                    with socket.socket(family, socket.SOCK_STREAM, MPTCP) as listener:
                        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                        listener.bind(("0.0.0.0" if self.family == 4 else "::", self._port))
                        listener.listen(8)
                        connection = ours.connect(self.kernel[0], self._port, timeout_s=10, **options)
                        listener.settimeout(10)
                        kernel, _ = listener.accept()
                        yield _primed(Pair(connection, kernel, ours), primed)
                else:
                    accepting = ours.listen(self._port, **options)
                    kernel = socket.socket(family, socket.SOCK_STREAM, MPTCP)
                    kernel.settimeout(10)
                    kernel.connect((self.ours[0], self._port))
                    connection = accepting.accept(10)
                    connection.wait_established(10)
                    yield _primed(Pair(connection, kernel, ours), primed)
        finally:
            if kernel is not None and kernel.fileno() >= 0:
                kernel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                kernel.close()
            ip("mptcp", "endpoint", "flush")

    def endpoint(self, address: str, *flags: str, identity: int = 10) -> None:
        # Without a device: one that is named would bind the subflow to it, while we answer where our address is.
        ip("mptcp", "endpoint", "add", address, "id", str(identity), *flags)


def _primed(pair: Pair, wanted: bool) -> Pair:
    if wanted:
        pair.ours.send(b"u")
        pair.kernel.settimeout(10)
        assert pair.kernel.recv(1) == b"u"
        pair.kernel.sendall(b"d")
        assert pair.ours.recv(timeout_s=10) == b"d"
    return pair
