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


@dataclass(frozen=True, slots=True)
class Profile:
    """One program."""

    name: str
    summary: str
    switches: tuple[Switch, ...]


_KERNEL_FORM: Final = tuple(
    Switch(f"congestion.{name}.variant", "linux", f"mptcp_{module}.c, which counts in integers")
    for name, module in (("lia", "coupled"), ("olia", "olia"), ("balia", "balia"), ("wvegas", "wvegas"))
)
_ORP: Final = Switch(
    "scheduler.min-rtt.reinjection", "orp", "mptcp_rcv_buf_optimization of its scheduler “default” (Raiciu 2012 §4.2)"
)
_EVERY_SEGMENT: Final = (
    Switch("tcp.timestamps", False, "no TCP options"),
    Switch("tcp.frto", False, "no F-RTO"),
    Switch("tcp.nagle", False, "segments are always full"),
    Switch("tcp.quick_acks", 0, "the receiver acknowledges alike from the first segment to the last"),
)

PROFILES: Final = (
    Profile(
        "linux-3.0",
        "Linux 3.0 of 2011, also with the Multipath TCP of that time",
        (
            Switch("tcp.growth", "acks", "tcp_cong_avoid_ai and tcp_slow_start count acknowledgments (tcp_abc = 0)"),
            Switch("tcp.loss_detection", "sack", "no tail loss probes before Linux 3.10, no RACK before 4.4"),
            Switch("tcp.rto_initial", "3 s", "TCP_TIMEOUT_INIT; 1 s since Linux 3.1"),
            Switch("tcp.window_validation", "linux", "tcp_cwnd_restart and tcp_reno_ssthresh: whole segments"),
            *_KERNEL_FORM,
            _ORP,
        ),
    ),
    Profile(
        "mptcp-0.9x",
        "the Multipath TCP kernel 0.90 to 0.96 (Linux 3.18 to 5.4)",
        (
            Switch("tcp.window_validation", "linux", "tcp_cwnd_restart and tcp_reno_ssthresh: whole segments"),
            *_KERNEL_FORM,
            Switch("congestion.cubic.variant", "linux", "tcp_cubic.c"),
            _ORP,
            Switch(
                "scheduler.min-rtt.send_buffer",
                4.0,
                "tcp_wmem[2]: with all of it sent, the oldest segment is sent again; the kernel also counts overheads",
            ),
        ),
    ),
    Profile(
        "ns2-sack1",
        "ns-2's one-way agents TCP/Sack1 and TCPSink/Sack1",
        (
            Switch("mss", "1000 B", "packetSize_ = 1000, behind 40 bytes of headers (tcpip_base_hdr_size_)"),
            Switch("tcp.loss_detection", "sack", "Agent/TCP/Sack1"),
            Switch("tcp.initial_window", 2, "windowInit_ = 2"),
            Switch("tcp.max_window", 20, "window_ = 20"),
            Switch("tcp.initial_ssthresh", 20, "TcpAgent::reset takes window_"),
            Switch("tcp.segments_per_ack", 1, "a sink without delayed acknowledgments"),
            Switch("tcp.growth", "acks", "TcpAgent::opencwnd counts acknowledgments"),
            Switch("tcp.rto_min", "200 ms", "minrto_ = 0.2"),
            Switch("tcp.rto_initial", "3 s", "rtxcur_init_ = 3.0"),
            *_EVERY_SEGMENT,
        ),
    ),
    Profile(
        "ns3-mptcp",
        "mptcp-ns3, the Multipath TCP of ns-3.6 to ns-3.14",
        (
            Switch("tcp.loss_detection", "newreno", "no selective acknowledgments"),
            Switch("tcp.initial_window", 1, "one segment"),
            Switch("tcp.max_window", 46, "a receive window of 65,535 bytes for each subflow, of 1,400 bytes a segment"),
            Switch("tcp.initial_ssthresh", 46, "65,535 bytes in the constructor"),
            *_EVERY_SEGMENT,
        ),
    ),
    Profile(
        "htsim",
        "the TCP of htsim, which data centres of Multipath TCP were simulated with",
        (
            Switch("tcp.loss_detection", "newreno", "tcp.cpp: three duplicate acknowledgments, no SACK"),
            Switch("tcp.initial_window", 1, "TcpSrc::startflow: one segment; ten in later copies"),
            Switch("tcp.segments_per_ack", 1, "TcpSink acknowledges every packet"),
            Switch("tcp.rto_min", "250 ms", "tcp.cpp: not below 250 ms"),
            Switch("tcp.rto_initial", "3 s", "tcp.cpp: 3 s before the first measurement"),
            *_EVERY_SEGMENT,
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
