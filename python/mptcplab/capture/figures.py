"""The plots of an analysis, as the users of mptcptrace know them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from mptcplab.capture.in_flight import in_flight
from mptcplab.capture.tables import subflow_names
from mptcplab.plots import Figure, Panel, style
from mptcplab.plots.panels import Frame, lines, sequence, stacked

if TYPE_CHECKING:
    from mptcplab.capture.analysis import Analysis

_PANELS: Final = 8
"""The most connections' directions that are drawn."""
_POINTS: Final = 6000
"""The most segments of one panel."""
_REPEATED: Final = 2000
"""Of those, the most that were sent again."""
_MOMENTS: Final = 1000
"""Moments at which the bytes in flight are drawn."""
_BINS: Final = 200
"""Intervals of the goodput."""
_SHAPES: Final = {"new": "circle", "retransmission": "cross", "reinjection": "diamond"}
# Of these the reader should see which connection it is, not how often it changed its mind.
_MARKED: Final = ("mp_prio", "remove_addr", "mp_fail", "mp_fastclose", "mp_tcprst", "rst")


def figures(analysis: "Analysis") -> tuple[Figure, ...]:
    """Data sequence and goodput over time, for each direction that carries data, those with most of it first."""
    chosen = list(_directions(analysis))
    colours = _colours(analysis)
    cut = f" The {_PANELS} directions with most data are shown." if len(chosen) > _PANELS else ""
    sequences, goodputs, flights, windows = [], [], [], []
    behind = 1
    for connection, direction, heading in chosen[:_PANELS]:
        names = _names(analysis, connection)
        mine = {name: colours[connection, name] for name in names["name"]}
        frame = _frame(analysis, connection)
        points, every = _segments(analysis, connection, direction, names)
        behind = max(behind, every)
        acks = _acks(analysis, connection, direction)
        sequences.append(
            _panel(
                sequence(heading, "data sequence (MB)", frame, points, mine, _SHAPES), {"points": points, "acks": acks}
            )
        )
        rates = _goodput(analysis, connection, direction, names, frame.duration_s)
        if rates.height:
            goodputs.append(_panel(stacked(heading, "goodput (Mbit/s)", frame, rates, mine), {"points": rates}))
        flying, limits = _in_flight(analysis, connection, direction, names, frame.duration_s)
        flights.append(_panel(stacked(heading, "in flight (kB)", frame, flying, mine), {"points": flying}))
        of_window = style.path_colours(["in flight", "advertised window"])
        windows.append(_panel(lines(heading, "kB", frame, limits, of_window), {"points": limits}))
    thinned = f" Of the data sent once, one segment in {behind} is shown." if behind > 1 else ""
    return (
        Figure(
            "sequence",
            "Data sequence over time",
            "A point for each segment as it was sent, at the place of its first byte in the data stream, in its "
            "subflow's colour. Crosses are retransmissions of TCP on the same subflow, diamonds reinjections: data "
            "sent before, usually on another subflow. The grey line is the DATA_ACK (of TCP, the ACK)."
            f"{thinned}{cut}",
            tuple(sequences),
        ),
        Figure(
            "goodput",
            "Goodput by subflow",
            f"New data of the connection, by the subflow on which it arrived first; the line is the total.{cut}",
            tuple(goodputs),
        ),
        Figure(
            "in-flight",
            "Bytes in flight by subflow",
            "Bytes that a subflow carried and that no DATA_ACK (of TCP, no ACK) has covered, as the sender sees it; "
            "the line is the total. With Multipath TCP this includes bytes that have arrived and wait for data of "
            f"another subflow.{cut}",
            tuple(flights),
        ),
        Figure(
            "window",
            "Receive window",
            "The window that the receiver advertises with each advance of the DATA_ACK, and the bytes in flight, which "
            f"it limits. There is no line if the SYN with the window scale was not captured.{cut}",
            tuple(windows),
        ),
    )


def _directions(analysis: "Analysis") -> Iterator[tuple[int, str, str]]:
    """Connection, direction and heading of what carries data, those with most of it first."""
    found = analysis.streams.filter(pl.col("segments_sent") > 0).join(analysis.connections, on="connection")
    for row in found.sort("bytes", descending=True, maintain_order=True).iter_rows(named=True):
        version = "" if row["version"] is None else f" v{row['version']}"
        ends = (
            f"{row['client']} → {row['server']}" if row["direction"] == "up" else f"{row['server']} → {row['client']}"
        )
        heading = f"connection {row['connection']}: {row['protocol'].upper()}{version}, {row['direction']}, {ends}"
        yield row["connection"], row["direction"], heading


def _colours(analysis: "Analysis") -> dict[tuple[int, str], str]:
    """Subflow by subflow within each connection."""
    colours = {}
    for connection in analysis.connections["connection"]:
        for name, colour in style.path_colours(_names(analysis, connection)["name"]).items():
            colours[connection, name] = colour
    return colours


def _names(analysis: "Analysis", connection: int) -> pl.DataFrame:
    return subflow_names(analysis).filter(connection=connection).select("subflow", "name")


def _frame(analysis: "Analysis", connection: int) -> Frame:
    events = analysis.events.filter(pl.col("kind").is_in(_MARKED), connection=connection)
    marked = tuple((at, f"{kind} by {who}") for at, kind, who in events.select("time_s", "kind", "from").iter_rows())
    return Frame(max(analysis.summary["duration_s"], 1e-3), 0.0, marked[:12])


def _segments(analysis: "Analysis", connection: int, direction: str, names: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The points of a panel, and one in how many of the segments sent first they have."""
    mine = analysis.sent.filter(pl.col("connection") == connection, pl.col("direction") == direction)
    again = mine.filter(pl.col("kind") != "new")
    again = again.gather_every(max(1, -(-again.height // _REPEATED)))
    new = mine.filter(pl.col("kind") == "new")
    every = max(1, -(-new.height // (_POINTS - again.height)))
    points = (
        pl.concat([new.gather_every(every), again])
        .join(names, on="subflow", how="left")
        .select(
            pl.col("time_s").round(6).alias("t"),
            pl.col("name").alias("series"),
            (pl.col("offset") / 1e6).alias("value"),
            pl.col("kind").cast(pl.String),
        )
    )
    return points, every


def _acks(analysis: "Analysis", connection: int, direction: str) -> pl.DataFrame:
    mine = analysis.acks.filter(pl.col("connection") == connection, pl.col("direction") == direction)
    thinned = mine.gather_every(max(1, -(-mine.height // (_POINTS // 4))))
    return thinned.select(pl.col("time_s").round(6).alias("t"), (pl.col("offset") / 1e6).alias("value"))


def _goodput(
    analysis: "Analysis", connection: int, direction: str, names: pl.DataFrame, duration_s: float
) -> pl.DataFrame:
    """Mbit/s by subflow in each interval; 0 where nothing came."""
    mine = analysis.received.filter(pl.col("connection") == connection, pl.col("direction") == direction)
    if mine.is_empty():
        return pl.DataFrame()
    width_s = duration_s / _BINS
    number = (pl.col("time_s") / width_s).floor().clip(0, _BINS - 1).cast(pl.Int64)
    summed = mine.group_by(number.alias("bin"), "subflow").agg(pl.col("new_bytes").sum())
    grid = pl.DataFrame({"bin": range(_BINS)}, schema={"bin": pl.Int64}).join(names, how="cross")
    return (
        grid.join(summed, on=["bin", "subflow"], how="left")
        .select(
            ((pl.col("bin") + 1) * width_s).round(6).alias("t"),
            pl.col("name").alias("series"),
            (pl.col("new_bytes").fill_null(0) * 8e-6 / width_s).round_sig_figs(5).alias("value"),
        )
        .sort("t", "series")
    )


def _in_flight(
    analysis: "Analysis", connection: int, direction: str, names: pl.DataFrame, duration_s: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """kB in flight by subflow; the total with the advertised window."""
    mine = (pl.col("connection") == connection) & (pl.col("direction") == direction)
    acks = analysis.acks.filter(mine)
    times_s = np.linspace(0, duration_s, _MOMENTS)
    by_subflow = in_flight(analysis.sent.filter(mine), acks, times_s)
    called = dict(names.select("subflow", "name").iter_rows())
    schema = {"t": pl.Float64, "series": pl.String, "value": pl.Float64}

    def column(series: str, values: npt.NDArray[np.float64]) -> pl.DataFrame:
        frame = pl.DataFrame({"t": times_s.round(6), "series": series, "value": values / 1e3}, schema=schema)
        return frame.with_columns(pl.col("value").round_sig_figs(5)).filter(pl.col("value").is_not_nan())

    flying = pl.concat([column(called[number], values) for number, values in by_subflow.items()])
    window = acks["window"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    latest = np.searchsorted(acks["time_s"].to_numpy(), times_s, side="right")
    advertised = np.append(np.nan, window)[latest]
    total = np.sum(list(by_subflow.values()), axis=0)
    return flying.sort("t", "series"), pl.concat([column("advertised window", advertised), column("in flight", total)])


def _panel(chart: alt.TopLevelMixin, data: dict[str, pl.DataFrame]) -> Panel:
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    return Panel(spec, data)
