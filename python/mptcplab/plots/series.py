"""What the time series draw, thinned to what a plot can show: `samples.parquet` keeps every sample."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from mptcplab.results.result import Run

ROWS: Final = 8000
"""The most points of one panel."""
PANELS: Final = 8
"""The most panels of one figure."""
MEMBERS: Final = 8
"""The most connections of one name that are drawn one by one."""


@dataclass(frozen=True)
class Thinned:
    """Points of one panel: columns `t` (s), `series` and `value`, and how many samples stand behind each point."""

    points: pl.DataFrame
    samples_per_point: int


def goodput(run: "Run", connection: str, paths: list[str]) -> Thinned:
    """Goodput in Mbit/s by path, summed over the connections of this name; 0 where a path has no subflow."""
    frame = run.samples.filter(kind="subflow", connection=connection)
    summed = frame.group_by("time_s", "path").agg(pl.col("goodput_bps").sum() / 1e6)
    times = frame.select(pl.col("time_s").unique().sort())
    grid = times.join(pl.DataFrame({"path": paths}, schema={"path": pl.String}), how="cross")
    full = grid.join(summed, on=["time_s", "path"], how="left").with_columns(pl.col("goodput_bps").fill_null(0.0))
    return _thin(full, "path", "goodput_bps")


def of_subflows(run: "Run", connection: str, column: str, scale: float) -> Thinned:
    """A column of the subflows of this name, one series per subflow: `series`, and `path` for its colour."""
    frame = run.samples.filter(pl.col("index") < MEMBERS, kind="subflow", connection=connection)
    several = (run.connections["name"] == connection).sum() > 1
    number = pl.format("{} {}", pl.col("index"), pl.col("path")) if several else pl.col("path")
    # A second subflow on the same path gets its number, so that no two series have one name.
    first = pl.col("subflow") == pl.col("subflow").min().over("index", "path")
    labelled = frame.with_columns(
        series=pl.when(first).then(number).otherwise(pl.format("{} ({})", number, pl.col("subflow"))),
        value=pl.col(column) * scale,
    )
    return _thin(labelled, "series", "value", "path")


def of_link(run: "Run", link: str, column: str) -> Thinned:
    """A column of a link, one series per direction; the largest of the samples behind a point."""
    return _thin(run.samples.filter(kind="link", link=link), "direction", column, largest=True)


def _thin(frame: pl.DataFrame, series: str, value: str, *kept: str, largest: bool = False) -> Thinned:
    behind = max(1, math.ceil(frame.height / ROWS))
    number = pl.col("time_s").rank("dense").cast(pl.Int64) - 1
    middle = pl.col(value).max() if largest else pl.col(value).mean()
    points = (
        frame.drop_nulls(value)
        .with_columns(bin=number // behind)
        .group_by("bin", series, *kept)
        .agg(pl.col("time_s").max().alias("t"), middle.cast(pl.Float64).round_sig_figs(5).alias("v"))
        .sort("bin", series)
        .select(pl.col("t").round(6), pl.col(series).alias("series"), pl.col("v").alias("value"), *kept)
    )
    return Thinned(points, behind)
