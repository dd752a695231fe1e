"""`ip mptcp endpoint`, `ip mptcp limits` and `ip mptcp monitor` (forms of iproute2's ip/ipmptcp.c, 5.8 to 6.17)."""

from dataclasses import replace
from ipaddress import ip_address
from typing import Final

from mptcplab.diagnose.facts import Endpoint, Event, Host, Limits, Line
from mptcplab.diagnose.readers.context import Context
from mptcplab.diagnose.text import names, number

_FLAGS: Final = names("signal subflow backup fullmesh implicit laminar")
_EVENTS: Final = names(
    "CREATED ESTABLISHED CLOSED ANNOUNCED REMOVED SF_ESTABLISHED SF_CLOSED SF_PRIO LISTENER_CREATED LISTENER_CLOSED"
)
_FIELDS: Final = names(
    "token remid locid saddr4 daddr4 saddr6 daddr6 sport dport backup error timeout ifindex dev reset_reason "
    "reset_flags flags server_side"
)
_MAX_EVENTS: Final = 100_000
_MAX_ENDPOINTS: Final = 512
_NO_LINE: Final = Line("", 0, "")


def read(line: Line, host: Host, context: Context) -> bool:
    """Whether the line is of `ip mptcp`."""
    return _limits(line, host) or _endpoint(line, host, context) or _event(line, host, context)


def _limits(line: Line, host: Host) -> bool:
    words = line.text.split()
    if len(words) != 4 or set(words[::2]) != {"add_addr_accepted", "subflows"}:
        return False
    values = dict(zip(words[::2], map(number, words[1::2]), strict=True))
    accepted, subflows = values["add_addr_accepted"], values["subflows"]
    if accepted is None or subflows is None:
        return False
    host.limits.append(Limits(line, subflows, accepted))
    return True


def _endpoint(line: Line, host: Host, context: Context) -> bool:
    words = line.text.split()
    if len(words) < 3 or len(words) > 16 or "id" not in words[1:]:
        return False
    try:
        address = str(ip_address(words[0]))
    except ValueError:
        return False
    named: dict[str, str] = {}
    flags = set()
    unknown = []
    rest = iter(words[1:])
    for word in rest:
        if word in ("id", "dev", "port", "rawflags"):
            named[word] = next(rest, "")[:40]
        elif word in _FLAGS:
            flags.add(word)
        else:
            unknown.append(word)
    if number(named.get("id", "")) is None:
        return False
    context.pass_over(*unknown)
    found = Endpoint(line, address, number(named["id"]), frozenset(flags), named.get("dev", ""), named.get("port", ""))
    if len(host.endpoints) < _MAX_ENDPOINTS and replace(found, line=_NO_LINE) not in (
        replace(each, line=_NO_LINE) for each in host.endpoints
    ):
        host.endpoints.append(found)
    return True


def _event(line: Line, host: Host, context: Context) -> bool:
    kind, bracket, rest = line.text.partition("]")
    kind = kind.strip("[ ")
    if not bracket or not line.text.startswith("[") or kind not in _EVENTS:
        return False
    fields: dict[str, str] = {}
    words = set()
    for word in rest.split()[:60]:
        name, equals, value = word.partition("=")
        if name not in _FIELDS and name != "deny_join_id0":
            context.pass_over(name)
        elif equals:
            fields[name] = value[:60]
        else:
            words.add(name)
    if len(host.events) < _MAX_EVENTS:
        host.events.append(Event(line, kind, fields, frozenset(words)))
    return True
