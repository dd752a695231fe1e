"""Measures a path of this machine against a server of `mptcplab probe --server`.

A path is an address of this machine, or an interface. Each direction: streams of doubling rate until the path is full,
one of twice the rate that it carried, and one of half of it. At most 64 MB and 20 s for each direction.
"""

import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address
from types import TracebackType
from typing import Any, Final, Self

from mptcplab.probe import control, estimate, stream
from mptcplab.probe.stream import Arrival

_PINGS: Final = 40
_PING_EVERY_S: Final = 0.05
_FIRST_BPS: Final = 500e3
_STEP_S: Final = 0.25
_FLOOD_S: Final = 2.0
_STEADY_S: Final = 2.0
_REST_S: Final = 1.0
"""Before a flood, for queues to drain and token buckets to fill."""
_TOGETHER_S: Final = 1.5
OFFERED: Final = 0.8
"""Of each path's own rate, when all are used at once."""
_CONNECT_S: Final = 5.0
_SETTLE_S: Final = 0.4


class ProbeError(Exception):
    """A path that cannot be measured."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where `mptcplab probe --server` runs, and the token that it printed."""

    host: str
    port: int
    token: str


@dataclass(frozen=True, slots=True)
class Direction:
    """What a path is like one way."""

    rate_bps: float
    rate_is_least: bool
    """Whether the sender was the limit, not the path."""
    queue_s: float | None
    loss: float
    burst_bytes: float
    """Of a token bucket in front of the link; 0 without."""


@dataclass(frozen=True, slots=True)
class PathFound:
    """What a path is like."""

    name: str
    rtt_s: float
    down: Direction
    up: Direction
    mptcp: bool | None
    """Whether Multipath TCP comes through; None where one of the kernels has none."""

    def words(self) -> str:
        """For `mptcplab advise --path`."""
        down, up = (f"{each.rate_bps / 1e6:.4g}" for each in (self.down, self.up))
        parts = [f"{down}/{up} Mbit/s", f"{max(0.1, self.rtt_s * 1e3):.3g} ms"]
        if self.down.loss >= 0.0005:
            parts.append(f"{self.down.loss:.2%}")
        if self.down.queue_s is not None:
            parts.append(f"queue {max(1.0, self.down.queue_s * 1e3):.0f} ms")
        return f"{self.name}: {', '.join(parts)}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "path": self.words(),
            "rtt_s": self.rtt_s,
            "mptcp": self.mptcp,
            **{
                way: {
                    "rate_bps": each.rate_bps,
                    "rate_is_least": each.rate_is_least,
                    "queue_s": each.queue_s,
                    "loss": each.loss,
                    "burst_bytes": each.burst_bytes,
                }
                for way, each in (("down", self.down), ("up", self.up))
            },
        }


class _Probe:
    """An open session over one path."""

    def __init__(self, name: str, source: str, server: Server) -> None:
        self.name = name
        self.connection, self._has_mptcp = control.new_socket()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            for each in (self.connection, self.udp):
                _bind(each, source)
            self.connection.settimeout(_CONNECT_S)
            self.connection.connect((server.host, server.port))
            self.connection.settimeout(stream.LONGEST_S)
            self.lines = control.Lines(self.connection)
            self.lines.say({"token": server.token})
            told = self._checked(self.lines.hear())
            self.session = bytes.fromhex(str(told["session"]))
            self._server_mptcp: bool | None = told["mptcp"]
            self.to = (socket.gethostbyname(server.host), server.port)
            self.udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
            self.udp.settimeout(1.0)
        except (OSError, control.ClosedError, KeyError, ValueError) as error:
            self.close()
            raise ProbeError(f"{name}: no probe over {source} to {server.host}:{server.port}: {error}") from None
        except ProbeError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it at both ends."""
        self.connection.close()
        self.udp.close()

    def order(self, **order: object) -> dict[str, Any]:
        """Have the server do something. Raises ProbeError."""
        try:
            self.lines.say(order)
            return self._checked(self.lines.hear())
        except control.ClosedError as error:
            raise ProbeError(f"{self.name}: lost the connection to the server: {error}") from None

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            raise ProbeError(f"{self.name}: the server reported: {answer['error']}")
        return answer

    def speaks_mptcp(self) -> bool | None:
        """Whether Multipath TCP comes through; asked after data have gone both ways."""
        if not self._has_mptcp or self._server_mptcp is None:
            return None
        return control.speaks_mptcp(self.connection) and self._server_mptcp

    def rtt_s(self) -> float:
        """The least of some round trips. Raises ProbeError when none came back."""
        times = []
        for number in range(_PINGS):
            began = time.monotonic()
            self.udp.sendto(stream.write(self.session, stream.ECHO, number, stream.PING_BYTES), self.to)
            ends = began + _PING_EVERY_S
            while (left := ends - time.monotonic()) > 0:
                if select.select([self.udp], [], [], left)[0]:
                    said = stream.read(self.udp.recv(2048))
                    if said is not None and said.kind == stream.ECHO:
                        times.append(time.monotonic_ns() - said.time_ns)
        if not times:
            raise ProbeError(f"{self.name}: no datagram came back: UDP is blocked, or the path is down")
        return min(times) / 1e9

    def down(self, rate_bps: float, seconds: float) -> tuple[list[Arrival], int]:
        """A stream from the server: what arrived, and how many were sent."""
        arrivals: list[Arrival] = []
        over = threading.Event()

        def receive() -> None:
            while not over.is_set():
                if select.select([self.udp], [], [], 0.05)[0]:
                    data = self.udp.recv(2048)
                    now = time.monotonic_ns()
                    said = stream.read(data)
                    if said is not None and said.kind == stream.DATA and said.session == self.session:
                        arrivals.append(Arrival(said.number, said.time_ns, now))

        reader = threading.Thread(target=receive)
        reader.start()
        try:
            sent = int(self.order(do="send", rate_bps=rate_bps, seconds=seconds)["sent"])
            _until_quiet(lambda: len(arrivals))
        finally:
            over.set()
            reader.join()
        return arrivals, sent

    def up(self, rate_bps: float, seconds: float) -> tuple[list[Arrival], int]:
        """A stream to the server."""
        self.order(do="forget")
        sent = stream.send(self.udp, self.to, self.session, rate_bps, seconds, lambda: False)
        rows: list[Any] = []

        def count() -> int:
            rows[:] = self.order(do="report")["arrivals"]
            return len(rows)

        _until_quiet(count)
        return [Arrival(*row) for row in rows], sent


def look(name: str, source: str, server: Server) -> PathFound:
    """Measure a path. Raises ProbeError."""
    with _Probe(name, source, server) as probe:
        rtt_s = probe.rtt_s()
        down, up = _way(probe, probe.down), _way(probe, probe.up)
        return PathFound(name, rtt_s, down, up, probe.speaks_mptcp())


def shared(sources: Sequence[tuple[PathFound, str]], server: Server) -> bool:
    """Whether paths that were measured have one bottleneck on the way from the server. Raises ProbeError."""
    probes: list[_Probe] = []
    try:
        for path, source in sources:
            probe = _Probe(path.name, source, server)
            probes.append(probe)
            probe.rtt_s()  # the server learns where to send
        alone = [path.down.rate_bps for path, _ in sources]
        with ThreadPoolExecutor(len(probes)) as pool:
            streams = [
                pool.submit(probe.down, OFFERED * rate, _TOGETHER_S) for probe, rate in zip(probes, alone, strict=True)
            ]
            together = [estimate.received_bps(each.result()[0]) for each in streams]
        return estimate.is_shared(alone, OFFERED, together)
    finally:
        for probe in probes:
            probe.close()


def _way(probe: _Probe, carry: Callable[[float, float], tuple[list[Arrival], int]]) -> Direction:
    rate_bps = _FIRST_BPS
    left_bytes = float(stream.MOST_BYTES)
    while True:
        arrivals, sent = carry(rate_bps, _STEP_S)
        left_bytes -= rate_bps * _STEP_S / 8
        got = estimate.received_bps(arrivals)
        is_full = len(arrivals) < 0.9 * sent or got < 0.85 * rate_bps
        if is_full or 2 * rate_bps > stream.MOST_BPS or 2 * rate_bps * _STEP_S / 8 > left_bytes / 3:
            break
        rate_bps *= 2
    if got == 0:
        raise ProbeError(f"{probe.name}: no packet of a stream of {rate_bps / 1e6:g} Mbit/s arrived")
    time.sleep(_REST_S)
    twice = min(2 * max(got, _FIRST_BPS), stream.MOST_BPS)
    arrivals, sent = carry(twice, min(_FLOOD_S, 0.6 * 8 * left_bytes / twice))
    left_bytes -= 8 * (stream.PAYLOAD_BYTES + stream.HEADERS_BYTES) * sent / 8
    try:
        flood = estimate.flood(arrivals, sent)
    except ValueError as error:
        raise ProbeError(f"{probe.name}: {error}") from None
    time.sleep(_REST_S)
    half = flood.rate_bps / 2
    arrivals, sent = carry(half, min(_STEADY_S, 0.8 * 8 * max(0.0, left_bytes) / half))
    lost = estimate.loss(arrivals, sent)
    return Direction(flood.rate_bps, not flood.is_full, flood.queue_s, lost, flood.burst_bytes)


def _until_quiet(count: Callable[[], int]) -> None:
    """Wait until nothing has come for a while; what waits in a queue arrives late."""
    before = count()
    for _ in range(12):
        time.sleep(_SETTLE_S)
        now = count()
        if now == before:
            return
        before = now


def _bind(each: socket.socket, source: str) -> None:
    """To an address of this machine, or to an interface."""
    try:
        IPv4Address(source)
    except ValueError:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, source.encode() + b"\0")
        return
    each.bind((source, 0))
