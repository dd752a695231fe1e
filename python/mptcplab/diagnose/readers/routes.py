"""`ip route show [table all]` and `ip rule`."""

from ipaddress import ip_network
from typing import Final

from mptcplab.diagnose.facts import Host, Line, Route, Rule
from mptcplab.diagnose.readers.context import Context
from mptcplab.diagnose.text import names, number

_KINDS: Final = names("unicast local broadcast multicast unreachable blackhole prohibit throw anycast")
_NAMED: Final = names(
    "via dev table proto scope src metric pref mtu advmss expires hoplimit error nhid window rtt cwnd initcwnd "
    "initrwnd features congctl realm weight"
)
_FLAGS: Final = names("onlink linkdown dead pervasive offload trap notify rt_offload rt_trap")
_MAX: Final = 20_000


def read(line: Line, host: Host, context: Context) -> bool:
    """Whether the line is a route or a rule."""
    return _rule(line, host) or _route(line, host, context)


def _rule(line: Line, host: Host) -> bool:
    head, colon, rest = line.text.partition(":")
    priority = number(head)
    words = rest.split()
    if not colon or priority is None or len(words) < 4 or words[0] != "from" or len(words) > 40:
        return False
    if "lookup" not in words[:-1]:
        return False
    place = words.index("lookup")
    source = words[1] if words[1] == "all" else _network(words[1])
    if source is None or len(host.rules) >= _MAX:
        return source is not None
    host.rules.append(Rule(line, priority, source, words[place + 1][:40], simple=place == 2))
    return True


def _route(line: Line, host: Host, context: Context) -> bool:
    words = line.text.split()
    if not 3 <= len(words) <= 60:
        return False
    kind = words.pop(0) if words[0] in _KINDS else "unicast"
    network = _network(words[0], ":" in line.text.partition("dev")[0])
    if network is None:
        return False
    named: dict[str, str] = {}
    unknown = []
    rest = iter(words[1:])
    for word in rest:
        if word in _NAMED:
            named[word] = next(rest, "")[:60]
        elif word not in _FLAGS:
            unknown.append(word)
    if "dev" not in named and "via" not in named and kind == "unicast":
        return False
    context.pass_over(*unknown)
    if len(host.routes) < _MAX:
        table, metric = named.get("table", "main"), number(named.get("metric", "0")) or 0
        host.routes.append(
            Route(line, kind, network, named.get("dev", ""), table, metric, named.get("src", ""), named.get("via", ""))
        )
    return True


def _network(text: str, six: bool = False) -> str | None:
    if text == "default":
        return "::/0" if six else "0.0.0.0/0"
    try:
        return str(ip_network(text, strict=False)) if len(text) < 50 else None
    except ValueError:
        return None
