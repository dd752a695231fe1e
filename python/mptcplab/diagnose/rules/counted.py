"""What rules ask of a host's counters."""

from typing import Final

from mptcplab.diagnose.facts import Host, Line

CAPTURE: Final = (
    "tcpdump -ni any -w join.pcap 'tcp[tcpflags] & (tcp-syn|tcp-rst) != 0' on both hosts, then "
    "mptcplab diagnose join.pcap"
)
"""How to see handshakes and resets."""


def count(host: Host | None, name: str) -> int:
    """A counter of Multipath TCP, by its name without MPTcpExt; -1 where it is not known."""
    return host.counted(name)[0] if host is not None else -1


def told(host: Host | None, *names: str) -> list[Line]:
    """The lines of such counters that are not 0."""
    if host is None:
        return []
    return [line for name in names if (found := host.counted(name))[0] > 0 and (line := found[1]) is not None]


def told_tcp(host: Host, name: str) -> list[Line]:
    """The line of a counter of TCP, if it is not 0."""
    last = host.counters[-1].counts.get(name) if host.counters else None
    return [last.line] if last is not None and last.value > 0 else []
