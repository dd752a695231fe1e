"""Logs of OpenMPTCProuter (logread), of mptcpd and of the kernel (journalctl, dmesg): the lines on Multipath TCP."""

import re
from typing import Final

from mptcplab.diagnose.facts import Host, Line, LogEntry
from mptcplab.diagnose.readers.context import Context

# logread: "Fri Feb 22 12:00:37 2019 user.notice omr-tracker: …"; journalctl: "Feb 22 12:00:37 host mptcpd[12]: …".
_SYSLOG: Final = re.compile(
    r"(?:\w{3} )?\w{3} [ \d]\d (?:\d\d:\d\d:\d\d )?(?:\d{4} )?(?:[a-z]{2,9}\d?\.[a-z]{2,7} |[\w.-]{1,64} )?"
    r"(?P<program>[\w./-]{1,64})(?:\[\d{1,8}\])?: (?P<message>.{1,2000})"
)
_OWN: Final = re.compile(
    r"(?P<program>mptcpd|omr-tracker|post-tracking|mptcp|MPTCP)(?:\[\d{1,8}\])?: (?P<message>.{1,2000})"
)

KINDS: Final = (
    ("path-down", ("switched off", "link is down", "link connectivity loss")),
    ("path-up", ("link is up", "has link connectivity")),
    (
        "mptcp-off",
        (
            "MPTCP is not enabled in the kernel",
            "kernel MPTCP support not available",
            "MPTCP generic netlink family has not",
        ),
    ),
)
"""What a message says, by words in it: of omr-tracker and netifd (OpenMPTCProuter), and of mptcpd."""
_DEVICE: Final = re.compile(r"\((?P<a>[\w.@-]{1,15})\) switched|device '(?P<b>[\w.@-]{1,15})' link")
_MAX: Final = 20_000


def read(line: Line, host: Host, context: Context) -> bool:  # noqa: ARG001 - all readers are called alike
    """Whether the line is of a log."""
    found = _SYSLOG.match(line.text) or _OWN.match(line.text)
    if found is None:
        return False
    message = found["message"]
    kind = next((kind for kind, signs in KINDS if any(sign in message for sign in signs)), "other")
    if len(host.logs) < _MAX:
        device = _DEVICE.search(message[:500])
        host.logs.append(LogEntry(line, found["program"], kind, (device["a"] or device["b"]) if device else ""))
    return True
