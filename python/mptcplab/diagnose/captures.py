"""What captures say, in the terms of connections and causes: from mptcplab.capture, which reads the packets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mptcplab.capture.remarks import stalled
from mptcplab.diagnose.facts import Line, Reading
from mptcplab.diagnose.rules.finding import Finding

_FALLBACKS: Final = (
    ("MP_FAIL", "checksum"),
    ("the server does not", "peer-without-mptcp"),
    ("removed", "options-stripped"),
)
_SEND_BOTH: Final = (
    "capture at both hosts at once and give both files: what one sent and the other did not get, the path changed"
)

_LARGER: Final = (
    "give the receiver a larger buffer (tcp_rmem, SO_RCVBUF), and try another kernel: 6.12 takes nothing more once "
    "out-of-order data fill it"
)


def read(reading: Reading) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Connections for the document, and findings. What cannot be read becomes a note of `reading`."""
    if not reading.captures:
        return [], []
    from mptcplab.capture.analysis import CaptureError, analyze  # polars loads slowly

    rows: list[dict[str, Any]] = []
    found: list[Finding] = []
    try:
        summaries = [(reading.captures[0] if len(reading.captures) == 1 else "captures", analyze(reading.captures))]
    except CaptureError:
        # One that has nothing must not cost the others.
        summaries = []
        for name in reading.captures:
            try:
                summaries.append((name, analyze(name)))
            except CaptureError as error:
                reading.notes += list(map(str, error.args))
    for name, analysis in summaries:
        reading.notes += analysis.notes
        for connection in analysis.summary["connections"]:
            rows.append(_row(connection))
            found += _findings(connection, Path(name).name)
    return rows, found


def _row(connection: dict[str, Any]) -> dict[str, Any]:
    streams = connection["streams"]
    rates = [each["goodput_bps"] for each in streams if each["goodput_bps"] is not None]
    return {
        "name": _name(connection),
        "protocol": connection["protocol"],
        "fallback": connection["fallback"] is not None,
        "client": connection["client"],
        "sender": None,
        "receiver": None,
        "goodput_bps": max(rates, default=None),
        "reinjections": sum(each["reinjections"] for each in streams),
        "subflows": [_subflow(each, place) for place, each in enumerate(connection["subflows"])],
    }


def _name(connection: dict[str, Any]) -> str:
    return f"{connection['client']} ↔ {connection['server']}"


def _subflow(subflow: dict[str, Any], place: int) -> dict[str, Any]:
    flow = max(subflow["flows"], key=lambda each: each["bytes"], default=None)
    rtt = flow["rtt"] if flow is not None else None
    sent = flow["segments_sent"] if flow is not None else 0
    return {
        "host": None,
        "local": subflow["client"],
        "remote": subflow["server"],
        "device": None,
        "state": subflow["closing"],
        "role": "backup" if subflow["backup"] else "joined" if place else "first",
        "congestion": None,
        "rtt_ms": None if rtt is None else rtt["mean_s"] * 1e3,
        "min_rtt_ms": None if rtt is None else rtt["min_s"] * 1e3,
        "cwnd_segments": None,
        "in_flight_segments": None,
        "rate_bps": flow["goodput_bps"] if flow is not None else None,
        "retransmitted_share": flow["retransmissions"] / sent if flow is not None and sent else None,
        "bytes_acked": None,
        "bytes_received": None,
        "peer_window_bytes": None,
    }


def _findings(connection: dict[str, Any], source: str) -> Iterator[Finding]:
    name = _name(connection)
    fallback = connection["fallback"]
    if fallback is not None:
        reason = fallback["reason"]
        cause = next((cause for sign, cause in _FALLBACKS if sign in reason), "mapping-lost")
        if cause == "options-stripped" and "data" in reason:
            cause = "mapping-lost"
        yield Finding(
            cause, name, reason, [_at(source, fallback["time_s"], reason)], _SEND_BOTH, "or" not in reason.split()
        )
    reasons = [each for each in connection["events"] if each["kind"] == "mp_tcprst"]
    for event in reasons[:1]:
        yield Finding(
            "reset",
            name,
            event["text"],
            [_at(source, event["time_s"], event["text"])],
            "ip mptcp monitor on both hosts",
        )
    failed = [each for each in connection["events"] if each["kind"] == "mp_fail"]
    if failed and (fallback is None or "MP_FAIL" not in fallback["reason"]):
        event = failed[0]
        yield Finding("checksum", name, event["text"], [_at(source, event["time_s"], event["text"])], _SEND_BOTH)
    if connection["protocol"] == "mptcp" and fallback is None:
        for stream in connection["streams"]:
            text = stalled(stream)
            if text is not None:
                at = _at(source, stream["data_ack_stall_end_s"], text)
                yield Finding("receiver-stuck", name, text, [at], _LARGER)
    wrong = [each for each in connection["subflows"] if each["join_hmac"] == "wrong"]
    if wrong:
        text = f"{wrong[0]['client']} → {wrong[0]['server']}: the HMAC of MP_JOIN is wrong"
        yield Finding("join-hmac", name, text, [_at(source, wrong[0]["start_s"], text)], _SEND_BOTH)


def _at(source: str, time_s: float, text: str) -> Line:
    return Line(source, 0, f"at {time_s:.6f} s: {text}")
