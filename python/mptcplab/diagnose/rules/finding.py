"""What a rule says, and what it looks at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mptcplab.diagnose.connections import Connection, Flow, View
from mptcplab.diagnose.facts import Host, Line


@dataclass(frozen=True)
class Finding:
    """A cause, with the lines that show it."""

    cause: str
    connection: str | None
    """None: of a host."""
    says: str
    evidence: Sequence[Line]
    next: str
    """The command to run next, or what to change."""
    sure: bool = True
    """Whether the lines show it; otherwise they are what it would look like."""


@dataclass(frozen=True)
class Case:
    """A connection and the hosts whose facts are at hand; or a host without connections."""

    hosts: Sequence[Host]
    connection: Connection | None
    of_views: bool = True

    @property
    def name(self) -> str | None:
        """The connection's."""
        return None if self.connection is None else self.connection.name

    @property
    def views(self) -> Sequence[View]:
        """Both hosts', or one, or none."""
        return () if self.connection is None else self.connection.views

    @property
    def client(self) -> Host | None:
        """The host that opened the connection; without connections, one that sent SYNs with MP_CAPABLE or MP_JOIN."""
        if self.connection is not None:
            return None if self.connection.client is None else self.connection.client.host
        tried = [host for host in self.hosts if host.counted("MPCapableSYNTX")[0] > 0]
        return tried[0] if len(tried) == 1 else None

    @property
    def server(self) -> Host | None:
        """The other host."""
        if self.connection is not None:
            client = self.connection.client
            if client is None and len(self.views) == 1 and self.connection.protocol == "mptcp" and self.views[0].flows:
                return self.views[0].host
            others = [view.host for view in self.views if client is not None and view is not client]
            if others:
                return others[0]
        client_host = self.client
        told = [host for host in self.hosts if host is not client_host]
        return told[0] if client_host is not None and len(told) == 1 else None

    def flows(self) -> Iterator[tuple[View, Flow]]:
        """All subflows, at each host that tells of them."""
        for view in self.views:
            for flow in view.flows:
                yield view, flow

    def paths(self) -> list[Flow]:
        """Established subflows that may carry data, at the host that tells of the most."""
        if not self.views:
            return []
        best = max(self.views, key=lambda view: sum(flow.established for flow in view.flows))
        return [flow for flow in best.flows if flow.established]


def size(value: float) -> str:
    """A size in bytes for people."""
    return f"{value / 1e6:.1f} MB" if value >= 1e6 else f"{value / 1e3:.0f} kB" if value >= 1e3 else f"{value:.0f} B"


def rate(value: float) -> str:
    """A rate in bit/s for people."""
    return f"{value / 1e6:.3g} Mbit/s" if value >= 1e6 else f"{value / 1e3:.3g} kbit/s"
