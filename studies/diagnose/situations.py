"""What goes wrong with Multipath TCP, each made for real; and what is healthy."""

from dataclasses import replace
from typing import Final

from studies.diagnose.network import Situation

_LIMITS: Final = "ip mptcp limits set subflows 2 add_addr_accepted 2"
_ENDPOINT: Final = "ip mptcp endpoint add 10.0.1.1 dev path1 id 1 subflow"


def _link(rate_mbps: float, delay_ms: float, queue: str = "50 ms", more: str = "") -> str:
    return f'rate = "{rate_mbps:g} Mbit/s"\ndelay = "{delay_ms:g} ms"\nqueue = "{queue}"\n{more}'


def _box(box: str) -> str:
    return _link(10, 10, more=f"middleboxes = [{box}]")


def _down(link: str) -> str:
    return f'[[event]]\nat = "2 s"\nlink = "{link}"\nset = {{ down = true }}'


_LONG: Final = _link(40, 40)

WRONG: Final = (
    # One path only: what the hosts are told.
    Situation("limit-zero", "limit-subflows", client=("ip mptcp limits set subflows 0", _ENDPOINT)),
    Situation("limit-zero-at-the-server", "join-rejected", server=("ip mptcp limits set subflows 0",)),
    Situation("no-endpoint", "no-endpoint", client=(_LIMITS,)),
    Situation("endpoint-only-signal", "no-endpoint", client=(_LIMITS, _ENDPOINT.replace("subflow", "signal"))),
    Situation(
        "add-addr-not-accepted",
        "add-addr-not-accepted",
        client=("ip mptcp limits set subflows 2 add_addr_accepted 0",),
        server=("ip mptcp limits set subflows 2", "ip mptcp endpoint add 10.0.254.1 dev net0 signal"),
    ),
    Situation("backup-endpoint", "backup", client=(_LIMITS, f"{_ENDPOINT} backup")),
    Situation("backup-by-priority", "backup", during=(("client", "ip mptcp endpoint change id 1 backup"),)),
    Situation("endpoint-removed", "no-endpoint", during=(("client", "ip mptcp endpoint delete id 1"),)),
    Situation("interface-down", "interface-down", client=(_LIMITS, _ENDPOINT, "ip link set path1 down")),
    Situation("endpoint-removed-now", "address-removed", late=(("client", "ip mptcp endpoint delete id 1"),)),
    Situation(
        "endpoint-without-address", "endpoint-address", client=(_LIMITS, "ip mptcp endpoint add 10.0.9.9 id 1 subflow")
    ),
    Situation("c-flag", "c-flag", server_sysctl={"net/mptcp/allow_join_initial_addr_port": 0}),
    Situation(
        "wrong-route",
        "wrong-route",
        client=(
            _LIMITS,
            "ip rule del from 10.0.1.1",
            "ip mptcp endpoint add 10.0.1.1 id 1 subflow",
        ),
    ),
    Situation(
        "no-route",
        "no-route",
        client=(
            _LIMITS,
            "ip rule add from 10.0.1.1 lookup 77 priority 100",
            "ip route add unreachable 10.0.255.1/32 table 77",
            "ip mptcp endpoint add 10.0.1.1 id 1 subflow",
        ),
    ),
    # One path only, or TCP: what the network does.
    Situation("join-unanswered", "join-unanswered", second=_box('"syn-filter"')),
    Situation(
        "join-refused",
        "join-refused",
        client=(_LIMITS,),
        server=("ip mptcp limits set subflows 2", "ip mptcp endpoint add 10.0.254.1 dev net0 signal"),
    ),
    Situation("join-stripped", "join-stripped", second=_box('{ kind = "strip", on = "syn" }')),
    Situation("second-path-dead", "path-dead", events=_down("second")),
    Situation("first-path-dead", "path-dead", events=_down("first")),
    Situation("captive-path", "path-dead", second=_box('"captive"')),
    Situation("reset-by-a-box", "reset", second=_box('{ kind = "reset-injection", after = "100 kB" }')),
    Situation("nat-forgets", "nat-rebinding", rebinds=True, up=True),
    # If the client sends anything later, it learns of it.
    Situation("nat-forgets-while-receiving", "path-dead", "nat-rebinding", rebinds=True),
    Situation(
        "checksum",
        "checksum",
        second=_box('{ kind = "payload-rewriting", direction = "down", at = "200 kB", growth = "0 B" }'),
        client_sysctl={"net/mptcp/checksum_enabled": 1},
        server_sysctl={"net/mptcp/checksum_enabled": 1},
    ),
    Situation("data-stripped", "mapping-lost", second=_box('{ kind = "strip", on = "data", direction = "down" }')),
    Situation("first-data-stripped", "mapping-lost", first=_box('{ kind = "strip", on = "data" }')),
    Situation("options-stripped", "options-stripped", first=_box('{ kind = "strip", on = "syn" }')),
    Situation(
        "options-stripped-upwards", "options-stripped", first=_box('{ kind = "strip", on = "syn", direction = "up" }')
    ),
    Situation("syn-blocked", "syn-blocked", first=_box('"syn-filter"'), warm_s=6),
    Situation("blackhole", "syn-blocked", first=_box('"syn-filter"'), warm_s=8, receiver={"twice": True}),
    # TCP: what programs do.
    Situation("server-without-mptcp", "peer-without-mptcp", protocols=("mptcp", "tcp")),
    Situation("client-without-mptcp", "tcp-only", protocols=("tcp", "mptcp")),
    Situation("mptcp-switched-off", "mptcp-disabled", client_sysctl={"net/mptcp/enabled": 0}),
    # What limits the rate.
    Situation(
        "small-rmem",
        "receive-window",
        first=_LONG,
        second=_LONG,
        client_sysctl={"net/ipv4/tcp_rmem": "4096 65536 131072"},
    ),
    Situation("small-receive-buffer", "receive-window", first=_LONG, second=_LONG, receiver={"buffer_bytes": 65536}),
    Situation("small-send-buffer", "send-buffer", first=_LONG, second=_LONG, sender={"buffer_bytes": 65536}),
    Situation(
        "small-wmem", "send-buffer", first=_LONG, second=_LONG, server_sysctl={"net/ipv4/tcp_wmem": "4096 16384 131072"}
    ),
    Situation(
        "loss-on-both", "loss", first=_link(40, 15, more='loss = "3 %"'), second=_link(40, 15, more='loss = "3 %"')
    ),
    Situation("loss-on-one", "loss", second=_link(40, 15, more='loss = "2 %"')),
    Situation("slow-writer", "application", sender={"rate_bps": 2_000_000}),
    Situation("slow-reader", "application-reads", receiver={"rate_bps": 2_000_000}),
    Situation("busy-sender", "cpu", first=_link(100, 5), second=_link(100, 5), sender={"compute": True}),
    Situation("busy-receiver", "cpu", first=_link(100, 5), second=_link(100, 5), receiver={"compute": True}),
    Situation(
        "slow-path-holds-the-window",
        "head-of-line",
        first=_link(40, 5),
        second=_link(1, 150, "2 s"),
        client_sysctl={"net/ipv4/tcp_rmem": "4096 131072 400000"},
        warm_s=6,
    ),
    Situation(
        "slow-path-holds-the-send-buffer",
        "starved",
        first=_link(40, 5),
        second=_link(1, 150, "2 s"),
        sender={"buffer_bytes": 200_000},
        warm_s=6,
    ),
)

HEALTHY: Final = (
    Situation("two-equal-paths", None),
    Situation("upload", None, up=True),
    Situation("unequal-paths", None, first=_link(25, 12, "100 ms"), second=_link(15, 32, "100 ms")),
    Situation("short-queues", None, first=_link(20, 10, "10 ms"), second=_link(20, 10, "10 ms"), congestion="reno"),
    Situation("long-queues", None, first=_link(8, 10, "300 ms"), second=_link(8, 10, "300 ms"), warm_s=5),
    Situation("behind-a-nat", None, first=_box('"nat"'), second=_box('"nat"')),
    Situation(
        "checksums",
        None,
        client_sysctl={"net/mptcp/checksum_enabled": 1},
        server_sysctl={"net/mptcp/checksum_enabled": 1},
    ),
    Situation("fullmesh", None, client=(_LIMITS, f"{_ENDPOINT} fullmesh")),
    Situation(
        "second-address-accepted",
        None,
        client=(_LIMITS,),
        server=("ip mptcp limits set subflows 2", "ip mptcp endpoint add 10.0.254.1 dev net0 signal"),
        sender={"everywhere": True},
    ),
    Situation("little-loss", None, first=_link(10, 10, more='loss = "0.01 %"')),
    Situation("sequence-numbers-rewritten", None, second=_box('"sequence-rewriting"')),
    Situation("video-call", None, sender={"rate_bps": 1_500_000}, up=True),
)
"""In these nothing may be found wrong; what limits them is their links, or what the program has to send."""

ALL: Final = (*WRONG, *(replace(each, name=f"healthy-{each.name}") for each in HEALTHY))
