"""Subflows that end, and connections that fall back, because of what happens to their data."""

from collections.abc import Iterator

from mptcplab.diagnose.causes import RESET_REASONS
from mptcplab.diagnose.facts import Host
from mptcplab.diagnose.rules.counted import CAPTURE, count, told, told_tcp
from mptcplab.diagnose.rules.finding import Case, Finding


def checksum(case: Case) -> Iterator[Finding]:
    """A DSS checksum was wrong at either end."""
    hosts = [view.host for view in case.views] or list(case.hosts)
    lines = [line for host in hosts for line in told(host, "DataCsumErr", "MPFailTx", "MPFailRx")]
    if lines and (case.connection is None or case.connection.protocol == "mptcp"):
        yield Finding(
            "checksum",
            case.name,
            "a checksum of Multipath TCP was wrong, and the subflow was closed or the connection fell back",
            lines,
            "find the box that rewrites payload (application gateways of FTP or SIP, transparent proxies)",
        )


def mapping_lost(case: Case) -> Iterator[Finding]:
    """A subflow that had been joined was reset by the receiver, or the connection fell back after its handshake."""
    if case.connection is None or case.connection.protocol != "mptcp":
        return
    names = (
        "MPCapableDataFallback",
        "DssFallback",
        "DSSNoMatchTCP",
        "DSSCorruptionReset",
        "DSSCorruptionFallback",
        "InfiniteMapTx",
        "InfiniteMapRx",
    )
    hosts = [view.host for view in case.views]
    if any(count(host, "DataCsumErr") > 0 or count(host, "MPFailRx") > 0 for host in hosts):
        return
    lines = [line for host in hosts for line in told(host, *names)]
    if lines and any(view.fallback for view in case.views):
        yield Finding("mapping-lost", case.name, "the connection fell back to TCP after its handshake", lines, CAPTURE)
        return
    for view in case.views:
        if view.unacknowledged:
            yield Finding(
                "mapping-lost",
                case.name,
                f"{view.host.name}: the subflow is acknowledged and its data are not (snd_una does not move): for the "
                "peer the connection is TCP, as if data came without a mapping",
                [view.looks[0].evidence, view.evidence, *(flow.last.evidence for flow in view.flows)],
                CAPTURE,
            )
            return
    for host in hosts:
        joined = max(count(host, "MPJoinAckRx"), count(host, "MPJoinSynAckRx"))
        removed = max(count(each, name) for each in hosts for name in ("RmAddr", "RmSubflow", "MPJoinRejected"))
        reset = told(host, "MPRstTx", "MPRstRx")
        if joined > 0 and reset and removed <= 0 and len(case.paths()) < 2 and (lines or _received(host)):
            yield Finding(
                "mapping-lost",
                case.name,
                "a subflow was reset by the end that received its data, as if they came without a mapping",
                [*lines, *reset],
                CAPTURE,
                sure=bool(lines),
            )
            return


def _received(host: Host) -> bool:
    """Whether data came on the subflow: what was sent again elsewhere came twice, or the peer says that it reset it."""
    return count(host, "DuplicateData") > 0 or count(host, "MPRstRx") > 0


def reset(case: Case) -> Iterator[Finding]:
    """The monitor shows a subflow closed by a reset; or one is gone that neither end closed."""
    if case.connection is None or case.connection.protocol != "mptcp":
        return
    for view in case.views:
        for event in view.host.events:
            reason = event.fields.get("reset_reason")
            if event.kind == "SF_CLOSED" and (reason or event.fields.get("error") == "104"):
                named = RESET_REASONS.get(reason or "", f"reason {reason}" if reason else "without MP_TCPRST")
                yield Finding("reset", case.name, f"a subflow was closed by a reset: {named}", [event.line], CAPTURE)
                return
    hosts = [view.host for view in case.views]
    ended = [line for host in hosts for line in told_tcp(host, "TcpEstabResets")]
    joined = any(max(count(host, "MPJoinAckRx"), count(host, "MPJoinSynAckRx")) > 0 for host in hosts)
    own = any(
        count(host, name) > 0
        for host in hosts
        for name in ("MPRstTx", "MPRstRx", "RmAddr", "RmSubflow", "MPJoinRejected")
    )
    if ended and joined and not own and len(case.paths()) == 1:
        yield Finding(
            "reset",
            case.name,
            "a subflow that had been joined was reset, and neither end says that it did so (MP_TCPRST)",
            ended,
            f"ip mptcp monitor; {CAPTURE}",
            sure=len(hosts) > 1,
        )
