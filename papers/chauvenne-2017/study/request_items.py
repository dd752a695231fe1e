"""Appendix C: ApacheBench, one request after another, two schedulers."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
from mptcplab import metrics
from mptcplab.reproduce import Context, Found, Outcome, Share, below, every, resampled, single, steps

from . import charts, data, scenarios
from .findings import Claims, median, part, with_batch
from .networks import HIGH, LOW, Domain, Network, Path, networks
from .small_items import SIZES_KB

_NAMES: Final = {8: "8 kB", 32: "32 kB", 128: "128 kB", 512: "512 kB", 2000: "2 MB"}


def _ratios(context: Context, points: tuple[Network, ...], sizes: tuple[int, ...], key: str) -> pl.DataFrame:
    """R_N for each network and size; networks where neither scheduler completed a request have none."""
    return data.keep(context, key, lambda: _counted(context, points, sizes))


def _counted(context: Context, points: tuple[Network, ...], sizes: tuple[int, ...]) -> pl.DataFrame:
    wanted = [
        (
            {**network.labels, "size": size, "sched": name},
            scenarios.over(network, _connection(scheduler, size)),
            network.seed,
        )
        for network in points
        for size in sizes
        for name, scheduler in scenarios.SCHEDULERS.items()
    ]
    connections = context.run_many(wanted).connections
    by = ["domain", "design", "point", "size"]
    counts = connections.pivot(on="sched", index=by, values="transfers_complete")
    ratios = [
        metrics.request_ratio(a, b) if a + b > 0 else None
        for a, b in counts.select("min-rtt", "round-robin").iter_rows()
    ]
    counts = counts.with_columns(
        r_n=pl.Series(ratios, dtype=pl.Float64), file=pl.col("size").replace_strict(_NAMES, return_dtype=pl.String)
    )
    return data.factors(points).join(counts, on=["domain", "design", "point"], how="inner", maintain_order="left")


def _connection(scheduler: scenarios.Table, size: int) -> scenarios.Table:
    lia = scenarios.control("lia", "linux")
    return scenarios.mptcp(congestion=lia, scheduler=scheduler, application=scenarios.requests(size))


def _figure(context: Context, domain: Domain) -> tuple[Claims, pl.DataFrame, Outcome]:
    claims = Claims(context)
    table = _ratios(context, networks(domain, quick=context.quick), SIZES_KB, f"requests {domain.name}")
    medians = [median(table.filter(pl.col("size") == size)["r_n"]) for size in SIZES_KB]
    listed = ", ".join(f"{name} {value:+.3f}" for name, value in zip(_NAMES.values(), medians, strict=True))
    claims.statement("zero", every(Share(0.0, value) for value in medians), f"medians of R_N: {listed}")
    reach = domain.delay_ms[1]
    edges = tuple(reach * third / 3 for third in range(4))
    batched = with_batch(table, "delay_difference", edges, absolute=True).drop_nulls(["batch", "r_n"])
    order = batched.group_by("batch").agg(pl.col("_x").mean()).sort("_x")["batch"].to_list()
    rounded = {name: _short(name) for name in order}
    chart = charts.groups(
        batched.with_columns(batch=pl.col("batch").replace_strict(rounded, return_dtype=pl.String)),
        x="batch",
        x_order=list(rounded.values()),
        x_title="difference of the delays (ms)",
        y="r_n",
        y_title="R_N (above 0: min-rtt answers more requests)",
        column="file",
        column_order=list(_NAMES.values()),
        width=190,
    )
    shown = (
        batched.sort("size", "_x")
        .group_by("file", "batch", maintain_order=True)
        .agg(
            networks=pl.len(),
            **{"median of R_N": pl.col("r_n").median().round(4)},
            **{"standard deviation": pl.col("r_n").std().round(4)},
            least=pl.col("r_n").min().round(3),
            largest=pl.col("r_n").max().round(3),
        )
    )
    outcome = Outcome(
        (),
        tables=[(f"R_N by file size and delay difference in ms, {domain.name}", shown)],
        figures=[(f"R_N by file size and delay difference, {domain.name}", chart)],
    )
    return claims, batched, outcome


def _short(name: str) -> str:
    """Bounds with one decimal at most, so that they stand beside one another."""
    low, high = name[1:-1].split(", ")
    return f"{name[0]}{float(low):.0f}, {float(high):.0f}]"


def _deviation(values: npt.NDArray[np.float64], rows: Sequence[int]) -> float:
    return float(values[rows].std(ddof=1))


def _spreads(table: pl.DataFrame) -> tuple[list[Found], str]:
    values = []
    for size in SIZES_KB:
        own = table.filter(pl.col("size") == size)["r_n"].drop_nulls().to_numpy()
        values.append(resampled(partial(_deviation, own), len(own)))
    return values, ", ".join(f"{name} {value:.3f}" for name, value in zip(_NAMES.values(), values, strict=True))


def figure_c_1(context: Context) -> Outcome:
    """Low BDP."""
    claims, table, outcome = _figure(context, LOW)
    small = table.filter(pl.col("delay_difference").abs() <= LOW.delay_ms[1] / 3)
    values, listed = _spreads(small)
    claims.statement(
        "spread",
        steps(values, "rises", whole=1.0),
        f"standard deviation of R_N at small delay differences: {listed}",
    )
    outside = [part(small.filter(pl.col("size") == size)["r_n"].abs() > 0.1) for size in SIZES_KB]
    claims.statement(
        "outliers",
        steps(outside, "rises", whole=1.0),
        "part of the networks with small delay differences where R_N is more than 0.1 from 0: "
        + ", ".join(f"{name} {value:.0%}" for name, value in zip(_NAMES.values(), outside, strict=True)),
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def figure_c_2(context: Context) -> Outcome:
    """High BDP."""
    claims, table, outcome = _figure(context, HIGH)
    values, listed = _spreads(table)
    claims.statement(
        "spread",
        steps(values, "rises", whole=1.0),
        f"standard deviation of R_N: {listed}",
    )
    far = table.filter(pl.col("delay_difference").abs() > 2 * HIGH.delay_ms[1] / 3)
    advantage, disadvantage = part(far["r_n"] > 0.1), part(far["r_n"] < -0.1)
    claims.statement(
        "min-rtt",
        below(disadvantage, advantage, whole=1.0),
        f"delays more than 133 ms apart: R_N above 0.1 in {advantage:.0%}, below −0.1 in {disadvantage:.0%}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


_SEEDS: Final = 5


def _shown_ratios(values: Sequence[float]) -> str:
    """The mean, and the least and largest where the seeds differ."""
    mean = f"{sum(values) / len(values):.3f}"
    return mean if max(values) - min(values) < 5e-4 else f"{mean} ({min(values):.3f} to {max(values):.3f})"


def table_c_1(context: Context) -> Outcome:
    """The three networks that the thesis singles out."""
    claims = Claims(context)
    published = context.published
    rows = []
    for number in (1, 2, 3):
        size = int(published[f"{number}.size"])
        paths = [
            Path(
                int(published[f"{number}.path-{path}.capacity"]),
                int(published[f"{number}.path-{path}.delay"]),
                int(published[f"{number}.path-{path}.queue"]),
            )
            for path in (1, 2)
        ]
        points = tuple(Network("table C.1", 0, 100 * number + seed, *paths) for seed in range(_SEEDS))
        table = _ratios(context, points, SIZES_KB, f"table C.1 {number}")
        values = {each: table.filter(pl.col("size") == each)["r_n"].to_list() for each in SIZES_KB}
        theirs, ours = published[f"{number}.r-n"], values[size]
        rows.append(
            {"network": number, "file": _NAMES[size], "published R_N": theirs}
            | {f"R_N, {_NAMES[each]}": _shown_ratios(found) for each, found in values.items()}
        )
        covered = [f"{number}.size"] + [
            f"{number}.path-{path}.{factor}" for path in (1, 2) for factor in ("capacity", "delay", "queue")
        ]
        claims.number(
            f"{number}.r-n",
            f"Network {number} ({_described(paths)}), {_NAMES[size]}: R_N.",
            theirs,
            _shown_ratios(ours),
            single(theirs, ours, whole=1.0),
            covers=covered,
        )
    return Outcome(claims.all, tables=[("R_N for every size", pl.DataFrame(rows))])


def _described(paths: list[Path]) -> str:
    return "; ".join(f"{path.capacity_mbps} Mbit/s, {path.delay_ms} ms, {path.queue_packets} packets" for path in paths)
