"""What is read off the runs: rates, losses, and intervals over the seeds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from mptcplab.reproduce import Equality, Found, Number, Order, Ratio
from scipy import stats

RTT_S: Final = 0.15
PACKET_BYTES: Final = 1500
SEGMENTS_PER_MBIT: Final = 1e6 / 8 / PACKET_BYTES
WIRE: Final = {"tcp": PACKET_BYTES / 1448, "mptcp": PACKET_BYTES / 1420}
"""Packets carry so many times their payload: the paper's capacities and closed forms count packets."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95 % confidence interval (Student's t)."""

    mean: Found
    """With its interval, which what is calculated from it inherits."""
    half: float
    """Half of the interval's width; not a number with a single seed."""
    runs: int

    @property
    def low(self) -> float:
        """The lower end; the mean itself with a single seed."""
        return self.mean if np.isnan(self.half) else self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean if np.isnan(self.half) else self.mean + self.half

    def text(self, digits: int = 3, scale: float = 1.0) -> str:
        """`0.776 ± 0.004`."""
        half = "" if np.isnan(self.half) else f" ± {self.half * scale:.{digits}f}"
        return f"{self.mean * scale:.{digits}f}{half}"


_NONE: Final = Estimate(Found(float("nan"), float("inf")), float("nan"), 0)


def estimate(values: Iterable[float | None]) -> Estimate:
    """Of one value a seed."""
    given = np.array([value for value in values if value is not None], dtype=np.float64)
    if len(given) == 0:
        return _NONE
    if len(given) == 1:
        return Estimate(Found(float(given[0]), float("inf")), float("nan"), 1)
    half = stats.t.ppf(0.975, len(given) - 1) * given.std(ddof=1) / np.sqrt(len(given))
    return Estimate(Found(float(given.mean()), float(half)), float(half), len(given))


def by_seed(rows: pl.DataFrame, value: pl.Expr) -> list[float | None]:
    """One value a seed."""
    return rows.group_by("seed", maintain_order=True).agg(value.alias("value"))["value"].to_list()


def rate(connections: pl.DataFrame, name: str, *, packets: bool = True) -> Estimate:
    """Mean rate in Mbit/s of the connections of this name, in packets of 1,500 bytes or as application data."""
    rows = connections.filter(pl.col("name") == name)
    if rows.is_empty():
        return _NONE
    factor = WIRE[rows["protocol"][0]] if packets else 1.0
    return estimate(by_seed(rows, pl.col("goodput_bps").mean() * factor / 1e6))


def link_loss(links: pl.DataFrame, name: str) -> Estimate:
    """Loss rate of a link's direction down."""
    rows = links.filter((pl.col("name") == name) & (pl.col("direction") == "down"))
    return estimate(by_seed(rows, pl.col("loss_rate").mean()))


def window(subflows: pl.DataFrame, connection: str, path: str) -> Estimate:
    """Mean window in segments of a kind of connection on a path."""
    rows = subflows.filter((pl.col("connection") == connection) & (pl.col("path") == path))
    return estimate(by_seed(rows, pl.col("cwnd_mean_segments").mean()))


def alike(one: Estimate, other: Estimate | float) -> Equality:
    """That two are the same, the other by calculation perhaps."""
    if isinstance(other, Estimate):
        return Equality(one.mean, other.mean, one.half, other.half)
    return Equality(one.mean, other, one.half, 0.0)


def less(smaller: Estimate, larger: Estimate, *, far: bool = False) -> Order:
    """That one is smaller than the other."""
    return Order(smaller.mean, larger.mean, smaller.half, larger.half, far=far)


def printed(published: float, found: Estimate) -> Number:
    """A printed number."""
    return Number(published, found.mean, found.half)


def times(published: float, found: Estimate, before: Estimate) -> Ratio:
    """That it is so many times what it was before."""
    ratio = found.mean / before.mean
    return Ratio(published, ratio, ratio * float(np.hypot(found.half / found.mean, before.half / before.mean)))
