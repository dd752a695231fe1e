"""Profiles: TCP and Multipath TCP as one program at one date has them, by name.

A connection with `profile = "linux-3.0"` has the profile's values where it does not give its own. Each value is a key
that a scenario can also set by itself; a complete scenario has the values and not the name. `mptcplab list profiles`
shows all of them with their sources.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Switch:
    """A value that a profile gives."""

    key: str
    """As in a scenario file; `congestion.NAME.PARAMETER` or `scheduler.NAME.PARAMETER` holds where that algorithm is
    chosen."""
    value: Any
    source: str
    """The file and function at which it was read, or *assumed* with what it rests on."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One program."""

    name: str
    summary: str
    switches: tuple[Switch, ...]


_KERNEL_FORM: Final = tuple(
    Switch(f"congestion.{name}.variant", "linux", f"net/mptcp/mptcp_{module}.c, which counts in integers")
    for name, module in (("lia", "coupled"), ("olia", "olia"), ("balia", "balia"), ("wvegas", "wvegas"))
)
_ORP: Final = Switch(
    "scheduler.min-rtt.reinjection",
    "orp",
    "net/mptcp/mptcp_sched.c, mptcp_rcv_buf_optimization; Raiciu 2012 §4.2",
)


def _plain(timestamps: str, frto: str, receiver: str) -> tuple[Switch, ...]:
    """A simulator's TCP without what hosts added later, and where that was read."""
    return (
        Switch("tcp.timestamps", False, timestamps),
        Switch("tcp.frto", False, frto),
        Switch("tcp.nagle", False, "assumed: segments are always full"),
        Switch("tcp.quick_acks", 0, receiver),
    )


PROFILES: Final = (
    Profile(
        "linux-3.0",
        "Linux 3.0 of 2011, also with the Multipath TCP of that time",
        (
            Switch(
                "tcp.growth",
                "acks",
                "assumed: tcp_slow_start and tcp_cong_avoid_ai counted acknowledgments before Linux 3.13 (tcp_abc = 0)",
            ),
            Switch("tcp.loss_detection", "sack", "assumed: no tail loss probes before Linux 3.10, no RACK before 4.4"),
            Switch("tcp.rto_initial", "3 s", "include/net/tcp.h, TCP_TIMEOUT_INIT; 1 s since Linux 3.1"),
            Switch(
                "tcp.window_validation", "linux", "net/ipv4, tcp_cwnd_restart and tcp_reno_ssthresh: whole segments"
            ),
            *_KERNEL_FORM,
            _ORP,
        ),
    ),
    Profile(
        "mptcp-0.9x",
        "the Multipath TCP kernel 0.90 to 0.96 (Linux 3.18 to 5.4)",
        (
            Switch(
                "tcp.window_validation", "linux", "net/ipv4, tcp_cwnd_restart and tcp_reno_ssthresh: whole segments"
            ),
            *_KERNEL_FORM,
            Switch("congestion.cubic.variant", "linux", "net/ipv4/tcp_cubic.c"),
            _ORP,
            Switch(
                "scheduler.min-rtt.send_buffer",
                4.0,
                "tcp_wmem[2]; net/mptcp/mptcp_sched.c, __mptcp_next_segment: all of it is sent and more waits",
            ),
        ),
    ),
    Profile(
        "ns2-sack1",
        "ns-2's one-way agents TCP/Sack1 and TCPSink/Sack1",
        (
            Switch("mss", "1000 B", "tcl/lib/ns-default.tcl: packetSize_ 1000, behind tcpip_base_hdr_size_ 40"),
            Switch("tcp.loss_detection", "sack", "tcp/tcp-sack1.cc, Sack1TcpAgent"),
            Switch(
                "tcp.initial_window",
                2,
                "tcl/lib/ns-default.tcl: windowInit_ 2, from the acknowledgment of the SYN on (tcp/tcp.cc, "
                "TcpAgent::recv)",
            ),
            Switch("tcp.max_window", 20, "tcl/lib/ns-default.tcl: window_ 20"),
            Switch("tcp.initial_ssthresh", 20, "tcp/tcp.cc, TcpAgent::reset: window_"),
            Switch("tcp.segments_per_ack", 1, "tcp/tcp-sink.cc, TcpSink::recv, without DelAckSink"),
            Switch("tcp.growth", "acks", "tcp/tcp.cc, TcpAgent::opencwnd"),
            Switch("tcp.rto_min", "200 ms", "tcl/lib/ns-default.tcl: minrto_ 0.2"),
            Switch("tcp.rto_initial", "3 s", "tcl/lib/ns-default.tcl: rtxcur_init_ 3.0"),
            Switch("tcp.rto_max", "60 s", "tcl/lib/ns-default.tcl: maxrto_ 60"),
            *_plain(
                "tcl/lib/ns-default.tcl: timestamps_ false",
                "tcl/lib/ns-default.tcl: frto_enabled_ and sfrto_enabled_ 0",
                "tcp/tcp-sink.cc, TcpSink::recv: each packet",
            ),
        ),
    ),
    Profile(
        "ns3-mptcp",
        "mptcp-ns3, the Multipath TCP of ns-3.6 to ns-3.14",
        (
            Switch(
                "tcp.loss_detection",
                "newreno",
                "assumed: a receiver without SACK; the sender is modelled on TcpNewReno (mp-tcp-socket-base.cc)",
            ),
            Switch("tcp.initial_window", 1, "assumed: m_initialCWnd of ns-3 is 1; later copies have 10"),
            Switch(
                "tcp.max_window",
                46,
                "assumed: the receive window of 65,535 bytes that Dong 2018 prints, in segments of 1,400 bytes",
            ),
            Switch(
                "tcp.initial_ssthresh",
                46,
                "mp-tcp-subflow.cc, constructor: m_ssThresh(65535), in segments of 1,400 bytes (assumed)",
            ),
            *_plain("assumed: none then", "assumed: none", "assumed: acknowledges alike throughout"),
        ),
    ),
    Profile(
        "htsim",
        "the TCP of htsim, which data centres of Multipath TCP were simulated with",
        (
            Switch(
                "tcp.loss_detection",
                "newreno",
                "sim/tcp.cpp, TcpSrc::receivePacket: three duplicate acknowledgments, no SACK",
            ),
            Switch(
                "tcp.initial_window",
                1,
                "assumed: as in slow start after a timeout; the published copy has ten (sim/tcp.cpp, TcpSrc)",
            ),
            Switch("tcp.segments_per_ack", 1, "sim/tcp.cpp, TcpSink::receivePacket"),
            Switch("tcp.rto_min", "250 ms", "sim/tcp.cpp, TcpSrc::receivePacket: _rto"),
            Switch("tcp.rto_initial", "3 s", "sim/tcp.cpp, TcpSrc: _rto"),
            *_plain(
                "sim/tcp.cpp: the packet carries its time of sending, without bytes for it",
                "sim/tcp.cpp, TcpSrc::doNextEvent: none",
                "sim/tcp.cpp, TcpSink::receivePacket: each packet",
            ),
        ),
    ),
)

NAMES: Final = tuple(profile.name for profile in PROFILES)
_DEFAULTS: Final = {
    "congestion": {"mptcp": "lia", "tcp": "reno"},
    "scheduler": {"mptcp": "min-rtt"},
}
"""The algorithms of a connection that names none."""


def find(name: str) -> Profile | None:
    """The profile of this name."""
    return next((profile for profile in PROFILES if profile.name == name), None)


def expanded(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a connection or of traffic with the values of its profile, if it names one, in place of the name.

    >>> expanded({"profile": "htsim", "protocol": "tcp", "tcp": {"rto_min": "1 s"}})["tcp"]["rto_min"]
    '1 s'
    """
    profile = find(table["profile"]) if isinstance(table.get("profile"), str) else None
    if profile is None:
        return dict(table)
    full = {key: value for key, value in table.items() if key != "profile"}
    for switch in profile.switches:
        key, _, parameter = switch.key.partition(".")
        if not parameter:
            full.setdefault(key, switch.value)
        elif key in _DEFAULTS:
            name, _, parameter = parameter.rpartition(".")
            _choose(full, key, name, parameter, switch.value)
        elif isinstance(full.setdefault(key, {}), Mapping):
            full[key] = {parameter: switch.value, **full[key]}
    return full


def _choose(table: dict[str, Any], key: str, name: str, parameter: str, value: object) -> None:
    """Give the algorithm under `key` the parameter, if it is that one and does not have it."""
    usual = _DEFAULTS[key].get(table.get("protocol", "mptcp"))
    chosen = table.get(key, usual)
    given = {"name": chosen} if isinstance(chosen, str) else chosen
    if isinstance(given, Mapping) and given.get("name") == name:
        table[key] = {parameter: value, **given}
