"""The document of `diagnose` as text for people."""

import textwrap
from collections.abc import Iterator
from typing import Final

from mptcplab.diagnose.causes import CAUSES
from mptcplab.diagnose.report import Document
from mptcplab.diagnose.text import names

_MOST: Final = 20
_EXCERPT: Final = names(
    "subflows flags backoff rtt minrtt cwnd unacked notsent snd_wnd bytes_sent bytes_retrans bytes_acked skmem "
    "write_seq snd_una rcv_nxt lastack"
)
"""Of a line with the details of a socket, what is shown on a terminal; the document has all of it."""


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
