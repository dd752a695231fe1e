"""What `diagnose` prints: the JSON document, and from it the text for people. Nothing of it can steer a terminal."""

import textwrap
from collections.abc import Iterator
from typing import Any, Final

from mptcplab.diagnose.causes import CAUSES
from mptcplab.diagnose.connections import Connection, Flow, View
from mptcplab.diagnose.diagnosis import Diagnosis
from mptcplab.diagnose.facts import Host
from mptcplab.diagnose.rules.paths import dead
from mptcplab.diagnose.text import names, shown

_UNREAD_SHOWN: Final = 20
_MOST: Final = 20
_EXCERPT: Final = names(
    "subflows flags backoff rtt minrtt cwnd unacked notsent snd_wnd bytes_sent bytes_retrans bytes_acked skmem "
    "write_seq snd_una rcv_nxt lastack"
)
"""Of a line with the details of a socket, what is shown on a terminal; the document has all of it."""

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
        "local": str(last.local),
        "remote": str(last.remote),
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


def lines(found: Document, width: int = 110) -> Iterator[str]:
    """For people."""
    for host in found["hosts"]:
        yield from _of_host(host)
    bound = {each["connection"] for each in found["binding"]}
    shown_ones = [each for each in found["connections"] if each["name"] in bound]
    shown_ones += [each for each in found["connections"] if each["name"] not in bound][
        : max(0, _MOST - len(shown_ones))
    ]
    for connection in shown_ones:
        yield ""
        yield from _of_connection(connection)
    if len(shown_ones) < len(found["connections"]):
        yield f"and {len(found['connections']) - len(shown_ones)} more connections, of which --json tells"
    yield ""
    yield from _of_binding(found["binding"], width)
    for note in found["notes"]:
        yield f"note: {note}"
    if found["unread_lines"]:
        yield f"{found['unread_lines']} lines were not understood" + (
            ", the first of them:" if len(found["unread"]) < found["unread_lines"] else ":"
        )
        for each in found["unread"]:
            yield f"  {each['source']}: {each['line']}"
    if found["unknown_fields"]:
        named = list(found["unknown_fields"].items())
        told = ", ".join(f"{name} ({count})" for name, count in named[:10])
        yield f"fields that were passed over: {told}" + (f" and {len(named) - 10} more" if len(named) > 10 else "")


def _of_host(host: Document) -> Iterator[str]:
    kernel = f", Linux {host['kernel']}" if host["kernel"] else ""
    limits = host["limits"]
    told = (
        f"; {limits['subflows']} further subflows, {limits['add_addr_accepted']} announced addresses accepted"
        if limits
        else ""
    )
    yield f"host {host['name']}{kernel}{told}"
    for each in host["endpoints"]:
        device = f" on {each['device']}" if each["device"] else ""
        yield f"  endpoint {each['address']}{device}, id {each['id']}: {' '.join(each['flags']) or 'no flags'}"


def _of_connection(connection: Document) -> Iterator[str]:
    protocol = {"mptcp": "MPTCP", "tcp": "TCP"}[connection["protocol"]]
    words = [protocol + (", fallen back to TCP" if connection["fallback"] else "")]
    words += [f"{role} {connection[role]}" for role in ("client", "sender") if connection[role]]
    words += [_bps(connection["goodput_bps"])] if connection["goodput_bps"] is not None else []
    words += [f"{connection['reinjections']} reinjections"] if connection["reinjections"] else []
    yield f"{connection['name']}: {'; '.join(words)}"
    rows = [["subflow", "role", "state", "RTT (least)", "cwnd", "in flight", "rate", "sent again"]]
    for each in connection["subflows"]:
        device = f"%{each['device']}" if each["device"] else ""
        least = f" ({each['min_rtt_ms']:.0f})" if each["min_rtt_ms"] is not None else ""
        rows.append(
            [
                f"{each['local']}{device} – {each['remote']}",
                each["role"],
                each["state"],
                "" if each["rtt_ms"] is None else f"{each['rtt_ms']:.0f}{least} ms",
                _whole(each["cwnd_segments"]),
                _whole(each["in_flight_segments"]),
                "" if each["rate_bps"] is None else _bps(each["rate_bps"]),
                "" if each["retransmitted_share"] is None else f"{each['retransmitted_share']:.1%}",
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows if len(rows) > 1 else ():
        cells = [
            cell.ljust(size) if place < 3 else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "  ".join(cells).rstrip()


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _bps(value: float) -> str:
    return f"{value / 1e6:.2f} Mbit/s" if value >= 1e6 else f"{value / 1e3:.0f} kbit/s"


def _of_binding(binding: list[Document], width: int) -> Iterator[str]:
    yield "What binds:" if binding else "Nothing that binds was found."
    for number, each in enumerate(binding, start=1):
        cause = CAUSES[each["cause"]]
        where = f" [{each['connection']}]" if each["connection"] else ""
        yield f"{number}. {each['cause']}{'' if each['sure'] else ' (likely)'}: {cause.means}{where}"
        yield from _wrapped("   ", each["says"], width)
        for line in each["evidence"]:
            yield from _wrapped(f"   {line['source']}  ", excerpt(line["line"]), width)
        yield from _wrapped("   next: ", each["next"], width)


def _wrapped(before: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=before, subsequent_indent=" " * len(before), break_on_hyphens=False
    ) or [before.rstrip()]


def excerpt(line: str) -> str:
    """The fields that causes are read from, if the line is one of a socket's details."""
    words = line.split()
    if not any(word.startswith(("skmem:", "cwnd:")) for word in words):
        return line
    return "… " + " ".join(word for word in words if word.partition(":")[0] in _EXCERPT) + " …"
