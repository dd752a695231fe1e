"""`sysctl`: `name = value`; and what the script says of processes."""

from typing import Final

from mptcplab.diagnose.facts import Cpu, Host, Line, Sysctl
from mptcplab.diagnose.readers.context import Context
from mptcplab.diagnose.text import number

_BEGIN: Final = ("net.", "net/", "/proc/sys/net/")
_MAX: Final = 5000


def read(line: Line, host: Host, context: Context) -> bool:
    """Whether the line is a parameter or a process's time."""
    return _parameter(line, host) or _process(line, host, context)


def _parameter(line: Line, host: Host) -> bool:
    name, equals, value = line.text.partition("=")
    if not equals:
        name, _, value = line.text.partition(":")
    name = name.strip().removeprefix("/proc/sys/").replace("/", ".")
    if not line.text.startswith(_BEGIN) or " " in name or len(name) > 100 or not value:
        return False
    if len(host.sysctls) < _MAX:
        host.sysctls[name] = Sysctl(line, " ".join(value.split())[:500])
    return True


def _process(line: Line, host: Host, context: Context) -> bool:
    words = line.text.split()
    if len(words) != 6 or words[::2] != ["pid", "ran", "waited"]:
        return False
    pid, ran, waited = map(number, words[1::2])
    if pid is None or ran is None or waited is None:
        return False
    if len(host.cpu) < _MAX:
        host.cpu.setdefault(pid, []).append(Cpu(line, ran, waited, context.time_s))
    return True
