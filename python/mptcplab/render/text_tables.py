"""The tables of a Result, for the terminal and for the report: the same rows, units and digits in both."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import polars as pl
from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from mptcplab.results.json_document import over_runs

if TYPE_CHECKING:
    from mptcplab.results.result import Result

# More rows than a person reads on a terminal; the frames have them all.
_TERMINAL_ROWS: Final = 40
_MISSING: Final = "–"


@dataclass(frozen=True)
class Field:
    """A column of a table: what it is called, its unit, its texts, and how soon it goes when space is short."""

    header: str
    unit: str
    cells: tuple[str, ...]
    kind: Literal["text", "number", "path", "algorithm"]
    """What the texts are: numbers stand to the right, paths and algorithms have colours."""
    expendable: int = 0
    """0: never left out; else the larger goes first."""
    group: str = ""
    """Columns of one group are left out together, and named so."""


@dataclass(frozen=True)
class Table:
    """A table, ready to be shown."""

    title: str
    fields: tuple[Field, ...]

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self.fields[0].cells)


@dataclass(frozen=True)
class _Number:
    """How a numeric column of a frame is shown."""

    source: str
    header: str
    unit: str
    scale: float = 1.0
    expendable: int = 0
    whole: bool = False
    spread: bool = False
    """Whether its standard deviation over the runs is shown beside it."""


_CONNECTION_NUMBERS: Final = (
    _Number("goodput_bps", "goodput", "Mbit/s", 1e-6, spread=True),
    _Number("bytes_delivered", "delivered", "MB", 1e-6, expendable=3),
    _Number("completion_s", "completion", "s", expendable=2),
    _Number("out_of_order_delay_mean_s", "out of order", "mean, ms", 1e3, expendable=5),
    _Number("out_of_order_delay_p95_s", "out of order", "p95, ms", 1e3, expendable=6),
)
_TRANSFER_NUMBERS: Final = (
    _Number("transfers_begun", "begun", "", whole=True),
    _Number("transfers_complete", "complete", "", whole=True),
    _Number("transfer_mean_s", "time", "mean, s", spread=True),
    _Number("transfer_p50_s", "time", "median, s", expendable=1),
    _Number("transfer_p95_s", "time", "p95, s", expendable=2),
    _Number("transfer_p99_s", "time", "p99, s", expendable=3),
)
_SUBFLOW_NUMBERS: Final = (
    _Number("goodput_bps", "goodput", "Mbit/s", 1e-6, spread=True),
    _Number("share", "share", "%", 1e2),
    _Number("segments_sent", "sent", "segments", whole=True, expendable=6),
    _Number("retransmissions", "retransmitted", "segments", whole=True, expendable=3),
    _Number("timeouts", "timeouts", "", whole=True, expendable=4),
    _Number("reinjections", "reinjected", "segments", whole=True, expendable=5),
    _Number("loss_rate", "loss", "%", 1e2, expendable=1),
    _Number("rtt_mean_s", "RTT", "mean, ms", 1e3),
    _Number("cwnd_mean_segments", "window", "mean, segments", expendable=2),
)
_LINK_NUMBERS: Final = (
    _Number("utilization", "utilization", "%", 1e2, spread=True),
    _Number("loss_rate", "loss", "%", 1e2),
    _Number("drops", "lost", "packets", whole=True, expendable=1),
    _Number("queue_mean_packets", "queue", "mean, packets"),
    _Number("queue_max_packets", "queue", "max, packets", whole=True, expendable=2),
)


def tables(result: "Result") -> tuple[Table, ...]:
    """Connections, requests and flows where there are any, subflows and links; of several runs the means."""
    several = len(result.runs) > 1
    suffix = f", mean of {len(result.runs)} runs (± standard deviation)" if several else ""

    connections = result.connections
    keys = ["name", "index", "protocol", "congestion", "scheduler"]
    frame = _prepared(connections, keys, _CONNECTION_NUMBERS, several)
    numbered = numbered_names(connections)
    connection_fields = [
        _text("connection", _names(frame, "name", numbered)),
        _text("protocol", frame["protocol"].to_list(), expendable=4),
        _text("congestion", frame["congestion"].to_list(), kind="algorithm"),
        _text("scheduler", frame["scheduler"].to_list(), expendable=7),
        *_numbers(frame, _CONNECTION_NUMBERS, several),
    ]
    if connections["fallback"].any():
        fallen = set(connections.filter("fallback").select("name", "index").iter_rows())
        marks = ["TCP" if pair in fallen else "" for pair in frame.select("name", "index").iter_rows()]
        connection_fields.append(_text("fallback", marks))

    frame = _prepared(result.subflows, ["connection", "index", "subflow", "path"], _SUBFLOW_NUMBERS, several)
    subflow_fields = [
        _text("connection", _names(frame, "connection", numbered)),
        _text("path", frame["path"].to_list(), kind="path"),
        *_numbers(frame, _SUBFLOW_NUMBERS, several),
    ]

    frame = _prepared(result.links, ["name", "direction"], _LINK_NUMBERS, several)
    link_fields = [
        _text("link", frame["name"].to_list(), kind="path"),
        _text("direction", frame["direction"].to_list()),
        *_numbers(frame, _LINK_NUMBERS, several),
    ]
    repeating = connections.filter(pl.col("transfers_begun").is_not_null())
    transfers = []
    if repeating.height:
        frame = _prepared(repeating, ["name", "index"], _TRANSFER_NUMBERS, several)
        names = _text("connection", _names(frame, "name", numbered))
        fields = (names, *_numbers(frame, _TRANSFER_NUMBERS, several))
        transfers.append(Table(f"Requests and flows{suffix}", fields))
    return (
        Table(f"Connections{suffix}", tuple(connection_fields)),
        *transfers,
        Table(f"Subflows{suffix}", tuple(subflow_fields)),
        Table(f"Links{suffix}", tuple(link_fields)),
    )


def for_terminal(result: "Result", console: Console) -> RenderableType:
    """The three tables of a result."""
    return drawn(tables(result), console)


def drawn(several: Sequence[Table], console: Console) -> RenderableType:
    """Tables one below the other; columns are left out, and named, where the terminal is too narrow for all."""
    return Group(*(part for table in several for part in (_fitted(table, console), Text())))


def _prepared(frame: pl.DataFrame, keys: list[str], numbers: Sequence[_Number], several: bool) -> pl.DataFrame:
    if not several:
        return frame
    means = over_runs(frame, keys, [number.source for number in numbers])
    return means.rename({f"{number.source}:mean": number.source for number in numbers})


def numbered_names(connections: pl.DataFrame) -> set[str]:
    """The names that several connections share, and so are shown with an index."""
    return set(connections.filter(pl.col("index") > 0)["name"].to_list())


def _names(frame: pl.DataFrame, column: str, numbered: set[str]) -> list[str]:
    """Name of a connection, with its index where there are several of that name."""
    return [
        f"{name} {index}" if name in numbered else name for name, index in frame.select(column, "index").iter_rows()
    ]


def _text(
    header: str,
    cells: Sequence[str | None],
    *,
    kind: Literal["text", "path", "algorithm"] = "text",
    expendable: int = 0,
) -> Field:
    return Field(header, "", tuple(_MISSING if cell is None else cell for cell in cells), kind, expendable)


def _numbers(frame: pl.DataFrame, numbers: Sequence[_Number], several: bool) -> list[Field]:
    fields = []
    for number in numbers:
        values = [None if value is None else value * number.scale for value in frame[number.source].to_list()]
        digits = int(several) if number.whole else decimals(values)
        show = formatter(digits)
        fields.append(Field(number.header, number.unit, tuple(map(show, values)), "number", number.expendable))
        if several and number.spread:
            spreads = [
                None if value is None else value * number.scale for value in frame[f"{number.source}:sd"].to_list()
            ]
            fields.append(Field("±", number.unit, tuple(map(show, spreads)), "number", number.expendable))
    return fields


def decimals(values: Sequence[float | None]) -> int:
    """Decimals that give the largest value four significant digits, at most three."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    return 2 if largest == 0.0 else min(3, max(0, 3 - math.floor(math.log10(largest))))


def formatter(digits: int) -> Callable[[float | None], str]:
    """Texts of numbers with so many decimals; a dash for what is not known."""
    return lambda value: _MISSING if value is None else f"{value:.{digits}f}"


def _fitted(table: Table, console: Console) -> RenderableType:
    fields, left_out = list(table.fields), []
    while True:
        attempt = _rich(table.title, fields)
        if Measurement.get(console, console.options.update(width=10_000), attempt).maximum <= console.width:
            break
        worst = max(fields, key=lambda field: field.expendable)
        if worst.expendable == 0:
            break
        fields = [field for field in fields if field is not worst and (not worst.group or field.group != worst.group)]
        left_out.append(worst.group or (f"{worst.header} ({worst.unit})" if worst.unit else worst.header))
    notes = []
    if left_out:
        notes.append(f"left out, the terminal is too narrow: {', '.join(reversed(left_out))}")
    if table.length > _TERMINAL_ROWS:
        notes.append(f"{table.length - _TERMINAL_ROWS} more rows: --out writes them all")
    return Group(attempt, *(Text(f"  {note}", style="dim") for note in notes))


def _rich(title: str, fields: Sequence[Field]) -> RichTable:
    drawn = RichTable(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for field in fields:
        header = f"{field.header}\n{field.unit}"
        drawn.add_column(
            header, justify="right" if field.kind == "number" else "left", no_wrap=True, overflow="ellipsis"
        )
    for row in list(zip(*(field.cells for field in fields), strict=True))[:_TERMINAL_ROWS]:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
