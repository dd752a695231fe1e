"""What settings are compared by: a column of a connection, the sum of one over its subflows, or one of a link."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from mptcplab.errors import Error
from mptcplab.results.columns import CONNECTIONS, LINKS, MAX_MIN_SHARE, RUN_COLUMNS, SUBFLOWS, Column
from mptcplab.scenario.errors import did_you_mean

if TYPE_CHECKING:
    import polars as pl

_SHORT: Final = {
    "goodput": "goodput_bps",
    "completion": "completion_s",
    "delivered": "bytes_delivered",
    "transfer": "transfer_mean_s",
    "transfer-p95": "transfer_p95_s",
    "out-of-order": "out_of_order_delay_mean_s",
    "silence": "longest_silence_s",
    "stalled": "video_stalled_s",
    "bitrate": "video_bitrate_mean_bps",
    "max-min-share": MAX_MIN_SHARE.name,
}
"""Short names of columns."""
_HIGHER: Final = frozenset(
    {
        "goodput_bps",
        "bytes_delivered",
        "transfers_begun",
        "transfers_complete",
        "video_bitrate_mean_bps",
        "utilization",
        MAX_MIN_SHARE.name,
    }
)
"""Columns of which more is better; of all others less is."""
_SHOWN: Final = {"bit/s": ("Mbit/s", 1e-6), "B": ("MB", 1e-6)}
_SUMMED: Final = ("segments_sent", "retransmissions", "timeouts", "reinjections")
_NUMBERS: Final = ("Float64", "UInt32", "UInt64")


def _numeric(columns: Sequence[Column]) -> dict[str, Column]:
    return {column.name: column for column in columns[RUN_COLUMNS:] if column.kind in _NUMBERS}


_OF_CONNECTIONS: Final = {
    **_numeric(CONNECTIONS),
    **{each.name: each for each in SUBFLOWS if each.name in _SUMMED},
    MAX_MIN_SHARE.name: MAX_MIN_SHARE,
}
_OF_LINKS: Final = _numeric(LINKS)


class MetricError(Error, ValueError):
    """Results do not have what they should be compared by."""


@dataclass(frozen=True)
class Metric:
    """A column, and whose."""

    column: str
    owner: str
    """The connection, or the link with its direction."""
    kind: Literal["connection", "link"] = "connection"

    @property
    def name(self) -> str:
        """As `--metric` takes it."""
        return f"{'link.' if self.kind == 'link' else ''}{self.owner}.{self.column}"

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""
        return self.column in _HIGHER

    @property
    def unit(self) -> str:
        """The unit that it is shown in."""
        return _SHOWN.get(self._described.unit, (self._described.unit, 1.0))[0]

    @property
    def scale(self) -> float:
        """From the column's unit to that."""
        return _SHOWN.get(self._described.unit, ("", 1.0))[1]

    @property
    def words(self) -> str:
        """`goodput of download (Mbit/s)`."""
        quantity = self.column.removesuffix("_bps").removesuffix("_s").replace("_", " ")
        return f"{quantity} of {self.owner.replace('.', ' ')}{f' ({self.unit})' if self.unit else ''}"

    @property
    def _described(self) -> Column:
        return (_OF_LINKS if self.kind == "link" else _OF_CONNECTIONS)[self.column]

    def values(self, frames: "Mapping[str, pl.DataFrame]") -> "pl.DataFrame":
        """The rows of the owner, with what says which run each is of, and its `value`."""
        import polars as pl

        if self.kind == "link":
            name, _, direction = self.owner.rpartition(".")
            found = frames["links"].filter(pl.col("name") == name, pl.col("direction") == direction)
            return found.with_columns(value=pl.col(self.column).cast(pl.Float64))
        connections = frames["connections"].filter(pl.col("name") == self.owner)
        if self.column not in _SUMMED:
            return connections.with_columns(value=pl.col(self.column).cast(pl.Float64))
        subflows = frames["subflows"].filter(pl.col("connection") == self.owner)
        keys = subflows.columns[: subflows.columns.index("run") + 1]  # what says which run it is
        sums = subflows.group_by(*keys, "index").agg(
            value=pl.when(pl.col(self.column).null_count() == 0).then(pl.col(self.column).sum()).cast(pl.Float64)
        )
        return connections.join(sums, on=[*keys, "index"], how="left", nulls_equal=True, maintain_order="left")


def find(text: str | None, frames: "Mapping[str, pl.DataFrame]", keys: Sequence[str]) -> Metric:
    """The metric of a name, `[CONNECTION.]COLUMN` or `link.NAME.DIRECTION.COLUMN`; without a name what fits.

    `keys` are those that differ between the settings: a connection of theirs is the one that is meant. What fits is the
    mean time of its transfers, the time to its end, or its goodput. Raises MetricError.
    """
    connections = frames["connections"]
    names = list(dict.fromkeys(connections["name"].to_list()))
    if text is None:
        owner = _owner(names, keys)
        return Metric(_fitting(connections, owner), owner)
    if text.startswith("link."):
        return _of_link(text, frames["links"])
    return of_connection(text, names, keys)


def _owner(names: Sequence[str], keys: Sequence[str]) -> str:
    """The connection that is meant where none is named."""
    if not names:
        raise MetricError("the results have no connection to compare")
    varied = [parts[1] for key in keys if (parts := key.split("."))[0] == "connection" and len(parts) > 1]
    return next((name for name in varied if name in names), names[0])


def of_connection(text: str, names: Sequence[str], keys: Sequence[str]) -> Metric:
    """The metric `[CONNECTION.]COLUMN` of one of the connections `names`; `keys` as for `find`. Raises MetricError."""
    owner = _owner(names, keys)
    # A name may have dots; the column has none.
    named, dot, column = text.rpartition(".")
    if dot and named not in names:
        raise MetricError(f"found {text!r}: there is no connection {named!r}; it has {', '.join(names)}")
    column = column_of(column)
    if column not in _OF_CONNECTIONS:
        known = [*_SHORT, *_OF_CONNECTIONS]
        raise MetricError(
            f"found {text!r}; expected [CONNECTION.]NAME with one of {', '.join(_SHORT)}, {', '.join(_SUMMED)}, a "
            f"numeric column of connections, or link.NAME.DIRECTION.COLUMN{did_you_mean(column, known)}"
        )
    return Metric(column, named or owner)


def column_of(text: str) -> str:
    """The column that the last part of a metric's name stands for."""
    name = text.rpartition(".")[2]
    return _SHORT.get(name, name)


def _of_link(text: str, links: "pl.DataFrame") -> Metric:
    owner, _, column = text.removeprefix("link.").rpartition(".")
    there = list(dict.fromkeys(f"{name}.{direction}" for name, direction in links["name", "direction"].iter_rows()))
    if owner not in there:
        raise MetricError(f"found {text!r}: there is no link {owner!r}; the results have {', '.join(there)}")
    if column not in _OF_LINKS:
        hint = did_you_mean(column, _OF_LINKS)
        raise MetricError(f"found {text!r}; expected one of the columns {', '.join(_OF_LINKS)}{hint}")
    return Metric(column, owner, "link")


def _fitting(connections: "pl.DataFrame", owner: str) -> str:
    own = connections.filter(name=owner)
    for column in ("transfer_mean_s", "completion_s"):
        if own[column].null_count() < own.height:
            return column
    return "goodput_bps"
