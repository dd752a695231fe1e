"""The causes that can be named: what each means, whether it is a fault, and where the meaning comes from.

The rule of a cause is the function of its name in `rules`, `no_endpoint` for `no-endpoint`; only captures tell
`receiver-stuck` (`captures`).
"""

from dataclasses import dataclass
from typing import Final

_MIB: Final = "counters of net/mptcp/mib.c"
_SYSCTL: Final = "Documentation/networking/mptcp-sysctl.rst"


@dataclass(frozen=True)
class Cause:
    """One cause."""

    name: str
    means: str
    source: str
    """Of what the evidence means: kernel counters, RFC 8684, manual pages."""
    fault: bool = True
    """Whether something is wrong; otherwise it is what any transfer is limited by."""


CAUSES: Final = {
    cause.name: cause
    for cause in (
        # TCP instead of Multipath TCP
        Cause(
            "tcp-only", "the program asked for TCP", "the kernel speaks Multipath TCP only on sockets of IPPROTO_MPTCP"
        ),
        Cause("mptcp-disabled", "Multipath TCP is switched off on this host", f"{_SYSCTL}: enabled"),
        Cause(
            "peer-without-mptcp",
            "the server answered the SYN with MP_CAPABLE without the option",
            f"{_MIB}: MPCapableFallbackSYNACK; RFC 8684 section 3.7",
        ),
        Cause(
            "options-stripped",
            "a box on the way removes Multipath TCP's options from the handshake",
            f"{_MIB}: MPCapableFallbackSYNACK, MPCapableFallbackACK; RFC 8684 section 3.7",
        ),
        Cause(
            "syn-blocked",
            "SYNs with MP_CAPABLE get no answer and SYNs without it do: something on the way drops them",
            f"{_MIB}: MPCapableSYNTXDrop, MPCapableSYNTXDisabled, Blackhole; {_SYSCTL}: blackhole_timeout",
        ),
        Cause("checksum", "the payload was changed on the way", f"{_MIB}: DataCsumErr, MPFailTx; RFC 8684 section 3.7"),
        Cause(
            "mapping-lost",
            "data arrived without Multipath TCP's options: a box on the way removes them",
            f"{_MIB}: DSSCorruptionReset, DSSNoMatchTCP, InfiniteMapTx, MPCapableDataFallback; RFC 8684 section 3.7",
        ),
        # One path only
        Cause("limit-subflows", "the limit of further subflows is 0", "ip-mptcp(8): limits"),
        Cause("no-endpoint", "the client has no endpoint to join from", "ip-mptcp(8): endpoint, flag subflow"),
        Cause(
            "address-removed",
            "the address of a path was withdrawn, and its subflow closed",
            f"{_MIB}: RmAddr, RmAddrTx, RmSubflow; RFC 8684 section 3.4.2",
        ),
        Cause(
            "interface-down",
            "the interface of a path is down",
            "ip-link(8): UP; logs of omr-tracker and netifd: switched off, link is down",
        ),
        Cause("endpoint-address", "an endpoint's address is on no interface", f"{_MIB}: MPJoinSynTxBindErr"),
        Cause(
            "add-addr-not-accepted",
            "the server announced an address, which the client is not allowed to use",
            f"{_MIB}: AddAddr; ip-mptcp(8): add_addr_accepted",
        ),
        Cause(
            "c-flag",
            "the server does not want joins to the address of the first subflow (flag C of MP_CAPABLE)",
            f"RFC 8684 section 3.1; {_SYSCTL}: allow_join_initial_addr_port",
        ),
        Cause("join-unanswered", "the SYN with MP_JOIN was not answered", f"{_MIB}: MPJoinSynTx, MPJoinSynAckRx"),
        Cause(
            "join-stripped",
            "the SYN with MP_JOIN was answered without the option: a box on the way removes it",
            f"{_MIB}: MPJoinSynTx, MPJoinSynAckRx, MPRstTx; RFC 8684 section 3.2",
        ),
        Cause(
            "join-rejected",
            "the server refuses further subflows",
            f"{_MIB}: MPJoinRejected, MPJoinSynRx, MPJoinAckRx; ip-mptcp(8): limits",
        ),
        Cause(
            "join-unknown",
            "joins reach a server that does not have the connection: a load balancer, or a proxy in between",
            f"{_MIB}: MPJoinNoTokenFound",
        ),
        Cause(
            "join-hmac",
            "a join failed its authentication: another host answered",
            f"{_MIB}: MPJoinSynAckHMacFailure, MPJoinAckHMacFailure",
        ),
        Cause(
            "join-refused",
            "the SYN with MP_JOIN was answered with a reset",
            f"{_MIB}: MPJoinSynTx, MPJoinSynAckRx; RFC 9293 section 3.10.7.1: a reset where nobody listens",
        ),
        Cause("no-route", "there is no route for the path", f"{_MIB}: MPJoinSynTxConnectErr; ip-route(8)"),
        Cause(
            "wrong-route",
            "packets from the path's address leave by another interface",
            "ip-rule(8): rules in the order of their priority; ip-route(8): the longest prefix, then the least metric",
        ),
        Cause("backup", "the path is a backup, and carries data only when no other works", "RFC 8684 section 3.3.8"),
        Cause("path-dead", "the path carries nothing any more", f"ss(8): backoff, unacked; {_MIB}: SubflowStale"),
        Cause("reset", "a subflow was reset from outside", "RFC 8684 section 3.6; ip-mptcp(8): monitor, reset_reason"),
        Cause("one-path", "there is one path only, and the outputs do not tell why", "ss(8): subflows", fault=False),
        Cause(
            "nat-rebinding",
            "the server still has a subflow that the client's end was reset: a NAT in between gave it another address",
            "RFC 5382 section 5, RFC 9293 section 3.5.1: a half-open connection",
        ),
        # What limits the rate
        Cause("rate-unknown", "the outputs do not tell what limits the rate", "ss(8)", fault=False),
        Cause(
            "link", "the paths are full", "ss(8): the congestion window is full, the RTT above its least", fault=False
        ),
        Cause(
            "window-growing",
            "the congestion window still grows",
            "ss(8): cwnd is full without loss or queue",
            fault=False,
        ),
        Cause("application", "the program does not send more", "ss(8): app_limited, nothing waits", fault=False),
        Cause("loss", "packets are lost without a queue that would explain it", "ss(8): bytes_retrans, minrtt"),
        Cause(
            "receive-window",
            "the receiver's buffer is too small for the paths",
            "ss(8): snd_wnd, rwnd_limited; tcp(7): tcp_rmem, SO_RCVBUF",
        ),
        Cause(
            "send-buffer",
            "the sender's buffer is too small for the paths",
            "ss(8): skmem t and tb, sndbuf_limited; tcp(7): tcp_wmem, SO_SNDBUF",
        ),
        Cause(
            "receiver-stuck",
            "the receiver acknowledges data on its subflows and does not take them: its DATA_ACK stands still",
            "RFC 8684 section 3.3.1: DATA_ACK; net/mptcp/protocol.c of 6.12, mptcp_data_ready: nothing is taken while "
            "memory exceeds sk_rcvbuf, and out-of-order data count",
        ),
        Cause("application-reads", "the receiving program reads slowly", "ss(8): Recv-Q of the MPTCP socket, snd_wnd"),
        Cause("cpu", "a program at the end of the connection takes all of a CPU", "/proc/PID/schedstat"),
        Cause(
            "head-of-line",
            "data on a slow path fills the receive window, and a faster path has to wait",
            "ss(8): write_seq, snd_una and snd_wnd against unacked and cwnd of each subflow",
        ),
        Cause(
            "starved",
            "data bound to a slow path fills the send buffer, and a faster path gets none",
            "ss(8): skmem of the MPTCP socket against notsent, unacked and cwnd of each subflow",
        ),
    )
}
"""All of them, by name."""

RESET_REASONS: Final = {
    "0": "unspecified",
    "1": "error specific to Multipath TCP",
    "2": "lack of resources",
    "3": "administratively prohibited",
    "4": "too much outstanding data",
    "5": "unacceptable performance",
    "6": "middlebox interference",
}
"""Of MP_TCPRST (RFC 8684 section 3.6)."""
