"""The tables of an analysis, for the terminal and for the report: first a summary, then the details of connections."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl
from rich.console import Console, RenderableType

from mptcplab.capture import summary
from mptcplab.capture.quantities import MISSING, amount, duration
from mptcplab.render.text_tables import Field, Table, decimals, drawn, formatter

if TYPE_CHECKING:
    from mptcplab.capture.analysis import Analysis


def tables(analysis: "Analysis") -> tuple[Table, ...]:
    """The summary and the details of all connections."""
    return (*summary.tables(analysis), *details(analysis, None))


def details(analysis: "Analysis", connection: int | None) -> tuple[Table, ...]:
    """A connection, or all of them, with directions, subflows, and what happened."""

    def of(frame: pl.DataFrame) -> pl.DataFrame:
        return frame if connection is None else frame.filter(pl.col("connection") == connection)

    subflows = of(analysis.subflows)
    several = [
        _connections(of(analysis.connections)),
        _streams(of(analysis.streams)),
        _subflows(subflows),
        _flows(of(analysis.flows), subflows),
    ]
    events = of(analysis.events)
    if events.height:
        several.append(_events(events))
    return tuple(several)


def for_terminal(
    analysis: "Analysis", console: Console, *, connection: int | None = None, top: int = summary.WORST
) -> RenderableType:
    """The summary, with the details of the only connection there is; or the details of the one asked for."""
    if connection is not None:
        return drawn(details(analysis, connection), console)
    found = summary.tables(analysis, top)
    if len(analysis.summary["connections"]) == 1:
        found = (*found, *details(analysis, 0)[1:])
    return drawn(found, console)


def subflow_names(analysis: "Analysis") -> pl.DataFrame:
    """A name for each subflow by which a reader knows it, `subflow` with its number and addresses."""
    return analysis.subflows.select(
        "connection",
        "subflow",
        name=pl.format("{} {} → {}", "subflow", "client", "server"),
    )


def _connections(frame: pl.DataFrame) -> Table:
    fallback = [
        "" if at is None else f"{at:.3f} s: {reason}"
        for at, reason in frame.select("fallback_s", "fallback_reason").iter_rows()
    ]
    fields = [
        _text("connection", frame["connection"]),
        _text(
            "protocol",
            [
                protocol if version is None else f"{protocol} v{version}"
                for protocol, version in frame.select("protocol", "version").iter_rows()
            ],
        ),
        _text("client", frame["client"]),
        _text("server", frame["server"]),
        _text("client's", frame["client_token"], unit="token", expendable=5),
        _text("server's", frame["server_token"], unit="token", expendable=4),
        _text("closing", frame["closing"], expendable=3),
        _number("start", "s", frame["start_s"]),
        _number("end", "s", frame["end_s"]),
    ]
    if any(fallback):
        fields.insert(2, _text("back to TCP", fallback))
    return Table("Connections", tuple(fields))


def _streams(frame: pl.DataFrame) -> Table:
    frame = frame.filter((pl.col("segments_sent") > 0) | (pl.col("bytes") > 0))
    fields = [
        _text("connection", frame["connection"]),
        _text("direction", frame["direction"]),
        _amount("goodput", frame["goodput_bps"], "bit/s"),
        _amount("delivered", frame["bytes"], "B"),
        _whole("sent", "segments", frame["segments_sent"], 4),
        _whole("retransmitted", "segments", frame["retransmissions"]),
        _whole("reinjected", "segments", frame["reinjections"]),
        _whole("timeouts", "", frame["timeouts"], 6),
        _duration("longest", frame["longest_silence_s"], unit="silence", expendable=7),
        _duration("until", frame["silence_end_s"], expendable=7),
        _number("DATA_ACK RTT", "min, ms", frame["data_ack_rtt_min_s"], 1e3, 5),
        _number("DATA_ACK RTT", "mean, ms", frame["data_ack_rtt_mean_s"], 1e3),
        _number("DATA_ACK RTT", "p95, ms", frame["data_ack_rtt_p95_s"], 1e3, 3),
        _number("out of order", "mean, ms", frame["out_of_order_delay_mean_s"], 1e3),
        _number("out of order", "p95, ms", frame["out_of_order_delay_p95_s"], 1e3, 2),
    ]
    return Table("Data", tuple(fields))


def _subflows(frame: pl.DataFrame) -> Table:
    fields = [
        _text("connection", frame["connection"]),
        _text("subflow", frame["subflow"]),
        _text("client", frame["client"]),
        _text("server", frame["server"]),
        _text("opened", frame["opened_by"], unit="by"),
        _text("backup", ["backup" if backup else "" for backup in frame["backup"]], expendable=4),
        _text("join", frame["join_hmac"], unit="HMAC", expendable=1),
        _text("closing", frame["closing"], expendable=2),
        _whole("RSTs", "", frame["resets"], 2),
        _number("start", "s", frame["start_s"]),
        _number("end", "s", frame["end_s"], expendable=3),
        _number("handshake", "RTT, ms", frame["handshake_rtt_s"], 1e3),
    ]
    return Table("Subflows", tuple(fields))


def _flows(frame: pl.DataFrame, subflows: pl.DataFrame) -> Table:
    frame = frame.filter(pl.col("segments_sent") > 0)
    named = frame.join(subflows.select("connection", "subflow", "client"), on=["connection", "subflow"])
    fields = [
        _text("connection", named["connection"]),
        _text("subflow", named["subflow"]),
        _text("client", named["client"], expendable=5),
        _text("direction", named["direction"]),
        _amount("delivered", named["bytes"], "B"),
        _amount("goodput", named["goodput_bps"], "bit/s"),
        _number("share", "%", named["share"], 1e2),
        _whole("sent", "segments", named["segments_sent"]),
        _whole("retransmitted", "segments", named["retransmissions"]),
        _whole("reinjected", "segments", named["reinjections"]),
        _number("RTT", "min, ms", named["rtt_min_s"], 1e3, 3),
        _number("RTT", "mean, ms", named["rtt_mean_s"], 1e3, 1),
        _number("RTT", "p95, ms", named["rtt_p95_s"], 1e3, 2),
    ]
    return Table("Data by subflow", tuple(fields))


def _events(frame: pl.DataFrame) -> Table:
    fields = [
        _text("connection", frame["connection"]),
        _number("time", "s", frame["time_s"]),
        _text("subflow", frame["subflow"]),
        _text("from", frame["from"]),
        _text("what", frame["kind"]),
        _text("details", frame["text"]),
    ]
    return Table("Events", tuple(fields))


def _text(header: str, values: Sequence[object] | pl.Series, *, unit: str = "", expendable: int = 0) -> Field:
    cells = tuple(MISSING if value is None else str(value) for value in values)
    return Field(header, unit, cells, "text", expendable)


def _number(header: str, unit: str, values: pl.Series, scale: float = 1.0, expendable: int = 0) -> Field:
    scaled = [None if value is None else value * scale for value in values]
    return Field(header, unit, tuple(map(formatter(decimals(scaled)), scaled)), "number", expendable)


def _whole(header: str, unit: str, values: pl.Series, expendable: int = 0) -> Field:
    return Field(header, unit, tuple(map(formatter(0), values)), "number", expendable)


def _amount(header: str, values: pl.Series, unit: str, expendable: int = 0) -> Field:
    return Field(header, "", tuple(amount(value, unit) for value in values), "number", expendable)


def _duration(header: str, values: pl.Series, *, unit: str = "", expendable: int = 0) -> Field:
    return Field(header, unit, tuple(map(duration, values)), "number", expendable)
