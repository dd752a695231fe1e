"""What was read, by host: every fact keeps the line that it came from."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

MAX_SOCKETS: Final = 20_000
"""Sockets that are kept of one host; a busy proxy has some thousands."""


class Line(NamedTuple):
    """A line of a file, without the time stamp or mark of quotation that stood before it."""

    source: str
    number: int
    text: str

    @property
    def where(self) -> str:
        """File and number, as editors take it; of a capture the file."""
        return f"{self.source}:{self.number}" if self.number else self.source


class End(NamedTuple):
    """An address and a port, as printed."""

    address: str
    port: str
    device: str = ""

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


@dataclass(slots=True)
class Socket:
    """A socket as ss(8) prints it; the names in `fields` are those of its output."""

    line: Line
    kind: str
    """`tcp` or `mptcp`; `` where the output does not tell."""
    state: str
    recv_q: int
    send_q: int
    local: End
    remote: End
    time_s: float | None
    fields: dict[str, str] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    congestion: str | None = None
    detail: Line | None = None

    @property
    def evidence(self) -> Line:
        """The line with the details, or the only one."""
        return self.detail or self.line

    def number(self, name: str) -> float | None:
        """The number that a field begins with, in the unit that ss prints it in. None: not there, or not a number."""
        text = self.fields.get(name, "")
        digits = text[: next((place for place, c in enumerate(text) if c not in "0123456789."), len(text))]
        try:
            return float(digits[:32])
        except ValueError:
            return None

    def memory(self, name: str) -> int | None:
        """A value of `skmem:(…)`, in bytes: `rb` and `tb` are the buffers, `r` and `w` what is in them."""
        for each in self.fields.get("skmem", "").strip("()").split(","):
            key = each.rstrip("0123456789")
            if key == name and each[len(key) :].isdecimal():
                return int(each[len(key) :][:15])
        return None

    @property
    def mptcp_flags(self) -> str:
        """The letters of a subflow's `flags:`; empty for none."""
        return self.fields.get("flags", "") if "tcp-ulp-mptcp" in self.words else ""

    @property
    def is_subflow(self) -> bool:
        """Whether the kernel counts it to an MPTCP socket."""
        return self.kind != "mptcp" and "tcp-ulp-mptcp" in self.words

    @property
    def tokens(self) -> tuple[str, str] | None:
        """A subflow's tokens: the peer's, and this host's."""
        peer, _, own = self.fields.get("token", "").partition("/")
        return (peer.partition("(")[0], own.partition("(")[0]) if own else None


class Count(NamedTuple):
    """A counter and the line that has it."""

    value: int
    line: Line


@dataclass
class Counters:
    """One output of nstat, or of /proc/net/netstat."""

    time_s: float | None
    counts: dict[str, Count] = field(default_factory=dict)
    complete: bool = False
    """Whether a counter that is missing is 0 (the output has some that are 0), rather than not known."""


@dataclass(frozen=True)
class Endpoint:
    """One of `ip mptcp endpoint`."""

    line: Line
    address: str
    number: int | None
    flags: frozenset[str]
    device: str
    port: str


@dataclass(frozen=True)
class Limits:
    """Of `ip mptcp limits`."""

    line: Line
    subflows: int
    add_addr_accepted: int


@dataclass(frozen=True)
class Route:
    """One of `ip route`; the network as text, `0.0.0.0/0` for `default`."""

    line: Line
    kind: str
    network: str
    device: str
    table: str
    metric: int
    source: str
    gateway: str


@dataclass(frozen=True)
class Rule:
    """One of `ip rule`."""

    line: Line
    priority: int
    source: str
    """A network, or `all`."""
    table: str
    simple: bool
    """Whether it has no other conditions, such as marks."""


@dataclass(frozen=True)
class Event:
    """One of `ip mptcp monitor`."""

    line: Line
    kind: str
    fields: dict[str, str]
    words: frozenset[str]


@dataclass(frozen=True)
class Sysctl:
    """A kernel parameter."""

    line: Line
    value: str


@dataclass
class Device:
    """An interface by `ip -s link`, and its queueing discipline by `tc -s qdisc`."""

    line: Line
    name: str
    up: bool
    mtu: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    """`rx_bytes`, `rx_dropped`, `tx_bytes`, `tx_dropped`, `tx_errors`; `qdisc_dropped`."""
    lines: dict[str, Line] = field(default_factory=dict)


class Cpu(NamedTuple):
    """Of a process: nanoseconds on a CPU and waiting for one."""

    line: Line
    ran_ns: int
    waited_ns: int
    time_s: float | None


@dataclass(frozen=True)
class LogEntry:
    """A line of a log that says something of Multipath TCP."""

    line: Line
    program: str
    kind: str
    device: str
    """The interface that it is about, if it names one."""


@dataclass
class Host:
    """All that was read of one host."""

    name: str
    kernel: str = ""
    sockets: list[Socket] = field(default_factory=list)
    counters: list[Counters] = field(default_factory=list)
    endpoints: list[Endpoint] = field(default_factory=list)
    limits: list[Limits] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    sysctls: dict[str, Sysctl] = field(default_factory=dict)
    devices: list[Device] = field(default_factory=list)
    cpu: dict[int, list[Cpu]] = field(default_factory=dict)
    logs: list[LogEntry] = field(default_factory=list)
    asked: dict[str, Line] = field(default_factory=dict)
    """What was asked for, with the line that has the command: an answer may be empty."""

    def counted(self, name: str) -> tuple[int, Line | None, bool]:
        """How often, the line that shows it, and whether that is of the time between two outputs alone.

        -1 where the outputs do not tell.
        """
        full = f"MPTcpExt{name}"
        told = [each for each in self.counters if full in each.counts or each.complete]
        if not told:
            return -1, None, False
        last = told[-1].counts.get(full)
        if last is None:
            return 0, None, False
        first = told[0].counts.get(full)
        if len(told) > 1:
            grown = last.value - (first.value if first else 0)
            if grown > 0:
                return grown, last.line, True
        return last.value, last.line, False

    def addresses(self) -> set[str]:
        """Addresses that are this host's own."""
        found = {each.local.address for each in self.sockets} | {each.address for each in self.endpoints}
        found |= {each.network.partition("/")[0] for each in self.routes if each.kind == "local"}
        return {each for each in found if each not in ("0.0.0.0", "::", "*", "127.0.0.1", "127.0.0.0", "::1")}


@dataclass
class Reading:
    """Everything that was given."""

    hosts: list[Host]
    captures: list[str] = field(default_factory=list)
    """Files that are captures."""
    unread: list[Line] = field(default_factory=list)
    """Lines that no reader knows; the first thousand."""
    unread_count: int = 0
    unknown_fields: dict[str, int] = field(default_factory=dict)
    """Fields that were passed over, with how often."""
    notes: list[str] = field(default_factory=list)
