"""What rules ask of a host's counters."""

from dataclasses import replace
from typing import Final

from mptcplab.diagnose.facts import Host, Line
from mptcplab.diagnose.rules.finding import Case, Finding

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


def attributable(host: Host) -> bool:
    """Whether what a host counted since it booted is of the connections that it has now: it tried no others."""
    tried = sum(max(0, count(host, name)) for name in ("MPCapableSYNTX", "MPCapableSYNRX"))
    present = {(each.local, each.remote) for each in host.sockets if each.kind == "mptcp" and each.state != "LISTEN"}
    return tried <= len(present) + 1


def weighed(case: Case, found: list[Finding]) -> list[Finding]:
    """The findings without those that rest on nothing but counters of the time before the outputs, which other
    connections may have counted as well. Of a host, and of a connection that did fall back, they are likely.
    """
    kept = [finding for finding in found if not _since_boot(case, finding)]
    if kept or (case.connection is not None and not any(view.fallback for view in case.views)):
        return kept
    return [replace(finding, sure=False) for finding in found]


def _since_boot(case: Case, finding: Finding) -> bool:
    for host in case.hosts:
        if not host.counters or attributable(host):
            continue
        names = {number.line: name for name, number in host.counters[-1].counts.items()}
        if any(line in names and between(host, names[line]) for line in finding.evidence):
            return False
    counted = {
        number.line
        for host in case.hosts
        if host.counters and not attributable(host)
        for number in host.counters[-1].counts.values()
    }
    return bool(finding.evidence) and all(line in counted for line in finding.evidence)


def between(host: Host, name: str) -> bool:
    """Whether a counter, by its whole name, grew between the first output and the last."""
    if not host.counters:
        return False
    first, last = host.counters[0].counts.get(name), host.counters[-1].counts.get(name)
    grown = (last.value if last else 0) - (first.value if first else 0)
    return len(host.counters) > 1 and grown > 0
