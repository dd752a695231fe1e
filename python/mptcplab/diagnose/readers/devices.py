"""`ip -s link` and `tc -s qdisc`."""

from typing import Final

from mptcplab.diagnose.facts import Device, Host, Line
from mptcplab.diagnose.readers.context import Context
from mptcplab.diagnose.text import number

_COLUMNS: Final = ("bytes", "packets", "errors", "dropped")
_MAX: Final = 5000
_NOISE: Final = ("link/", "altname ", "alias ", "inet ", "inet6 ", "valid_lft ", "RX errors:", "TX errors:")

_DETAILS: Final = ("qlen", "addrgenmode", "numtxqueues", "promiscuity")
"""Words of what `ip -d link` adds, and of a first line that was broken."""


def read(line: Line, host: Host, context: Context) -> bool:
    """Whether the line is of an interface or of its queue."""
    return _qdisc(line, host, context) or _link(line, host, context)


def _link(line: Line, host: Host, context: Context) -> bool:
    words = line.text.split()
    if len(words) > 4 and words[0].endswith(":") and number(words[0][:-1]) is not None and words[2].startswith("<"):
        name = words[1].rstrip(":").partition("@")[0][:40]
        mtu = number(words[words.index("mtu") + 1]) if "mtu" in words[:-1] else None
        if len(host.devices) < _MAX:
            host.devices.append(Device(line, name, "UP" in words[2].strip("<>").split(","), mtu))
        context.device, context.counts = name, ""
        return True
    if not context.device or context.device == "qdisc" or not host.devices:
        return False
    inner = line.text.strip()
    if inner.startswith(("RX:", "TX:")) and "bytes" in inner:
        context.counts = inner[:2].lower()
        return True
    if inner.startswith(_NOISE) or ("<" not in inner and any(word in words for word in _DETAILS)):
        return True
    values = [number(word) for word in words]
    if not context.counts or len(values) < 4 or None in values:
        return False
    for column, value in zip(_COLUMNS, values, strict=False):
        assert value is not None
        host.devices[-1].counts[f"{context.counts}_{column}"] = value
        host.devices[-1].lines[f"{context.counts}_{column}"] = line
    context.counts = ""
    return True


def _qdisc(line: Line, host: Host, context: Context) -> bool:
    words = line.text.split()
    if len(words) >= 4 and words[0] == "qdisc" and "dev" in words[:-1]:
        context.counts = words[words.index("dev") + 1][:40]
        context.device = "qdisc"
        return True
    if context.device != "qdisc" or not words or (line.text[0] not in " \t" and words[0] not in ("Sent", "backlog")):
        return False
    if words[0] == "Sent" and "(dropped" in words[:-1]:
        dropped = number(words[words.index("(dropped") + 1].rstrip(","))
        for device in host.devices[::-1]:
            if device.name == context.counts and dropped is not None:
                device.counts["qdisc_dropped"] = device.counts.get("qdisc_dropped", 0) + dropped
                device.lines["qdisc_dropped"] = line
                break
    # What follows is of the discipline: its backlog, and the counters that some kinds have.
    return True
