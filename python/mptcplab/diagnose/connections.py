"""Sockets become connections: an MPTCP socket with its subflows, as each host saw it, over all outputs of ss."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from mptcplab.diagnose.facts import Host, Line, Socket

_MOVED: Final = 65536
_DEAD: Final = frozenset(("LISTEN", "TIME-WAIT", "UNCONN", ""))


@dataclass
class Flow:
    """A subflow, or the one flow of TCP, at one host: what each output of ss said of it, in their order."""

    looks: list[Socket]
    gone: bool = False
    """Whether the last output of the script has other sockets and not this one."""

    @property
    def first(self) -> Socket:
        """What the first output said."""
        return self.looks[0]

    @property
    def last(self) -> Socket:
        """What the last output said."""
        return self.looks[-1]

    @property
    def backup(self) -> bool:
        """Whether either end wants it used only when no other works (`b` and `B` of `flags:`)."""
        return bool(set("bB") & set(self.last.mptcp_flags))

    @property
    def opened_here(self) -> bool:
        """Whether this host sent the SYN (`m` and `j` of `flags:`)."""
        return bool(set("mj") & set(self.last.mptcp_flags))

    @property
    def joined(self) -> bool:
        """Whether it was opened with MP_JOIN."""
        return bool(set("jJ") & set(self.last.mptcp_flags))

    @property
    def established(self) -> bool:
        """Whether data may be sent."""
        return not self.gone and self.last.state in ("ESTAB", "CLOSE-WAIT")

    def grown(self, name: str) -> float | None:
        """How much a counter of ss grew between the first output and the last; from 0 if there is one output."""
        last = self.last.number(name)
        if last is None:
            # ss leaves out what is 0.
            return 0.0 if self.last.detail is not None or "cwnd" in self.last.fields else None
        return last - ((self.first.number(name) or 0.0) if len(self.looks) > 1 else 0.0)

    @property
    def span_s(self) -> float | None:
        """Seconds between the first output and the last, if the outputs tell."""
        begun, ended = self.first.time_s, self.last.time_s
        return ended - begun if begun is not None and ended is not None and ended > begun else None

    def rate_bps(self, name: str) -> float | None:
        """Growth of a counter of bytes, in bit/s."""
        grown, span_s = self.grown(name), self.span_s
        return None if grown is None or span_s is None or len(self.looks) < 2 else 8 * grown / span_s

    def mean(self, name: str) -> float | None:
        """The mean of what the outputs said; None if none did."""
        values = [value for each in self.looks if (value := each.number(name)) is not None]
        return sum(values) / len(values) if values else None

    @property
    def loss(self) -> float | None:
        """Share of the bytes sent that were sent again."""
        sent, again = self.grown("bytes_sent"), self.grown("bytes_retrans")
        return again / sent if sent and again is not None else None

    @property
    def min_rtt_ms(self) -> float | None:
        """The least RTT of all outputs: the kernel's forgets what is older than five minutes."""
        values = [value for each in self.looks if (value := each.number("minrtt")) is not None]
        return min(values, default=None)

    @property
    def device(self) -> str:
        """The interface that the socket is bound to; empty for none."""
        return self.last.local.device


@dataclass
class View:
    """A connection as one host sees it."""

    host: Host
    looks: list[Socket] = field(default_factory=list)
    """The MPTCP socket; none for TCP, or if ss was not asked with -M."""
    flows: list[Flow] = field(default_factory=list)

    @property
    def evidence(self) -> Line:
        """The line that shows the connection."""
        return self.looks[-1].evidence if self.looks else self.flows[0].last.evidence

    @property
    def client(self) -> bool:
        """Whether this host opened the connection."""
        return any("m" in flow.last.mptcp_flags for flow in self.flows) or any(
            "j" in flow.last.mptcp_flags for flow in self.flows
        )

    @property
    def fallback(self) -> bool:
        """Whether the kernel says that it has become TCP."""
        if self.looks:
            return any("fallback" in each.words for each in self.looks)
        # Without ss -M: a subflow that is connected and never was fully established.
        asked = [flow for flow in self.flows if flow.established and flow.last.is_subflow]
        return any(not set("eMJ") & set(flow.last.mptcp_flags) for flow in asked)

    @property
    def unacknowledged(self) -> bool:
        """Whether subflows are acknowledged from output to output and not one byte is at the data level."""
        first, last = (self.looks[place].fields.get("snd_una", "") if self.looks else "" for place in (0, -1))
        moved = sum(flow.grown("bytes_acked") or 0 for flow in self.flows if len(flow.looks) > 1)
        return len(self.looks) > 1 and bool(first) and first == last and moved > _MOVED

    def sent(self) -> float:
        """Bytes that were acknowledged to this host."""
        return sum(flow.grown("bytes_acked") or 0.0 for flow in self.flows)

    def received(self) -> float:
        """Bytes that this host received."""
        return sum(flow.grown("bytes_received") or 0.0 for flow in self.flows)


@dataclass
class Connection:
    """A connection and what is known of it."""

    name: str
    protocol: str
    """`mptcp`, or `tcp`."""
    views: list[View]

    @property
    def sender(self) -> View | None:
        """The host that sends the most of the data, if its sockets are there."""
        best = max(self.views, key=View.sent)
        return best if best.sent() > 0 and best.sent() >= best.received() else None

    @property
    def receiver(self) -> View | None:
        """The host that receives the most of the data, if its sockets are there."""
        best = max(self.views, key=View.received)
        return best if best.received() > 0 and best.received() >= best.sent() else None

    @property
    def client(self) -> View | None:
        """The host that opened it, if its sockets are there."""
        return next((view for view in self.views if view.client), None)


def connections(hosts: Iterable[Host]) -> list[Connection]:
    """All connections of all hosts; the two hosts' views of one are brought together."""
    found: list[Connection] = []
    by_key: dict[tuple[str, ...], Connection] = {}
    for host in hosts:
        own: dict[tuple[str, ...], Connection] = {}
        for view, protocol, name in _of_host(host):
            keys, wanted = _keys(view)
            same = next((by_key[key] for key in wanted if key in by_key), None)
            if same is None:
                same = Connection(name, protocol, [view])
                found.append(same)
            else:
                same.views.append(view)
                same.protocol = "mptcp" if protocol == "mptcp" else same.protocol
            own |= dict.fromkeys(keys, same)
        by_key |= own
    return found


def _of_host(host: Host) -> list[tuple[View, str, str]]:
    masters: dict[str, View] = {}
    plain: dict[tuple[object, ...], View] = {}
    flows: dict[tuple[object, ...], Flow] = {}
    for each in host.sockets:
        if each.kind == "mptcp" and each.state not in _DEAD:
            token = each.fields.get("token") or str((each.local, each.remote))
            masters.setdefault(token, View(host)).looks.append(each)
        elif each.kind != "mptcp" and each.state not in _DEAD and each.remote.port != "*":
            key = (each.local.address, each.local.port, each.remote)
            if key in flows:
                flows[key].looks.append(each)
            else:
                flows[key] = Flow([each])
    # The script asks for all sockets each time; what people ask for themselves may be a part.
    last_s = max(
        (each.time_s for each in host.sockets if each.time_s is not None and each.kind != "mptcp"), default=None
    )
    for flow in flows.values():
        flow.gone = last_s is not None and flow.last.time_s is not None and flow.last.time_s < last_s
    by_ends = {(str(view.looks[0].local), str(view.looks[0].remote)): view for view in masters.values()}
    by_inode = {ino: view for view in masters.values() if (ino := view.looks[0].fields.get("ino", "0")) != "0"}
    for ends, flow in flows.items():
        own = flow.last.tokens[1] if flow.last.tokens else None
        view = masters.get(own) if own else None
        if view is None:
            view = by_ends.get((str(flow.last.local), str(flow.last.remote))) or by_inode.get(
                flow.last.fields.get("ino", "")
            )
        if view is None and flow.last.is_subflow and own:
            # ss was asked without -M.
            view = masters.setdefault(own, View(host))
        if view is None:
            view = plain.setdefault(ends, View(host))
        view.flows.append(flow)
    told = [(view, "mptcp", _name(view)) for view in masters.values() if view.looks or view.flows]
    return told + [(view, "tcp", _name(view)) for view in plain.values()]


def _name(view: View) -> str:
    socket = view.looks[0] if view.looks else view.flows[0].first
    return f"{socket.local} ↔ {socket.remote}"


def _keys(view: View) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """What a view is known by, and what the other host's view of the same connection is known by: the tokens that
    joined subflows have of both ends, or addresses and ports.
    """
    own: list[tuple[str, ...]] = []
    other: list[tuple[str, ...]] = []
    for flow in view.flows:
        peer, here = flow.last.tokens or ("", "")
        own += [(token, end) for token, end in ((peer, "peer"), (here, "own")) if token.strip("0")]
        other += [(token, end) for token, end in ((here, "peer"), (peer, "own")) if token.strip("0")]
        own.append((str(flow.last.local), str(flow.last.remote), "ends"))
        other.append((str(flow.last.remote), str(flow.last.local), "ends"))
    return own, other
