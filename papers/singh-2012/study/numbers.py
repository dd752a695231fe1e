"""What is read off the runs, and the verdicts on it.

The rules of the verdicts are those of all papers: mptcplab.reproduce.judge.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl
from mptcplab.reproduce import Check, Claim, Context, Equality, Found, Item, Number, Order, Share, bistable, known
from mptcplab.reproduce.machine import Reading
from mptcplab.sweeps.frames import Label, Runs

from . import networks

_UNTRACED: Final = "unknown: not traced to a cause."


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95 % confidence interval (Student's t)."""

    mean: float
    half: float
    """Half of the interval's width; infinite with a single seed."""
    values: tuple[float, ...] = ()
    """One a seed."""

    @property
    def found(self) -> Found:
        """For a check."""
        return Found(self.mean, self.half)

    def text(self, digits: int = 3) -> str:
        """`0.776 ± 0.004`."""
        half = "" if np.isinf(self.half) else f" ± {self.half:.{digits}f}"
        return f"{self.mean:.{digits}f}{half}"


def estimate(values: Iterable[float | None]) -> Estimate:
    """Of one value a seed."""
    given = tuple(float(value) for value in values if value is not None)
    found = known(given)
    return Estimate(found.mean, found.half, given)


def across(made: Callable[..., float], *estimates: Estimate) -> Estimate:
    """What is made of several numbers of the same run, seed by seed."""
    return estimate(made(*each) for each in zip(*(each.values for each in estimates), strict=True))


def machine_of(context: Context) -> Reading:
    """By which an item's networks are made."""
    return context.machine if context.published.kind == "table" else Reading(networks.MACHINE)


Asked = tuple[Mapping[str, Label], Mapping[str, Any], int]
"""Labels, a scenario as its file would have it, and a seed."""


def run(context: Context, wanted: Sequence[Asked], *, samples: bool = False) -> Runs:
    """Runs on the machine.

    `packets_bps` counts what arrived as packets with their headers, `queue_packets` is the mean queue. Tables have a
    reading by the text as well. Figures have no digits that their packets could change.
    """
    read = machine_of(context)
    made = {id(scenario): networks.as_ran(read, scenario) for _, scenario, _ in wanted}
    runs = context.run_many([(labels, made[id(scenario)], seed) for labels, scenario, seed in wanted], samples=samples)
    kinds = runs.connections.select("protocol", "congestion").unique(maintain_order=True)
    factors = kinds.with_columns(
        per_byte=pl.Series([networks.in_packets(read, *row) for row in kinds.iter_rows()], dtype=pl.Float64)
    )
    connections = runs.connections.join(
        factors, on=["protocol", "congestion"], how="left", maintain_order="left", validate="m:1"
    ).with_columns(packets_bps=pl.col("goodput_bps") * pl.col("per_byte"))
    flows = connections.select("run", "seed", "per_byte", connection="name").unique(maintain_order=True)
    subflows = runs.subflows.join(
        flows, on=["run", "seed", "connection"], how="left", maintain_order="left", validate="m:1"
    ).with_columns(packets_bps=pl.col("goodput_bps") * pl.col("per_byte"))
    # A link is busy while a packet is being sent, which its queue has as well.
    sending = pl.col("utilization") if read["queue-mean"] == "what waits" else 0.0
    links = runs.links.with_columns(queue_packets=pl.col("queue_mean_packets") - sending)
    return replace(runs, connections=connections, subflows=subflows, links=links)


def by_seed(rows: pl.DataFrame, value: pl.Expr) -> Estimate:
    """A value of each run."""
    return estimate(rows.group_by("seed", maintain_order=True).agg(value.alias("value"))["value"].to_list())


def rate(connections: pl.DataFrame, start: str, *, total: bool = False) -> Estimate:
    """Mbit/s of packets of the connections whose names begin so: the mean of one, or all of them together."""
    rows = connections.filter(pl.col("name").str.starts_with(start))
    bits = pl.col("packets_bps") / 1e6
    return by_seed(rows, bits.sum() if total else bits.mean())


def subflow(subflows: pl.DataFrame, connection: str, number: int) -> Estimate:
    """Mbit/s of packets of a subflow of a multipath flow."""
    rows = subflows.filter((pl.col("connection") == connection) & (pl.col("subflow") == number))
    return by_seed(rows, pl.col("packets_bps").sum() / 1e6)


def share(subflows: pl.DataFrame, connection: str, number: int) -> Estimate:
    """A subflow's percentage of its flow."""
    rows = subflows.filter(pl.col("connection") == connection)
    part = pl.col("goodput_bps").filter(pl.col("subflow") == number).sum() / pl.col("goodput_bps").sum()
    return by_seed(rows, 100 * part)


def queue(links: pl.DataFrame, name: str) -> Estimate:
    """Mean queue of a link in packets, as the machine counts it."""
    return by_seed(_down(links, name), pl.col("queue_packets").mean())


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
    printed, whole = item[key] / scale, 100 if percent else None
    check: Check
    if isinstance(found, Estimate):
        check = bistable(printed, found.values or (found.mean,), whole=whole)
    else:
        check = Share(printed, found, whole=100) if percent else Number(printed, found)
    shown = found.text() if isinstance(found, Estimate) else found
    return Claim(key, text, printed, shown, check, cause or _UNTRACED)


def ranked(estimates: Mapping[str, Estimate], printed: Mapping[str, float]) -> dict[str, Estimate]:
    """Of exchangeable things each printed one beside ours of the same rank, run by run (decision 0020)."""
    runs = [sorted(run, reverse=True) for run in zip(*(each.values for each in estimates.values()), strict=True)]
    order = sorted(printed, key=lambda key: -printed[key])
    return {key: estimate(run[rank] for run in runs) for rank, key in enumerate(order)}


def truth(key: str, text: str, found: str, check: Check, *, cause: str = "") -> Claim:
    """A claim on a statement."""
    return Claim(key, text, None, found, check, cause or _UNTRACED)


def less(smaller: Estimate, larger: Estimate, *, far: bool = False, whole: float | None = None) -> Order:
    """That one is smaller than the other."""
    return Order(smaller.mean, larger.mean, smaller.half, larger.half, far=far, whole=whole)


def alike(one: Estimate, other: Estimate) -> Equality:
    """That both are the same."""
    return Equality(one.mean, other.mean, one.half, other.half)
