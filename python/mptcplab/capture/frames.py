"""The data frames of an analysis: their columns (docs/analyze.md), and how the core's answer becomes them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from mptcplab._core import CaptureAnalysis

Schema = Mapping[str, "pl.DataType | type[pl.DataType]"]
Rows = list[dict[str, Any]]

_DIRECTIONS: Final = pl.Enum(["up", "down"])
_KINDS: Final = pl.Enum(["new", "retransmission", "reinjection"])

SCHEMAS: Final[Mapping[str, Schema]] = {
    "connections": {
        "connection": pl.UInt32,
        "protocol": pl.String,
        "version": pl.UInt8,
        "complete": pl.Boolean,
        "client": pl.String,
        "server": pl.String,
        "client_token": pl.String,
        "server_token": pl.String,
        "checksum": pl.Boolean,
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "fallback_s": pl.Float64,
        "fallback_reason": pl.String,
        "round_trip_s": pl.Float64,
        "closing": pl.String,
    },
    "streams": {
        "connection": pl.UInt32,
        "direction": pl.String,
        "bytes": pl.UInt64,
        "goodput_bps": pl.Float64,
        "segments_sent": pl.UInt64,
        "retransmissions": pl.UInt64,
        "reinjections": pl.UInt64,
        "data_ack_rtt_min_s": pl.Float64,
        "data_ack_rtt_mean_s": pl.Float64,
        "data_ack_rtt_p95_s": pl.Float64,
        "out_of_order_delay_mean_s": pl.Float64,
        "out_of_order_delay_p95_s": pl.Float64,
        "missed_bytes": pl.UInt64,
        "unmapped_bytes": pl.UInt64,
        "acknowledged_bytes": pl.UInt64,
        "outstanding_bytes": pl.UInt64,
        "span_s": pl.Float64,
        "timeouts": pl.UInt64,
        "longest_silence_s": pl.Float64,
        "silence_end_s": pl.Float64,
        "longest_data_ack_stall_s": pl.Float64,
        "data_ack_stall_end_s": pl.Float64,
    },
    "subflows": {
        "connection": pl.UInt32,
        "subflow": pl.UInt32,
        "client": pl.String,
        "server": pl.String,
        "opened_by": pl.String,
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "client_address_id": pl.UInt8,
        "server_address_id": pl.UInt8,
        "backup": pl.Boolean,
        "join_hmac": pl.String,
        "handshake_rtt_s": pl.Float64,
        "resets": pl.UInt64,
        "seen_at": pl.List(pl.String),
        "closing": pl.String,
    },
    "flows": {
        "connection": pl.UInt32,
        "subflow": pl.UInt32,
        "direction": pl.String,
        "bytes": pl.UInt64,
        "goodput_bps": pl.Float64,
        "share": pl.Float64,
        "segments_sent": pl.UInt64,
        "bytes_sent": pl.UInt64,
        "retransmissions": pl.UInt64,
        "reinjections": pl.UInt64,
        "reordered": pl.UInt64,
        "timeouts": pl.UInt64,
        "rtt_min_s": pl.Float64,
        "rtt_mean_s": pl.Float64,
        "rtt_p95_s": pl.Float64,
    },
    "events": {
        "connection": pl.UInt32,
        "time_s": pl.Float64,
        "subflow": pl.UInt32,
        "from": pl.String,
        "kind": pl.String,
        "text": pl.String,
    },
}


def tables(summary: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """The frames that have a row for each thing rather than for each segment."""
    connections: Rows = []
    streams: Rows = []
    subflows: Rows = []
    flows: Rows = []
    events: Rows = []
    for number, found in enumerate(summary["connections"]):
        whose = {"connection": number}
        fallback = found["fallback"] or {"time_s": None, "reason": None}
        connections.append({**found, **whose, "fallback_s": fallback["time_s"], "fallback_reason": fallback["reason"]})
        streams += [
            {
                **stream,
                **whose,
                **_spread(stream, "data_ack_rtt", ("min", "mean", "p95")),
                **_spread(stream, "out_of_order_delay", ("mean", "p95")),
            }
            for stream in found["streams"]
        ]
        for position, subflow in enumerate(found["subflows"]):
            which = {**whose, "subflow": position}
            ids = dict(zip(("client_address_id", "server_address_id"), subflow["address_ids"], strict=True))
            seen_at = [summary["interfaces"][place] for place in subflow["seen_at"]]
            subflows.append({**subflow, **which, **ids, "seen_at": seen_at})
            flows += [{**flow, **which, **_spread(flow, "rtt", ("min", "mean", "p95"))} for flow in subflow["flows"]]
        events += [{**event, **whose} for event in found["events"]]
    rows = {
        "connections": connections,
        "streams": streams,
        "subflows": subflows,
        "flows": flows,
        "events": events,
    }
    return {name: _frame(SCHEMAS[name], rows[name]) for name in SCHEMAS}


def series(answer: "CaptureAnalysis") -> dict[str, pl.DataFrame]:
    """The frames `sent`, `received` and `acks`, a row for each segment or acknowledgment."""
    sent = _directions(answer["sent"]).with_columns(
        pl.Series("kind", _KINDS.categories, dtype=_KINDS).gather(pl.Series(answer["sent"]["note"])).alias("kind")
        if len(answer["sent"]["note"])
        else pl.lit(None, dtype=_KINDS).alias("kind")
    )
    return {
        "sent": sent.drop("note"),
        "received": _directions(answer["received"]).rename({"note": "new_bytes"}),
        "acks": _directions(answer["acks"]).with_columns(pl.col("window").fill_nan(None).cast(pl.UInt64)),
    }


def _directions(columns: Mapping[str, Any]) -> pl.DataFrame:
    frame = pl.DataFrame(dict(columns))
    names = pl.Series("direction", _DIRECTIONS.categories, dtype=_DIRECTIONS)
    return frame.with_columns(direction=names.gather(frame["direction"]))


def _spread(row: Mapping[str, Any], name: str, wanted: Iterable[str]) -> dict[str, float | None]:
    found = row[name]
    return {f"{name}_{part}_s": None if found is None else found[f"{part}_s"] for part in wanted}


def _frame(schema: Schema, rows: Rows) -> pl.DataFrame:
    return pl.DataFrame([[row[column] for column in schema] for row in rows], schema=dict(schema), orient="row")
