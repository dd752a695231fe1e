"""`nstat`, and /proc/net/netstat and snmp: the kernel's MIB counters; those of net/mptcp/mib.c begin with MPTcpExt."""

from typing import Final

from mptcplab.diagnose.facts import Count, Counters, Host, Line
from mptcplab.diagnose.readers.context import Context
from mptcplab.diagnose.text import number

_PREFIXES: Final = ("MPTcpExt", "TcpExt", "Tcp", "Ip", "Udp", "Icmp", "Sctp", "Mptcp")
_MAX_COUNTS: Final = 5000


def read(line: Line, host: Host, context: Context) -> bool:
    """Whether the line is a counter, or begins an output of them."""
    if line.text.startswith("#kernel") or (line.text.startswith("#") and "sampling_interval" in line.text[:120]):
        context.fresh = True
        return True
    words = line.text.split()
    if not words or not words[0].startswith(_PREFIXES):
        return False
    if words[0].endswith(":"):
        return _pair(line, words, host, context)
    value = number(words[1]) if len(words) in (2, 3) else None
    if value is None or not words[0].isalnum() or len(words[0]) > 60:
        return False
    _keep(words[0], value, line, host, context)
    return True


def _pair(line: Line, words: list[str], host: Host, context: Context) -> bool:
    prefix = words[0][:-1]
    values = [number(word.removeprefix("-")) for word in words[1:]]
    names = context.names.get(prefix)
    if names is None or len(names) != len(values) or any(value is None for value in values):
        if all(word.isalnum() and word[0].isalpha() for word in words[1:]):
            context.names[prefix] = words[1:]
            return True
        return False
    del context.names[prefix]
    for name, value in zip(names, values, strict=True):
        assert value is not None
        _keep(f"{prefix}{name}"[:60], value, line, host, context)
    return True


def _whole(command: str) -> bool:
    """Whether the command leaves out no counter of Multipath TCP, as `| grep Join` does."""
    _, _, filtered = command.partition("grep")
    patterns = [word.strip("'\"^*.").lower() for word in filtered.split() if not word.startswith("-")]
    return all("mptcpext".find(pattern) >= 0 for pattern in patterns[:1])


def _keep(name: str, value: int, line: Line, host: Host, context: Context) -> None:
    if context.fresh or not host.counters or name in host.counters[-1].counts:
        host.counters.append(Counters(context.time_s))
        context.fresh = False
    of = host.counters[-1]
    if len(of.counts) < _MAX_COUNTS:
        of.counts[name] = Count(value, line)
        # nstat without -z leaves out what is 0: then what is missing has not been counted.
        of.complete |= name.startswith("MPTcpExt") and _whole(context.command)
