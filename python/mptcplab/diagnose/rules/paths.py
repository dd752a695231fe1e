"""Subflows that are there and carry nothing."""

from collections.abc import Iterator

from mptcplab.diagnose.connections import Flow, View
from mptcplab.diagnose.facts import Line
from mptcplab.diagnose.rules.counted import count, told, told_tcp
from mptcplab.diagnose.rules.finding import Case, Finding

_BACKOFF = 2
"""Timeouts in a row from which a path counts as dead: one happens on any path, and stale_loss_cnt is of this order."""


def dead(flow: Flow) -> bool:
    """Whether data are sent again and again without an answer."""
    last = flow.last
    return flow.established and (last.number("backoff") or 0) >= _BACKOFF and (last.number("unacked") or 0) > 0


def _half_open(case: Case, view: View, flow: Flow) -> list[Line]:
    """Lines that show that the other end was reset: it has one subflow less, and neither says that it meant to."""
    others = [other for other in case.views if other is not view]
    if len(others) != 1 or not flow.joined or not flow.established:
        return []
    if sum(each.established for each in others[0].flows) >= sum(each.established for each in view.flows):
        return []
    if any(count(host, name) > 0 for host in case.hosts for name in ("MPRstTx", "MPRstRx", "RmAddr", "MPJoinRejected")):
        return []
    was_reset, sent = told_tcp(others[0].host, "TcpEstabResets"), told_tcp(view.host, "TcpOutRsts")
    return [*was_reset, *sent] if was_reset and sent else []


def _translated(case: Case, view: View, flow: Flow) -> bool:
    """Whether the other end has another address than this one sees."""
    own = {other.last.local.address for each in case.views if each is not view for other in each.flows}
    own |= {endpoint.address for each in case.views if each is not view for endpoint in each.host.endpoints}
    return bool(own) and flow.last.remote.address not in own


def nat_rebinding(case: Case) -> Iterator[Finding]:
    """One end still has a subflow that the other was reset: what the first got came from an unknown address."""
    for view, flow in case.flows():
        lines = _half_open(case, view, flow)
        if lines:
            nat = _translated(case, view, flow)
            yield Finding(
                "nat-rebinding",
                case.name,
                f"{view.host.name} has {flow.last.local} ↔ {flow.last.remote} and answered the other host with a "
                "reset: its packets come from another address or port than before"
                f"{', and a NAT is on the way' if nat else ''}",
                [flow.last.evidence, *lines],
                "a longer timeout in the NAT, or TCP keepalives more often than it (net.ipv4.tcp_keepalive_time)",
                sure=nat,
            )


def path_dead(case: Case) -> Iterator[Finding]:
    """A subflow of an established connection whose retransmission timer has backed off twice or more."""
    for view, flow in case.flows():
        if not dead(flow) or _half_open(case, view, flow):
            continue
        silent = flow.last.number("lastack")
        since = f", nothing came for {silent / 1e3:.1f} s" if silent else ""
        nat = "; a NAT is on the way, which may have forgotten it" if _translated(case, view, flow) else ""
        yield Finding(
            "path-dead",
            case.name,
            f"{flow.last.local} → {flow.last.remote}: {flow.last.number('unacked'):.0f} segments are not acknowledged, "
            f"{flow.last.number('backoff'):.0f} timeouts in a row{since}{nat}",
            [flow.last.evidence, *told(view.host, "SubflowStale")],
            f"ping -I {flow.last.local.address} -s 1400 -M do {flow.last.remote.address}; if small "
            "packets pass and large ones do not, the MTU is the reason",
        )


def active(flows: list[Flow]) -> list[Flow]:
    """Those that data may be sent on now: established, not dead, and backups only if there is no other."""
    alive = [flow for flow in flows if flow.established and not dead(flow)]
    return [flow for flow in alive if not flow.backup] or alive
