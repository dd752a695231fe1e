"""The JSON document of `diagnose`, of which `printing` makes text. Nothing of it can steer a terminal."""

from collections.abc import Iterator
from typing import Any, Final

from mptcplab.diagnose.causes import CAUSES
from mptcplab.diagnose.connections import Connection, Flow, View
from mptcplab.diagnose.diagnosis import Diagnosis
from mptcplab.diagnose.facts import Host
from mptcplab.diagnose.rules.paths import dead
from mptcplab.diagnose.text import shown

_UNREAD_SHOWN: Final = 20

Document = dict[str, Any]


def document(diagnosis: Diagnosis) -> Document:
    """The document of `--json`."""
    reading = diagnosis.reading
    return {
        "hosts": [_host(each) for each in reading.hosts],
        "connections": [_connection(each) for each in diagnosis.connections] + diagnosis.captured,
        "binding": [
            {
                "connection": None if each.connection is None else shown(each.connection),
                "cause": each.cause,
                "fault": CAUSES[each.cause].fault,
                "sure": each.sure,
                "says": shown(each.says),
                "evidence": [{"source": shown(line.where), "line": shown(line.text.strip())} for line in each.evidence],
                "next": shown(each.next),
            }
            for each in diagnosis.findings
        ],
        "captures": [shown(each) for each in reading.captures],
        "notes": [shown(each) for each in reading.notes],
        "unread_lines": reading.unread_count,
        "unread": [
            {"source": shown(line.where), "line": shown(line.text, 200)} for line in reading.unread[:_UNREAD_SHOWN]
        ],
        "unknown_fields": {shown(name): count for name, count in sorted(reading.unknown_fields.items())},
    }


def _host(host: Host) -> Document:
    limits = host.limits[-1] if host.limits else None
    return {
        "name": shown(host.name),
        "kernel": shown(host.kernel) or None,
        "limits": None
        if limits is None
        else {"subflows": limits.subflows, "add_addr_accepted": limits.add_addr_accepted},
        "endpoints": [
            {
                "address": each.address,
                "id": each.number,
                "flags": sorted(each.flags),
                "device": shown(each.device) or None,
            }
            for each in host.endpoints
        ],
        "routes": [shown(each.line.text) for each in host.routes if each.kind == "unicast" and each.table != "local"][
            :200
        ],
        "counters": {
            name.removeprefix("MPTcpExt"): count.value
            for name, count in (host.counters[-1].counts.items() if host.counters else ())
            if name.startswith("MPTcpExt") and count.value
        },
    }


def _connection(connection: Connection) -> Document:
    hosts = {role: view.host.name if view is not None else None for role, view in _roles(connection)}
    view = connection.sender or connection.views[0]
    rates = [value for flow in view.flows if (value := _rate(flow)) is not None]
    return {
        "name": shown(connection.name),
        "protocol": connection.protocol,
        "fallback": any(each.fallback for each in connection.views),
        **{role: None if name is None else shown(name) for role, name in hosts.items()},
        "goodput_bps": sum(rates) if rates else None,
        "reinjections": _reinjections(view),
        "subflows": [_subflow(view, flow) for flow in view.flows],
    }


def _roles(connection: Connection) -> Iterator[tuple[str, View | None]]:
    yield "client", connection.client
    yield "sender", connection.sender
    yield "receiver", connection.receiver


def _rate(flow: Flow) -> float | None:
    """In bit/s, of what the peer acknowledged or this host received, whichever is more."""
    rates = [value for name in ("bytes_acked", "bytes_received") if (value := flow.rate_bps(name)) is not None]
    return max(rates, default=None)


def _reinjections(view: View) -> int | None:
    """Segments sent again at the data level: the connection's own count, or the host's."""
    own = view.looks[-1].number("retransmits") if view.looks else None
    if own is not None:
        return int(own)
    counted = view.host.counted("MPTCPRetrans")[0]
    return counted if counted >= 0 else None


def _subflow(view: View, flow: Flow) -> Document:
    last = flow.last
    role = "backup" if flow.backup else "joined" if flow.joined else "first"
    return {
        "host": shown(view.host.name),
        "local": shown(str(last.local)),
        "remote": shown(str(last.remote)),
        "device": shown(flow.device) or None,
        "state": "gone" if flow.gone else "dead" if dead(flow) else last.state,
        "role": role,
        "congestion": None if last.congestion is None else shown(last.congestion),
        "rtt_ms": flow.mean("rtt"),
        "min_rtt_ms": flow.min_rtt_ms,
        "cwnd_segments": flow.mean("cwnd"),
        "in_flight_segments": flow.mean("unacked"),
        "rate_bps": _rate(flow),
        "retransmitted_share": flow.loss,
        "bytes_acked": last.number("bytes_acked"),
        "bytes_received": last.number("bytes_received"),
        "peer_window_bytes": last.number("snd_wnd"),
    }
