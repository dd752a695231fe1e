"""Rules on what is written by hand: numbers that can be checked, causes that are hard to make, what is not known."""

from collections.abc import Sequence

import pytest
from mptcplab.diagnose.connections import connections
from mptcplab.diagnose.diagnosis import Diagnosis, of_reading
from mptcplab.diagnose.facts import Host, Reading
from mptcplab.diagnose.reading import merged, read_text
from mptcplab.diagnose.rules.routing import UnknownError, lookup, owner
from mptcplab.diagnose.rules.sending import look


def diagnosed(*texts: str) -> Diagnosis:
    reading = Reading([])
    found = [(f"{n}", host) for n, each in enumerate(texts) for host in read_text(each.encode(), f"{n}", reading)]
    reading.hosts = merged(found, reading)
    assert reading.unread == []
    return of_reading(reading)


def causes(found: Diagnosis) -> list[str]:
    return [each.cause for each in found.findings]


def sender(*paths: tuple[int, int, int, float], window: int, outstanding: int, buffer: tuple[int, int]) -> str:
    """A sender: subflows of (cwnd, unacked, bytes bound, RTT), segments of 1000 B, `buffer` of (used, size)."""
    lines = ["Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port"]
    for number, (cwnd, unacked, bound, rtt) in enumerate(paths):
        lines += [
            f"tcp ESTAB 0 {bound} 10.0.{number}.1:1 10.9.9.9:2",
            f"\t cubic mss:1000 cwnd:{cwnd} unacked:{unacked} rtt:{rtt}/1 minrtt:5 bytes_sent:999999 bytes_acked:90000 "
            f"notsent:{max(0, bound - 1000 * unacked)} snd_wnd:{window} tcp-ulp-mptcp "
            f"flags:{'J' if number else 'Mm'}ec token:{'a' if number else '0'}(id:0)/b(id:{number})",
        ]
    lines += [
        "mptcp ESTAB 0 0 10.0.0.1:1 10.9.9.9:2",
        f"\t skmem:(r0,rb1,t0,tb{buffer[1]},f0,w{buffer[0]},o0,bl0,d0) token:b write_seq:{outstanding:x} snd_una:0",
    ]
    return "\n".join(lines) + "\n"


# Two paths with windows of 100 segments each.
@pytest.mark.parametrize(
    ("paths", "window", "outstanding", "buffer", "verdict"),
    [
        # 75 of 100 segments in flight on both: full.
        (((100, 75, 90_000, 10), (100, 75, 90_000, 10)), 10**6, 500_000, (9, 10), "network"),
        # One has room, 200 kB wait, and they are the whole window.
        (((100, 75, 75_000, 10), (100, 20, 20_000, 10)), 200_000, 200_000, (1, 10), "window"),
        # As much waits, the window is three times that, and the buffer is full.
        (((100, 75, 75_000, 10), (100, 20, 20_000, 10)), 600_000, 200_000, (9, 10), "buffer"),
        # Nothing waits beyond what is bound, the buffer has room.
        (((100, 20, 20_000, 10), (100, 20, 20_000, 10)), 600_000, 40_000, (1, 10), "program"),
        # Nothing waits beyond what is bound because the buffer takes no more.
        (((100, 20, 20_000, 10), (100, 20, 20_000, 10)), 600_000, 40_000, (6, 10), "buffer"),
        # 100 kB of what is acknowledged is not yet at the data level: under way, less than both windows take.
        (((100, 20, 20_000, 10), (100, 20, 20_000, 10)), 600_000, 140_000, (1, 10), "program"),
        # 300 kB are more than that: something else holds them.
        (((100, 20, 20_000, 10), (100, 20, 20_000, 10)), 600_000, 340_000, (1, 10), ""),
    ],
)
def test_one_look_at_a_sender(
    paths: Sequence[tuple[int, int, int, float]], window: int, outstanding: int, buffer: tuple[int, int], verdict: str
) -> None:
    (host,) = read_text(
        sender(*paths, window=window, outstanding=outstanding, buffer=buffer).encode(), "x", Reading([])
    )
    (connection,) = connections([host])
    view = connection.views[0]
    assert look([(flow, flow.last) for flow in view.flows], view.looks[0]).verdict == verdict


def test_who_holds_up_whom() -> None:
    """RTTs of 10 and 100 ms, the slow one with the data, the window full: the slow one by name. At 20 ms: nobody."""
    for rtt, cause in ((100, "head-of-line"), (20, "receive-window")):
        text = sender((100, 0, 0, 10), (100, 60, 60_000, rtt), window=200_000, outstanding=250_000, buffer=(1, 10))
        (finding,) = [each for each in diagnosed(text).findings if each.cause == cause]
        assert ("10.0.1.1:1 → 10.9.9.9:2 (RTT 100 ms) makes the other path (RTT 10 ms) wait" in finding.says) == (
            rtt == 100
        )


def test_a_window_that_ss_does_not_print_is_only_likely() -> None:
    text = sender((100, 0, 0, 10), window=1, outstanding=250_000, buffer=(1, 10)).replace("snd_wnd:1 ", "")
    (finding,) = [each for each in diagnosed(text).findings if each.cause == "receive-window"]
    assert not finding.sure


CLIENT = (
    "tcp ESTAB 0 0 10.0.0.1:1 10.9.9.9:2\n\t cubic cwnd:10 tcp-ulp-mptcp flags:Mmec token:0(id:0)/b(id:0)\n"
    "mptcp ESTAB 0 0 10.0.0.1:1 10.9.9.9:2\n\t subflows_max:2 remote_key token:b write_seq:1 snd_una:1\n"
    "# ip mptcp limits\nadd_addr_accepted 0 subflows 2\n# ip mptcp endpoint\n10.0.1.1 id 1 subflow dev eth1\n"
)


@pytest.mark.parametrize(
    ("client", "server", "cause"),
    [
        ("[ESTABLISHED] token=b remid=0 locid=0 deny_join_id0\n", "", "c-flag"),
        ("[SF_CLOSED] token=b locid=1 error=104 reset_reason=3\n", "", "reset"),
        ("MPTcpExtMPJoinSynTx 1 0\nMPTcpExtMPJoinSynAckHMacFailure 1 0\n", "", "join-hmac"),
        ("MPTcpExtMPJoinSynTx 1 0\n", "MPTcpExtMPJoinNoTokenFound 1 0\n", "join-unknown"),
        ("MPTcpExtMPJoinSynTxConnectErr 1 0\n", "", "no-route"),
        ("MPTcpExtMPJoinSynTxBindErr 1 0\n", "", "endpoint-address"),
        ("MPTcpExtMPCapableSYNTX 1 0\nMPTcpExtMPJoinSynTx 0 0\n", "", "one-path"),
    ],
)
def test_causes_by_a_line(client: str, server: str, cause: str) -> None:
    other = (
        "tcp ESTAB 0 0 10.9.9.9:2 10.0.0.1:1\n\t cubic cwnd:10 tcp-ulp-mptcp flags:Mec token:0(id:0)/c(id:0)\n" + server
        if server
        else ""
    )
    found = diagnosed(*filter(None, (CLIENT + client, other)))
    assert causes(found) == [cause]
    assert found.findings[0].next


def test_a_reset_is_told_with_its_reason() -> None:
    found = diagnosed(CLIENT + "[SF_CLOSED] token=b locid=1 error=104 reset_reason=3\n")
    assert "administratively prohibited" in found.findings[0].says


def test_counters_alone_name_a_cause_of_the_host() -> None:
    """As people paste them first: a router whose SYNs with MP_CAPABLE are nearly all dropped."""
    found = diagnosed(
        "root@router:~# nstat -asz | grep MPTcpExt\nMPTcpExtMPCapableSYNTX 4002 0.0\nMPTcpExtMPCapableSYNACKRX 8 0.0\n"
        "MPTcpExtMPCapableSYNTXDrop 3926 0.0\nMPTcpExtMPJoinSynAckRx 5 0.0\nMPTcpExtMPJoinSynTx 5 0.0\n"
    )
    assert causes(found) == ["syn-blocked"]
    assert found.findings[0].connection is None


def test_settings_alone() -> None:
    assert causes(diagnosed("net.mptcp.enabled = 0\n")) == ["mptcp-disabled"]
    assert causes(diagnosed("add_addr_accepted 0 subflows 0\n")) == ["limit-subflows"]
    assert causes(diagnosed("net.mptcp.enabled = 1\nadd_addr_accepted 0 subflows 2\n")) == []


def test_logs_alone() -> None:
    off = "Fri Feb 22 12:00:37 2019 user.notice post-tracking-post-tracking: wan2 (eth2) switched off because error\n"
    up = "Fri Feb 22 12:01:37 2019 daemon.notice netifd: Network device 'eth2' link is up\n"
    assert causes(diagnosed(off)) == ["interface-down"]
    assert causes(diagnosed(off + up)) == []
    assert causes(diagnosed("mptcpd: MPTCP is not enabled in the kernel.\n")) == ["mptcp-disabled"]


def test_the_kernel_of_multipath_tcp_org_is_told_apart() -> None:
    found = diagnosed("net.mptcp.mptcp_enabled = 1\n")
    assert any("multipath-tcp.org" in note for note in found.reading.notes)


def routed(text: str) -> Host:
    (host,) = read_text(text.encode(), "x", Reading([]))
    return host


TABLES = (
    "# ip route show table all\ndefault via 192.168.1.1 dev eth0 metric 100\n"
    "default via 192.168.2.1 dev wlan0 metric 600\n"
    "10.0.0.0/8 dev tun0\n10.1.0.0/16 via 192.168.2.1 dev wlan0\ndefault via 192.168.2.1 dev wlan0 table 42\n"
    "unreachable default table 43\nthrow 10.0.0.0/8 table 44\n"
    "local 192.168.1.7 dev eth0 table local\nlocal 192.168.2.7 dev wlan0 table local\n"
    "# ip rule\n0: from all lookup local\n100: from 192.168.2.7 lookup 42\n101: from 192.168.3.0/24 lookup 43\n"
    "102: from 192.168.4.1 lookup 44\n103: from 192.168.5.1 fwmark 0x1 lookup 42\n32766: from all lookup main\n"
)


@pytest.mark.parametrize(
    ("source", "destination", "device"),
    [
        ("192.168.1.7", "8.8.8.8", "eth0"),  # the least metric
        ("192.168.2.7", "8.8.8.8", "wlan0"),  # its own table
        ("192.168.1.7", "10.2.0.1", "tun0"),  # the longer prefix
        ("192.168.1.7", "10.1.0.1", "wlan0"),  # the longest
        ("192.168.3.9", "8.8.8.8", None),  # unreachable
        ("192.168.4.1", "10.2.0.1", "tun0"),  # throw: on to the next table
    ],
)
def test_routes_are_looked_up_as_the_kernel_does(source: str, destination: str, device: str | None) -> None:
    route, lines = lookup(routed(TABLES), source, destination)
    assert (None if route is None else route.device) == device
    assert lines


def test_a_rule_with_a_mark_cannot_be_told() -> None:
    with pytest.raises(UnknownError):
        lookup(routed(TABLES), "192.168.5.1", "8.8.8.8")


def test_a_table_that_was_not_shown_cannot_be_told() -> None:
    host = routed(
        "default via 1.1.1.1 dev eth0\n0: from all lookup local\n9: from 2.2.2.2 lookup 7\n99: from all lookup main\n"
    )
    with pytest.raises(UnknownError):
        lookup(host, "2.2.2.2", "8.8.8.8")
    assert owner(host, "2.2.2.2") == ""


def test_an_unanswered_first_syn_is_no_join() -> None:
    """Linux 6.1 goes on sending it with MP_CAPABLE."""
    found = diagnosed(
        "# ss -ntMiem\n"
        "tcp   SYN-SENT 0      1           10.0.0.1:56378   10.0.255.1:5001 timer:(on,794ms,2) ino:10310 sk:1d <->\n"
        "\t cubic rto:4000 backoff:2 mss:524 cwnd:1 segs_out:3 unacked:1 retrans:1/2 lost:1 tcp-ulp-mptcp flags:m "
        "token:0000(id:0)/8c31761c(id:0) seq:0 sfseq:0 ssnoff:0 maplen:0\n"
        "mptcp SYN-SENT 0      0           10.0.0.1:56378   10.0.255.1:5001 ino:10310 sk:1e <->\n"
        "\t skmem:(r0,rb131072,t0,tb16384,f2816,w1280,o0,bl0,d0) token:8c31761c write_seq:0 snd_una:0 rcv_nxt:0\n"
    )
    assert causes(found) == ["syn-blocked"]
    assert not found.findings[0].sure
