"""What is read off the runs, and the verdicts on it.

The rules of the verdicts are those of all papers: mptcplab.reproduce.judge.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from mptcplab.reproduce import Check, Claim, Equality, Item, Number, Order, Share
from scipy import stats

from .networks import PACKET_BYTES, PAYLOAD_BYTES

_UNTRACED: Final = "Not traced to a cause."


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95 % confidence interval (Student's t)."""

    mean: float
    half: float
    """Half of the interval's width; not a number with a single seed."""

    def text(self, digits: int = 3) -> str:
        """`0.776 ± 0.004`."""
        half = "" if np.isnan(self.half) else f" ± {self.half:.{digits}f}"
        return f"{self.mean:.{digits}f}{half}"


def estimate(values: Iterable[float | None]) -> Estimate:
    """Of one value a seed."""
    given = np.array([value for value in values if value is not None], dtype=np.float64)
    if len(given) < 2:
        return Estimate(float(given[0]) if len(given) else float("nan"), float("nan"))
    half = stats.t.ppf(0.975, len(given) - 1) * given.std(ddof=1) / np.sqrt(len(given))
    return Estimate(float(given.mean()), float(half))


def in_packets(protocol: str) -> float:
    """Bytes of packets per byte of payload."""
    return PACKET_BYTES / PAYLOAD_BYTES[protocol]


def by_seed(rows: pl.DataFrame, value: pl.Expr) -> Estimate:
    """A value of each run."""
    return estimate(rows.group_by("seed", maintain_order=True).agg(value.alias("value"))["value"].to_list())


def rate(connections: pl.DataFrame, start: str, *, total: bool = False) -> Estimate:
    """Mbit/s of packets of the connections whose names begin so: the mean of one, or all of them together."""
    rows = connections.filter(pl.col("name").str.starts_with(start)).with_columns(
        wire=pl.col("goodput_bps") * pl.col("protocol").replace_strict({p: in_packets(p) for p in PAYLOAD_BYTES}) / 1e6
    )
    return by_seed(rows, pl.col("wire").sum() if total else pl.col("wire").mean())


def subflow(subflows: pl.DataFrame, connection: str, number: int) -> Estimate:
    """Mbit/s of packets of a subflow of a multipath flow."""
    rows = subflows.filter((pl.col("connection") == connection) & (pl.col("subflow") == number))
    return by_seed(rows, pl.col("goodput_bps").sum() * in_packets("mptcp") / 1e6)


def share(subflows: pl.DataFrame, connection: str, number: int) -> Estimate:
    """A subflow's percentage of its flow."""
    rows = subflows.filter(pl.col("connection") == connection)
    part = pl.col("goodput_bps").filter(pl.col("subflow") == number).sum() / pl.col("goodput_bps").sum()
    return by_seed(rows, 100 * part)


def queue(links: pl.DataFrame, name: str) -> Estimate:
    """Mean queue of a link in packets."""
    return by_seed(_down(links, name), pl.col("queue_mean_packets").mean())


def drops(links: pl.DataFrame, name: str) -> Estimate:
    """Packets lost at a link after the warm-up."""
    return by_seed(_down(links, name), pl.col("drops").sum().cast(pl.Float64))


def utilization(links: pl.DataFrame) -> Estimate:
    """Percentage of all links' capacity that is used; links of different rates weigh by what `rate` column there is."""
    rows = links.filter(pl.col("direction") == "down")
    return by_seed(rows, 100 * pl.col("utilization").mean())


def _down(links: pl.DataFrame, name: str) -> pl.DataFrame:
    return links.filter((pl.col("name") == name) & (pl.col("direction") == "down"))


def number(
    item: Item,
    key: str,
    found: Estimate | float,
    text: str,
    *,
    scale: float = 1e6,
    percent: bool = False,
    cause: str = "",
) -> Claim:
    """A claim on a printed number; `scale` is what the printed unit is to that of what was found."""
    value, half = (found.mean, found.half) if isinstance(found, Estimate) else (found, None)
    printed = item[key] / scale
    check = Share(printed, value, half, whole=100) if percent else Number(printed, value, half)
    return Claim(key, text, printed, value, check, cause or _UNTRACED)


def truth(key: str, text: str, found: str, check: Check, *, cause: str = "") -> Claim:
    """A claim on a statement."""
    return Claim(key, text, None, found, check, cause or _UNTRACED)


def less(smaller: Estimate, larger: Estimate, *, far: bool = False, whole: float | None = None) -> Order:
    """That one is smaller than the other."""
    return Order(smaller.mean, larger.mean, smaller.half, larger.half, far=far, whole=whole)


def alike(one: Estimate, other: Estimate) -> Equality:
    """That both are the same."""
    return Equality(one.mean, other.mean, one.half, other.half)
