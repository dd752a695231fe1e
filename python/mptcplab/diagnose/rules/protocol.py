"""TCP where Multipath TCP was wanted."""

from collections.abc import Iterator

from mptcplab.diagnose.facts import Host, Line
from mptcplab.diagnose.rules.counted import CAPTURE, attributable, count, told
from mptcplab.diagnose.rules.finding import Case, Finding


def _is_tcp(case: Case) -> bool:
    """Whether it is TCP now; of hosts without connections that cannot be said."""
    if case.connection is None:
        return True
    return case.connection.protocol == "tcp" or any(view.fallback for view in case.views)


def _fell_back(case: Case) -> bool:
    """Whether a socket of Multipath TCP is TCP now: a program's own TCP socket is none of the counters' business."""
    return case.connection is None or any(view.fallback for view in case.views)


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
        others = any(each.kind == "mptcp" and each.state != "LISTEN" for each in view.host.sockets)
        if ((sent <= 0 and came <= 0) or not others) and opened:
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
    return told(case.client, "MPCapableFallbackSYNACK") if _fell_back(case) else []


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
    third = told(server, "MPCapableFallbackACK") if _fell_back(case) and server and attributable(server) else []
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
        sure=case.client is None or attributable(case.client),
    )


def syn_blocked(case: Case) -> Iterator[Finding]:
    """The kernel gave up SYNs with MP_CAPABLE, or does not even try any more."""
    lines = told(case.client, "MPCapableSYNTXDrop", "MPCapableSYNTXDisabled", "Blackhole")
    for view, flow in case.flows():
        last = flow.last
        if last.state == "SYN-SENT" and "m" in last.mptcp_flags and (last.number("backoff") or last.number("retrans")):
            yield Finding(
                "syn-blocked",
                case.name,
                f"no answer to the SYN with MP_CAPABLE from {last.local} to {last.remote}; Linux before 6.12 does not "
                "try without it, so whether the server answers at all is not known",
                [last.evidence, *told(view.host, "MPCapableSYNTX")],
                f"ping -I {last.local.address} {last.remote.address}; the same program with TCP; {CAPTURE}",
                sure=False,
            )
            return
    if not _fell_back(case):
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
