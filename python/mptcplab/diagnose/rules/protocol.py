"""TCP where Multipath TCP was wanted, and subflows that end because of what happens to their packets."""

from collections.abc import Iterator

from mptcplab.diagnose.causes import RESET_REASONS
from mptcplab.diagnose.facts import Host, Line
from mptcplab.diagnose.rules.counted import CAPTURE, count, told, told_tcp
from mptcplab.diagnose.rules.finding import Case, Finding


def _is_tcp(case: Case) -> bool:
    """Whether it is TCP now; of hosts without connections that cannot be said."""
    if case.connection is None:
        return True
    return case.connection.protocol == "tcp" or any(view.fallback for view in case.views)


def tcp_only(case: Case) -> Iterator[Finding]:
    """The socket that called is one of TCP, and its host has sent no SYN with MP_CAPABLE, as far as is known."""
    if case.connection is None or case.connection.protocol != "tcp":
        return
    for view in case.views:
        asked = any(
            "-" in command and "M" in command for command in view.host.asked if command.startswith(("ss ", "sockets"))
        )
        asked |= "sockets" in view.host.asked or any(each.kind == "mptcp" for each in view.host.sockets)
        if not asked or _switched_off(view.host):
            continue
        sent, came = count(view.host, "MPCapableSYNTX"), count(view.host, "MPCapableSYNRX")
        opened = _opened_here(view.host, view.flows[0].last.local.port, view.flows[0].last.remote.port)
        if sent <= 0 and came <= 0 and opened:
            yield Finding(
                "tcp-only",
                case.name,
                f"the program on {view.host.name} opened a TCP socket, not one of Multipath TCP",
                [view.evidence],
                "mptcpize run PROGRAM, or open the socket with IPPROTO_MPTCP (262)",
            )
            return


def _opened_here(host: Host, own: str, peer: str) -> bool:
    """Whether the socket called: nobody listens on its port here."""
    return not any(each.state == "LISTEN" and each.local.port == own for each in host.sockets) and own != peer


def _switched_off(host: Host) -> bool:
    enabled = host.sysctls.get("net.mptcp.enabled")
    return enabled is not None and enabled.value == "0"


def mptcp_disabled(case: Case) -> Iterator[Finding]:
    """`net.mptcp.enabled` is 0 on a host whose connection is TCP."""
    if not _is_tcp(case):
        return
    hosts = [view.host for view in case.views] or list(case.hosts)
    for host in hosts:
        logged = [entry.line for entry in host.logs if entry.kind == "mptcp-off"]
        if logged and not _switched_off(host):
            yield Finding(
                "mptcp-disabled",
                case.name,
                f"mptcpd says that the kernel of {host.name} has no Multipath TCP, or has it switched off",
                logged[-1:],
                "sysctl net.mptcp.enabled; uname -r (Linux 5.6 or later with CONFIG_MPTCP)",
            )
        elif _switched_off(host):
            yield Finding(
                "mptcp-disabled",
                case.name,
                f"{host.name} makes no sockets of Multipath TCP",
                [host.sysctls["net.mptcp.enabled"].line],
                "sysctl net.mptcp.enabled=1",
            )


def _answered_plainly(case: Case) -> list[Line]:
    return told(case.client, "MPCapableFallbackSYNACK") if _is_tcp(case) else []


def peer_without_mptcp(case: Case) -> Iterator[Finding]:
    """The SYN/ACK had no MP_CAPABLE, and the server does not listen with Multipath TCP, or is not known to."""
    lines, server = _answered_plainly(case), case.server
    if not lines or (server is not None and _listens(server, case)):
        return
    known = server is not None
    says = "the SYN/ACK came without MP_CAPABLE"
    if server is not None:
        plain = [each.line for each in server.sockets if each.state == "LISTEN" and each.kind == "tcp"][:1]
        says, lines = f"{says}: the program on {server.name} listens with TCP", [*lines, *plain]
    yield Finding(
        "peer-without-mptcp",
        case.name,
        says if known else f"{says}: the server does not speak Multipath TCP, or a box removes the option",
        lines,
        "on the server: sysctl net.mptcp.enabled, ss -lntM; mptcpize run SERVER",
        sure=known,
    )


def _listens(server: Host, case: Case) -> bool:
    ports = {flow.last.local.port for view, flow in case.flows() if view.host is server}
    return any(
        each.state == "LISTEN" and (each.kind == "mptcp" or each.is_subflow) and (not ports or each.local.port in ports)
        for each in server.sockets
    )


def options_stripped(case: Case) -> Iterator[Finding]:
    """The SYN/ACK had no MP_CAPABLE although the server listens with Multipath TCP, or the third ACK had none."""
    server = case.server
    lines = _answered_plainly(case)
    third = told(server, "MPCapableFallbackACK") if _is_tcp(case) else []
    if not third and not (lines and server is not None and _listens(server, case)):
        return
    came = count(server, "MPCapableSYNRX")
    where = "on the way to the server" if came == 0 else "on the way back" if came > 0 and not third else "on the way"
    listening = (
        [each.line for each in server.sockets if each.state == "LISTEN" and each.kind == "mptcp"] if server else []
    )
    yield Finding(
        "options-stripped",
        case.name,
        f"the options of Multipath TCP were removed from the handshake, {where}",
        [*lines, *third, *listening[:1]],
        CAPTURE,
    )


def syn_blocked(case: Case) -> Iterator[Finding]:
    """The kernel gave up SYNs with MP_CAPABLE, or does not even try any more."""
    lines = told(case.client, "MPCapableSYNTXDrop", "MPCapableSYNTXDisabled", "Blackhole")
    if case.connection is not None and not _is_tcp(case):
        return
    client = case.client
    if client is None and case.connection is not None:
        # A socket that never sent MP_CAPABLE does not tell who opened it.
        for view in case.views:
            if count(view.host, "MPCapableSYNTX") > 0 or count(view.host, "MPCapableSYNTXDisabled") > 0:
                lines = lines or told(view.host, "MPCapableSYNTXDrop", "MPCapableSYNTXDisabled", "Blackhole")
    if lines:
        stopped = any("Disabled" in line.text for line in lines)
        yield Finding(
            "syn-blocked",
            case.name,
            "SYNs with MP_CAPABLE were not answered, those without it were"
            + ("; Multipath TCP is now off for new connections, for blackhole_timeout" if stopped else ""),
            lines,
            f"{CAPTURE}; sysctl net.mptcp.blackhole_timeout",
        )


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
