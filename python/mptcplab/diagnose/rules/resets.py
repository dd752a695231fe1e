"""Subflows that end, and connections that fall back, because of what happens to their data."""

from collections.abc import Iterator
from typing import Final

from mptcplab.diagnose.causes import RESET_REASONS
from mptcplab.diagnose.facts import Host
from mptcplab.diagnose.rules.counted import CAPTURE, between, count, told, told_tcp
from mptcplab.diagnose.rules.finding import Case, Finding
from mptcplab.diagnose.rules.one_path import lacking

_MAPPINGS: Final = (
    "MPCapableDataFallback",
    "DssFallback",
    "DSSNoMatchTCP",
    "DSSCorruptionReset",
    "DSSCorruptionFallback",
    "InfiniteMapTx",
    "InfiniteMapRx",
)
_CHECKSUMS: Final = ("DataCsumErr", "MPFailTx", "MPFailRx")


def checksum(case: Case) -> Iterator[Finding]:
    """A DSS checksum was wrong at either end."""
    hosts = [view.host for view in case.views] or list(case.hosts)
    lines = [line for host in hosts for line in told(host, *_CHECKSUMS)]
    if case.connection is not None and not (lacking(case) or any(view.fallback for view in case.views)):
        # What was counted before is of other connections: this one has all of its paths.
        lines = [
            line
            for host in hosts
            for name in _CHECKSUMS
            if between(host, f"MPTcpExt{name}")
            for line in told(host, name)
        ]
    if lines and (case.connection is None or case.connection.protocol == "mptcp"):
        yield Finding(
            "checksum",
            case.name,
            "a checksum of Multipath TCP was wrong, and the subflow was closed or the connection fell back",
            lines,
            "find the box that rewrites payload (application gateways of FTP or SIP, transparent proxies)",
        )


def mapping_lost(case: Case) -> Iterator[Finding]:
    """The data level stands still or fell back after the handshake, or the receiver reset a joined subflow."""
    if case.connection is None or case.connection.protocol != "mptcp":
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
    hosts = [view.host for view in case.views]
    lines = [line for host in hosts for line in told(host, *_MAPPINGS)]
    if lines and any(view.fallback for view in case.views):
        yield Finding("mapping-lost", case.name, "the connection fell back to TCP after its handshake", lines, CAPTURE)
        return
    others = ("RmAddr", "RmSubflow", "MPJoinRejected", "DataCsumErr", "MPFailRx")
    if len(case.paths()) > 1 or any(count(host, name) > 0 for host in hosts for name in others):
        return
    for host in hosts:
        joined = max(count(host, "MPJoinAckRx"), count(host, "MPJoinSynAckRx"))
        reset = told(host, "MPRstTx", "MPRstRx")
        if joined > 0 and reset and (lines or _received(host)):
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
