"""What became of SYNs with MP_JOIN."""

from collections.abc import Iterator

from mptcplab.diagnose.connections import Flow, View
from mptcplab.diagnose.rules.counted import CAPTURE, count, told, told_tcp
from mptcplab.diagnose.rules.finding import Case, Finding
from mptcplab.diagnose.rules.one_path import lacking


def join_unanswered(case: Case) -> Iterator[Finding]:
    """A subflow in SYN-SENT whose SYN was sent again; or more SYNs than SYN/ACKs, and no reset."""
    if not lacking(case):
        return
    client = case.client
    waits = _waits(case)
    if waits is not None:
        view, flow = waits
        yield Finding(
            "join-unanswered",
            case.name,
            f"no answer to the SYN with MP_JOIN from {flow.last.local} to {flow.last.remote}" + _reached(case),
            [flow.last.evidence, *told(view.host, "MPJoinSynTx")],
            f"ping -I {flow.last.local.address} {flow.last.remote.address}; {CAPTURE}",
        )
        return
    sent, answered = count(client, "MPJoinSynTx"), count(client, "MPJoinSynAckRx")
    refused = any(True for _ in join_refused(case))
    if sent > answered >= 0 and count(client, "MPRstTx") <= 0 and _syn_lost(case) and not refused:
        yield Finding(
            "join-unanswered",
            case.name,
            f"{sent - answered} of {sent} SYNs with MP_JOIN were not answered" + _reached(case),
            told(client, "MPJoinSynTx", "MPJoinSynAckRx"),
            CAPTURE,
            sure=False,
        )


def join_refused(case: Case) -> Iterator[Finding]:
    """Fewer SYN/ACKs than SYNs, none sent again and no reset by the client: the server's host answered with a reset."""
    client = case.client
    sent, answered = count(client, "MPJoinSynTx"), count(client, "MPJoinSynAckRx")
    if client is None or not lacking(case) or not sent > answered >= 0 or count(client, "MPRstTx") > 0:
        return
    lines = told_tcp(client, "TcpAttemptFails")
    if lines and _syn_lost(case) and _waits(case) is None:
        announced = told(client, "AddAddr")
        where = "the address that the server announced: nobody listens there" if announced else "the server"
        yield Finding(
            "join-refused",
            case.name,
            f"a SYN with MP_JOIN was answered with a reset by {where}",
            [*told(client, "MPJoinSynTx"), *lines, *announced],
            "on the server: ss -lntM; the program has to listen on all addresses, or the endpoint needs a port",
            sure=bool(announced),
        )


def _waits(case: Case) -> tuple[View, Flow] | None:
    """A subflow whose SYN was sent again."""
    for view, flow in case.flows():
        last = flow.last
        if (
            last.state == "SYN-SENT"
            and flow.opened_here
            and "m" not in last.mptcp_flags
            and (last.number("backoff") or last.number("retrans"))
        ):
            return view, flow
    return None


def _syn_lost(case: Case) -> bool:
    """Whether nothing else says what became of a SYN: it was not sent, its answer was wrong, the token is not known."""
    others = ("MPJoinSynTxBindErr", "MPJoinSynTxConnectErr", "MPJoinSynAckHMacFailure")
    if any(count(case.client, name) > 0 for name in others):
        return False
    return count(case.server, "MPJoinNoTokenFound") <= 0


def _reached(case: Case) -> str:
    if case.server is None:
        return ""
    received = count(case.server, "MPJoinSynRx")
    return "; it did not reach the server with the option" if received == 0 else ""


def join_stripped(case: Case) -> Iterator[Finding]:
    """The client reset a subflow whose SYN/ACK had no MP_JOIN."""
    client = case.client
    sent, answered = count(client, "MPJoinSynTx"), count(client, "MPJoinSynAckRx")
    others = count(client, "RmAddrTx") > 0 or not _syn_lost(case)
    if lacking(case) and sent > answered >= 0 and count(client, "MPRstTx") > 0 and not others:
        reached = count(case.server, "MPJoinSynRx")
        # If the server saw the option, it is the answer that lost it.
        where = ", on the way back" if reached > 0 else ", on the way to the server" if reached == 0 else ""
        yield Finding(
            "join-stripped",
            case.name,
            f"a SYN with MP_JOIN was answered without it{where}, so the client reset the subflow",
            told(client, "MPJoinSynTx", "MPRstTx"),
            CAPTURE,
            sure=reached >= 0,
        )


def join_rejected(case: Case) -> Iterator[Finding]:
    """The server counted a join that its path manager refused, or its limit is 0 and joins came."""
    if not lacking(case):
        return
    client, server = case.client, case.server
    rejected = told(server, "MPJoinRejected")
    if server is not None and not rejected and server.limits and server.limits[-1].subflows == 0:
        rejected = [server.limits[-1].line, *told(server, "MPJoinSynRx")] if count(server, "MPJoinSynRx") > 0 else []
    if rejected and server is not None:
        limit = [server.limits[-1].line] if server.limits and server.limits[-1].subflows == 0 else []
        yield Finding(
            "join-rejected",
            case.name,
            f"{server.name} rejected a subflow that the client had opened: its limits do not allow one",
            [*rejected, *limit],
            "on the server: ip mptcp limits set subflows 2",
        )
    elif (
        server is None
        and client is not None
        and count(client, "MPJoinSynAckRx") >= count(client, "MPJoinSynTx") > 0
        and len(case.paths()) == 1
        and count(client, "MPJoinSynAckHMacFailure") == 0
        and count(client, "RmSubflow") == 0
        and not any(event.kind in ("SF_CLOSED", "SF_ESTABLISHED") for event in client.events)
        and count(client, "DuplicateData") <= 0
        and count(client, "SubflowStale") <= 0
        and count(client, "MPRstTx") > 0
        and count(client, "DataCsumErr") <= 0
        and count(client, "DSSCorruptionReset") <= 0
    ):
        yield Finding(
            "join-rejected",
            case.name,
            "a subflow was answered and then gone, as when the server's limits do not allow it",
            told(client, "MPJoinSynTx", "MPJoinSynAckRx", "MPRstTx"),
            "on the server: ip mptcp limits show; nstat -az | grep MPJoin",
            sure=False,
        )


def join_unknown(case: Case) -> Iterator[Finding]:
    """The server counted joins whose token it does not know."""
    server = case.server
    lines = told(server, "MPJoinNoTokenFound")
    if lacking(case) and lines and server is not None:
        yield Finding(
            "join-unknown",
            case.name,
            f"{server.name} got a SYN with MP_JOIN whose token it does not know",
            lines,
            "see whether a load balancer or a TCP proxy stands between: all subflows have to reach one host",
        )


def join_hmac(case: Case) -> Iterator[Finding]:
    """Either end counted a wrong HMAC."""
    for host in (case.client, case.server):
        lines = told(host, "MPJoinSynAckHMacFailure", "MPJoinAckHMacFailure")
        if lacking(case) and lines and host is not None:
            yield Finding("join-hmac", case.name, f"{host.name} got a join with a wrong HMAC", lines, CAPTURE)
