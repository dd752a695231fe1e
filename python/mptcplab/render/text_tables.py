"""The tables of a Result, for the terminal and for the report: the same rows, units and digits in both."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from mptcplab.results.json_document import NamedRows, over_runs

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
    """Whether its standard deviation over the runs is shown next to it."""


_CONNECTION_NUMBERS: Final = (
    _Number("goodput_bps", "goodput", "Mbit/s", 1e-6, spread=True),
    _Number("bytes_delivered", "delivered", "MB", 1e-6, expendable=3),
    _Number("completion_s", "completion", "s", expendable=2),
    _Number("out_of_order_delay_mean_s", "out of order", "mean, ms", 1e3, expendable=5),
    _Number("out_of_order_delay_p95_s", "out of order", "p95, ms", 1e3, expendable=6),
    _Number("longest_silence_s", "longest silence", "s", expendable=8),
    _Number("packet_overhead", "overhead", "%", 1e2, expendable=9),
)
_NOTICE: Final = _Number("notice_s", "notice", "s", expendable=8)
"""Shown where a path failed, which is rare."""
_TRANSFER_NUMBERS: Final = (
    _Number("transfers_begun", "begun", "", whole=True),
    _Number("transfers_complete", "complete", "", whole=True),
    _Number("transfer_mean_s", "time", "mean, s", spread=True),
    _Number("transfer_p50_s", "time", "median, s", expendable=1),
    _Number("transfer_p95_s", "time", "p95, s", expendable=2),
    _Number("transfer_p99_s", "time", "p99, s", expendable=3),
)
_VIDEO_NUMBERS: Final = (
    _Number("video_startup_s", "startup", "s", spread=True),
    _Number("video_stalls", "stalls", "", whole=True),
    _Number("video_stalled_s", "stalled", "s", spread=True),
    _Number("video_bitrate_mean_bps", "bit rate", "mean, Mbit/s", 1e-6, spread=True),
    _Number("video_switches", "switches", "", whole=True, expendable=1),
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
    """Connections; transfers and video where there are any; subflows and links. Of several runs the means."""
    several = len(result.runs) > 1
    suffix = f", mean of {len(result.runs)} runs (± standard deviation)" if several else ""

    connections = result.rows("connections")
    keys = ["name", "index", "protocol", "congestion", "scheduler"]
    noticed = any(row["notice_s"] is not None for row in connections)
    numbers = (*_CONNECTION_NUMBERS, *((_NOTICE,) if noticed else ()))
    rows = _prepared(connections, keys, numbers, several)
    numbered = numbered_names(connections)
    connection_fields = [
        _text("connection", _names(rows, "name", numbered)),
        _text("protocol", _column(rows, "protocol"), expendable=4),
        _text("congestion", _column(rows, "congestion"), kind="algorithm"),
        _text("scheduler", _column(rows, "scheduler"), expendable=7),
        *_numbers(rows, numbers, several),
    ]
    fallen = {(row["name"], row["index"]) for row in connections if row["fallback"]}
    if fallen:
        marks = ["TCP" if (row["name"], row["index"]) in fallen else "" for row in rows]
        connection_fields.append(_text("fallback", marks))

    rows = _prepared(result.rows("subflows"), ["connection", "index", "subflow", "path"], _SUBFLOW_NUMBERS, several)
    subflow_fields = [
        _text("connection", _names(rows, "connection", numbered)),
        _text("path", _column(rows, "path"), kind="path"),
        *_numbers(rows, _SUBFLOW_NUMBERS, several),
    ]

    rows = _prepared(result.rows("links"), ["name", "direction"], _LINK_NUMBERS, several)
    link_fields = [
        _text("link", _column(rows, "name"), kind="path"),
        _text("direction", _column(rows, "direction")),
        *_numbers(rows, _LINK_NUMBERS, several),
    ]
    videos = [row for row in connections if row["video_stalls"] is not None]
    playback = []
    if videos:
        rows = _prepared(videos, ["name", "index"], _VIDEO_NUMBERS, several)
        names = _text("connection", _names(rows, "name", numbered))
        playback.append(Table(f"Video{suffix}", (names, *_numbers(rows, _VIDEO_NUMBERS, several))))
    repeating = [row for row in connections if row["transfers_begun"] is not None]
    transfers = []
    if repeating:
        rows = _prepared(repeating, ["name", "index"], _TRANSFER_NUMBERS, several)
        names = _text("connection", _names(rows, "name", numbered))
        fields = (names, *_numbers(rows, _TRANSFER_NUMBERS, several))
        transfers.append(Table(f"Transfers{suffix}", fields))
    return (
        Table(f"Connections{suffix}", tuple(connection_fields)),
        *transfers,
        *playback,
        Table(f"Subflows{suffix}", tuple(subflow_fields)),
        Table(f"Links{suffix}", tuple(link_fields)),
    )


def for_terminal(result: "Result", console: Console) -> RenderableType:
    """The three tables of a result."""
    return drawn(tables(result), console)


def drawn(several: Sequence[Table], console: Console) -> RenderableType:
    """Tables one below the other; columns are left out, and named, where the terminal is too narrow for all."""
    return Group(*(part for table in several for part in (_fitted(table, console), Text())))


def _prepared(rows: NamedRows, keys: list[str], numbers: Sequence[_Number], several: bool) -> NamedRows:
    if not several:
        return rows
    sources = [number.source for number in numbers]
    return [row | {source: row[f"{source}:mean"] for source in sources} for row in over_runs(rows, keys, sources)]


def numbered_names(connections: NamedRows) -> set[str]:
    """The names that several connections share, and so are shown with an index."""
    return {row["name"] for row in connections if row["index"] > 0}


def _names(rows: NamedRows, column: str, numbered: set[str]) -> list[str]:
    """Name of a connection, with its index where there are several of that name."""
    return [f"{row[column]} {row['index']}" if row[column] in numbered else row[column] for row in rows]


def _column(rows: NamedRows, name: str) -> list[Any]:
    return [row[name] for row in rows]


def _text(
    header: str,
    cells: Sequence[str | None],
    *,
    kind: Literal["text", "path", "algorithm"] = "text",
    expendable: int = 0,
) -> Field:
    return Field(header, "", tuple(_MISSING if cell is None else cell for cell in cells), kind, expendable)


def _numbers(rows: NamedRows, numbers: Sequence[_Number], several: bool) -> list[Field]:
    fields = []
    for number in numbers:
        values = [None if value is None else value * number.scale for value in _column(rows, number.source)]
        digits = int(several) if number.whole else decimals(values)
        show = formatter(digits)
        fields.append(Field(number.header, number.unit, tuple(map(show, values)), "number", number.expendable))
        if several and number.spread:
            spreads = [
                None if value is None else value * number.scale for value in _column(rows, f"{number.source}:sd")
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
        attempt = _rich(fields)
        if Measurement.get(console, console.options.update(width=10_000), attempt).maximum <= console.width:
            break
        worst = max(fields, key=lambda field: field.expendable)
        if worst.expendable == 0:
            break
        fields = [field for field in fields if field is not worst and (not worst.group or field.group != worst.group)]
        left_out.append(worst.group or (f"{worst.header} ({worst.unit})" if worst.unit else worst.header))
    notes = []
    if left_out:
        notes.append(f"columns omitted because the terminal is too narrow: {', '.join(reversed(left_out))}")
    if table.length > _TERMINAL_ROWS:
        notes.append(f"{table.length - _TERMINAL_ROWS} more rows; --out writes all of them")
    # Not as rich's title, which is folded to the width of the table.
    return Group(Text(table.title, style="bold"), attempt, *(Text(f"  {note}", style="dim") for note in notes))


def _rich(fields: Sequence[Field]) -> RichTable:
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for field in fields:
        header = f"{field.header}\n{field.unit}"
        drawn.add_column(
            header, justify="right" if field.kind == "number" else "left", no_wrap=True, overflow="ellipsis"
        )
    for row in list(zip(*(field.cells for field in fields), strict=True))[:_TERMINAL_ROWS]:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
