"""How the subflows of a connection move over time: from the frame `samples` to a row for each connection."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from mptcplab import metrics

_CONNECTION: Final = ("connection", "index")
_NO_LABELS: Final = ("time_s", "kind", "subflow", "path", "link", "direction")


def shares_over_time(samples: pl.DataFrame, *, column: str = "goodput_bps") -> pl.DataFrame:
    """Each subflow's share of its connection at each moment, column ``share``; rows of connections with all subflows.

    ``column`` is what is shared: ``goodput_bps`` or ``cwnd_segments``. Labels before `time_s` tell runs apart.
    """
    rows = _of_subflows(samples)
    keys = [*_labels(rows), *_CONNECTION, "time_s"]
    value = pl.col(column).cast(pl.Float64)
    total = value.sum().over(keys)
    count = pl.len().over(keys)
    most = pl.col("subflow").n_unique().over([*_labels(rows), *_CONNECTION])
    return (
        rows.filter(count == most).with_columns(share=pl.when(total > 0).then(value / total)).sort([*keys, "subflow"])
    )


def flappiness(
    samples: pl.DataFrame, *, column: str = "cwnd_segments", dominance: float = 0.8, since_s: float = 0.0
) -> pl.DataFrame:
    """Flips of each connection a minute, columns ``flips`` and ``flips_per_min``: see `mptcplab.metrics.flips`."""
    rows = []
    for key, at, values in _series(samples, column, since_s):
        count = metrics.flips(values, dominance)
        lasts_s = at[-1] - at[0]
        rows.append({**key, "flips": count, "flips_per_min": 60 * count / lasts_s if lasts_s > 0 else None})
    return pl.DataFrame(rows, infer_schema_length=None)


def traffic_shift(samples: pl.DataFrame, *, column: str = "goodput_bps", since_s: float = 0.0) -> pl.DataFrame:
    """How far the mean traffic of each connection has moved to one path, column ``traffic_shift``, 0 to 1."""
    rows = [
        {**key, "traffic_shift": float(metrics.traffic_shift(values.mean(axis=0)))}
        for key, _, values in _series(samples, column, since_s)
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("traffic_shift").fill_nan(None))


def settling_time(
    samples: pl.DataFrame,
    *,
    since_s: float,
    column: str = "goodput_bps",
    tolerance: float = 0.1,
    average_s: float = 1.0,
) -> pl.DataFrame:
    """Time until the shares of each connection have settled, column ``settling_time_s``; null if they have not.

    The slowest subflow counts. ``tolerance`` is a part of the connection's traffic: see
    `mptcplab.metrics.settling_time_s`.
    """
    rows = []
    for key, at, values in _series(samples, column, since_s):
        shares = np.nan_to_num(metrics.path_shares(values))
        times = [
            metrics.settling_time_s(at, share, since_s=since_s, tolerance=tolerance, average_s=average_s)
            for share in shares.T
        ]
        known = [time for time in times if time is not None]
        rows.append({**key, "settling_time_s": max(known) if len(known) == len(times) else None})
    return pl.DataFrame(rows, schema_overrides={"settling_time_s": pl.Float64}, infer_schema_length=None)


def _of_subflows(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.filter(pl.col("kind") == "subflow")


def _labels(samples: pl.DataFrame) -> list[str]:
    """What tells runs apart: the columns before those of a sample."""
    names: Sequence[str] = samples.columns
    return list(names[: min(names.index(name) for name in (*_NO_LABELS, *_CONNECTION) if name in names)])


def _series(
    samples: pl.DataFrame, column: str, since_s: float
) -> Iterator[tuple[dict[str, object], metrics.Floats, metrics.Floats]]:
    """Of each connection of two subflows or more: its labels, moments after ``since_s``, values (moments, subflows)."""
    rows = _of_subflows(samples).filter(pl.col("time_s") > since_s)
    keys = [*_labels(rows), *_CONNECTION]
    for group in rows.partition_by(keys, maintain_order=True):
        subflows = sorted(group["subflow"].unique())
        if len(subflows) < 2:
            continue
        wide = group.pivot("subflow", index="time_s", values=column).drop_nulls().sort("time_s")
        if wide.height == 0:
            continue
        values = wide.select(str(subflow) for subflow in subflows).to_numpy().astype(np.float64)
        yield group.select(keys).row(0, named=True), wide["time_s"].to_numpy(), values
