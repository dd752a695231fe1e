"""What the sockets of a pair of programs come to, path by path.

Each socket is seen at every look and once more when it goes; what it counted since it was last seen is added to its
path. A client's first socket of a connection of Multipath TCP is emptied before it goes, so that its last milliseconds
are not known of it: what arrived is then known of the other end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mptcplab.engines.linux.programs.diagnostics import End, TcpSocket

CLIENT: Final = 0
SERVER: Final = 1

_OWN_BYTES: Final = 2
"""What `bytes_acked` may count of the sender's SYN and FIN."""
_LINGER_NS: Final = 2_000_000_000
"""How long a flow is remembered whose server's socket went: word of the client's comes later, and must not count as
that of another."""
_UNSEEN_SHARE: Final = 0.05
"""Part of a path's bytes that may have been sent since their sender was last seen, before its counters are not told."""


@dataclass
class Flow:
    """One subflow, or TCP connection, seen from its two ends."""

    path: int
    cookies: list[bytes | None] = field(default_factory=lambda: [None, None])
    received: int = 0
    sender: TcpSocket | None = None
    arrived: int = 0
    seen_ns: int = 0
    server_gone_ns: int | None = None


@dataclass
class PathCount:
    """All flows over one path."""

    arrived: int = 0
    warm_arrived: int = 0
    acked: int = 0
    segments_sent: int = 0
    retransmissions: int = 0
    timeouts: int | None = 0
    cwnd_integral: float = 0.0
    cwnd_ns: int = 0
    rtt_us_bytes: float = 0.0
    rtt_bytes: int = 0
    sampled: int = 0
    standing: list[TcpSocket] = field(default_factory=list)
    """The senders seen at the last look."""


@dataclass
class Samples:
    """Columns as the core has them, without the connection's number."""

    time_s: list[float] = field(default_factory=list)
    subflow: list[int] = field(default_factory=list)
    goodput_bps: list[float] = field(default_factory=list)
    cwnd_segments: list[float] = field(default_factory=list)
    srtt_s: list[float] = field(default_factory=list)
    in_flight_segments: list[int] = field(default_factory=list)


class Ledger:
    """One pair of hosts. Times count from the start of the scenario."""

    def __init__(self, paths: Mapping[bytes, int], sender: int) -> None:
        """`paths` by the client's addresses, packed; `sender` is the end whose data is measured."""
        self.sender = sender
        self.counts: dict[int, PathCount] = {}
        """By path, in the order of first sight."""
        self.congestion: set[str] = set()
        """Controls of the senders."""
        self.whole = True
        """False when the kernel did not tell of every socket."""
        self.samples = Samples()
        self._paths = paths
        self._flows: dict[End, Flow] = {}

    @property
    def arrived(self) -> int:
        """Bytes, over all paths."""
        return sum(count.arrived for count in self.counts.values())

    def look(self, now_ns: int, sockets: tuple[Iterable[TcpSocket], Iterable[TcpSocket]]) -> None:
        """The sockets of client and server now, those that went since the last look among them."""
        for count in self.counts.values():
            count.standing.clear()
        standing = set()
        for end, seen in enumerate(sockets):
            for each in seen:
                self._observe(end, each, now_ns)
                if end == CLIENT and not each.gone:
                    standing.add(each.local)
        self._flows = {
            end: flow
            for end, flow in self._flows.items()
            if flow.server_gone_ns is None or end in standing or now_ns - flow.server_gone_ns < _LINGER_NS
        }

    def warm_up_ends(self) -> None:
        """Means and rates begin anew."""
        for count in self.counts.values():
            count.warm_arrived = count.arrived
            count.cwnd_integral, count.cwnd_ns = 0.0, 0
            count.rtt_us_bytes, count.rtt_bytes = 0.0, 0

    def sample(self, now_ns: int, sample_ns: int) -> None:
        """A row for each path, of the interval that ends now."""
        for number, count in enumerate(self.counts.values()):
            bytes_since, count.sampled = count.arrived - count.sampled, count.arrived
            times = [each.srtt_us for each in count.standing if each.srtt_us]
            self.samples.time_s.append(now_ns / 1e9)
            self.samples.subflow.append(number)
            self.samples.goodput_bps.append(bytes_since * 8e9 / sample_ns)
            self.samples.cwnd_segments.append(sum(each.cwnd_segments for each in count.standing))
            self.samples.srtt_s.append(sum(times) / len(times) * 1e-6 if times else float("nan"))
            self.samples.in_flight_segments.append(sum(each.in_flight_segments for each in count.standing))

    def rows(self, window_ns: int, lost: Mapping[int, tuple[int, int]]) -> list[dict[str, Any]]:
        """A row for each path, as the core has them; `lost` has data segments sent and lost as the emulator counts."""
        whole = sum(count.arrived - count.warm_arrived for count in self.counts.values())
        rows = []
        for path, count in self.counts.items():
            arrived = count.arrived - count.warm_arrived
            sent_segments, lost_segments = lost.get(path, (0, 0))
            seen = self.whole and count.arrived - count.acked <= _UNSEEN_SHARE * count.arrived
            rows.append(
                {
                    "path": path,
                    "goodput_bps": arrived * 8e9 / window_ns if window_ns > 0 and self.whole else None,
                    "share": arrived / whole if whole and self.whole else None,
                    "segments_sent": count.segments_sent if seen else None,
                    "retransmissions": count.retransmissions if seen else None,
                    "timeouts": count.timeouts if seen else None,
                    "timeout_times_s": None,
                    "reinjections": None,
                    "loss_rate": lost_segments / sent_segments if sent_segments else None,
                    "rtt_mean_s": count.rtt_us_bytes * 1e-6 / count.rtt_bytes if count.rtt_bytes else None,
                    "cwnd_mean_segments": count.cwnd_integral / count.cwnd_ns if count.cwnd_ns else None,
                    "waited_first_s": None,
                    "waited_retransmission_s": None,
                    "waited_timeout_s": None,
                    "waited_reinjection_s": None,
                }
            )
        return rows

    def _observe(self, end: int, seen: TcpSocket, now_ns: int) -> None:
        client = seen.local if end == CLIENT else seen.remote
        path = self._paths.get(client.address)
        if path is None:
            return
        flow = self._flows.get(client)
        if flow is None or flow.cookies[end] not in (None, seen.cookie):
            flow = self._flows[client] = Flow(path, seen_ns=now_ns)
        flow.cookies[end] = seen.cookie
        if end == SERVER and seen.gone:
            flow.server_gone_ns = now_ns
        count = self.counts.setdefault(path, PathCount())
        if end == self.sender:
            self._sender_says(flow, count, seen, now_ns)
        else:
            flow.received = max(flow.received, seen.bytes_received)
        acked = 0 if flow.sender is None else flow.sender.bytes_acked
        arrived = max(flow.received, acked - _OWN_BYTES, flow.arrived)
        count.arrived += arrived - flow.arrived
        flow.arrived = arrived

    def _sender_says(self, flow: Flow, count: PathCount, seen: TcpSocket, now_ns: int) -> None:
        before, flow.sender = flow.sender, seen
        if seen.congestion is not None:
            self.congestion.add(seen.congestion)
        acked = seen.bytes_acked - (before.bytes_acked if before else 0)
        count.acked += acked
        count.segments_sent += seen.data_segments_sent - (before.data_segments_sent if before else 0)
        count.retransmissions += seen.retransmissions - (before.retransmissions if before else 0)
        if seen.timeouts is None:
            count.timeouts = None
        elif count.timeouts is not None:
            count.timeouts += seen.timeouts - ((before.timeouts or 0) if before else 0)
        if seen.srtt_us:
            count.rtt_us_bytes += seen.srtt_us * acked
            count.rtt_bytes += acked
        passed_ns, flow.seen_ns = now_ns - flow.seen_ns, now_ns
        if not seen.gone:
            first = before.cwnd_segments if before else seen.cwnd_segments
            count.cwnd_integral += (first + seen.cwnd_segments) / 2 * passed_ns
            count.cwnd_ns += passed_ns
            count.standing.append(seen)
