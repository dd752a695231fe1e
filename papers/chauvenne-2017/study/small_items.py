"""Chapter 4: small files with cURL, two schedulers, and what the first path is."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from mptcplab.reproduce import Context, Outcome
from scipy import stats

from . import charts, data
from .bulk_items import with_quality
from .findings import ALIKE, NO_INFLUENCE, Claims, median, part, spread, summary, verdict, with_batch
from .networks import HIGH, LOW, Domain

SIZES_KB: Final = (8, 32, 128, 512, 2000)
_NAMES: Final = {8: "8 kB", 32: "32 kB", 128: "128 kB", 512: "512 kB", 2000: "2 MB"}
_CAPACITY_EDGES: Final = (-99, -33, 33, 99)


def _delay_edges(domain: Domain) -> tuple[float, ...]:
    reach = domain.delay_ms[1] - domain.delay_ms[0]
    return (-reach, -reach / 3, reach / 3, reach)


def runs(context: Context, domain: Domain) -> pl.DataFrame:
    """Small files over the first design."""
    table = data.files(context, SIZES_KB)
    return table.filter((pl.col("domain") == domain.name) & (pl.col("design") == 0)).with_columns(
        file=pl.col("size").replace_strict(_NAMES, return_dtype=pl.String)
    )


def _eab(table: pl.DataFrame, size: int, scheduler: str = "min-rtt") -> pl.Series:
    return table.filter((pl.col("size") == size) & (pl.col("scheduler") == scheduler))["eab"]


def _schedulers(context: Context, domain: Domain) -> tuple[pl.DataFrame, Outcome]:
    table = runs(context, domain)
    chart = charts.groups(
        table,
        x="scheduler",
        x_order=["min-rtt", "round-robin"],
        x_title=" ",
        y="eab",
        y_title=charts.title_of("eab"),
        column="file",
        column_order=list(_NAMES.values()),
        colours={name: charts.SCHEDULER_COLOURS[name] for name in ("min-rtt", "round-robin")},
        width=140,
    )
    ordered = table.sort("size", maintain_order=True)
    outcome = Outcome(
        (),
        tables=[("EAB by file size and scheduler", summary(ordered, ["file", "scheduler"], "eab"))],
        figures=[(f"EAB by file size and scheduler, {domain.name}", chart)],
    )
    return table, outcome


def _medians(table: pl.DataFrame, scheduler: str = "min-rtt") -> list[float]:
    return [median(_eab(table, size, scheduler)) for size in SIZES_KB]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in zip(_NAMES.values(), values, strict=True))


def _gaps(table: pl.DataFrame) -> list[float]:
    """Median over the networks of EAB with min-rtt minus EAB with round-robin."""
    wide = table.pivot(on="scheduler", index=["size", "point"], values="eab")
    return [
        median(wide.filter(pl.col("size") == size).select(gap=pl.col("min-rtt") - pl.col("round-robin"))["gap"])
        for size in SIZES_KB
    ]


def figure_4_1(context: Context) -> Outcome:
    """Low BDP."""
    claims = Claims(context)
    table, outcome = _schedulers(context, LOW)
    negative = [part(_eab(table, size) < 0) for size in SIZES_KB]
    claims.statement(
        "negative",
        verdict(float(np.mean(negative)) > 0.5, all(each > 0.5 for each in negative[:4])),
        f"part of the networks below 0: {_listed(negative)}",
    )
    spreads = [spread(_eab(table, size)) for size in SIZES_KB]
    claims.statement(
        "variance",
        verdict(spreads[-2] < spreads[0], all(a > b for a, b in pairwise(spreads[:4]))),
        f"distance of the quartiles: {_listed(spreads)}",
    )
    medians = _medians(table)
    claims.statement(
        "improves", verdict(medians[-1] > medians[0], medians == sorted(medians)), f"medians: {_listed(medians)}"
    )
    gaps = _gaps(table)
    claims.statement(
        "schedulers-small",
        verdict(abs(gaps[0]) <= 0.02),
        f"8 kB: EAB with min-rtt less that with round-robin {gaps[0]:+.3f} (median of the networks)",
    )
    claims.statement(
        "schedulers",
        verdict(all(abs(gap) <= ALIKE for gap in gaps), gaps[-1] >= 0),
        f"min-rtt less round-robin, median of the networks: {_listed(gaps)}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def figure_4_2(context: Context) -> Outcome:
    """High BDP."""
    claims = Claims(context)
    table, outcome = _schedulers(context, HIGH)
    negative = [part(_eab(table, size) < 0) for size in SIZES_KB]
    claims.statement(
        "negative",
        verdict(float(np.mean(negative)) > 0.5, min(negative) > 0.5),
        f"part of the networks below 0: {_listed(negative)}",
    )
    spreads = [spread(_eab(table, size)) for size in SIZES_KB]
    bad = [part(_eab(table, size) < -0.5) for size in SIZES_KB]
    claims.statement(
        "variance",
        verdict(spreads[-1] < spreads[0], bad[-1] < bad[0]),
        f"distance of the quartiles: {_listed(spreads)}; part below −0.5: {_listed(bad)}",
    )
    gaps = _gaps(table)
    claims.statement(
        "schedulers",
        verdict(all(abs(gap) <= ALIKE for gap in gaps)),
        f"min-rtt less round-robin, median of the networks: {_listed(gaps)}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def _correlation(table: pl.DataFrame, size: int, x: str, *, absolute: bool = False) -> float:
    own = table.filter((pl.col("size") == size) & (pl.col("scheduler") == "min-rtt")).drop_nulls(["eab"])
    values = own[x].abs() if absolute else own[x]
    return float(stats.spearmanr(values.to_numpy(), own["eab"].to_numpy()).statistic)


def _batch_medians(table: pl.DataFrame, size: int, x: str, edges: Sequence[float]) -> list[float]:
    own = with_batch(table.filter((pl.col("size") == size) & (pl.col("scheduler") == "min-rtt")), x, edges)
    found = own.drop_nulls(["batch"]).group_by("batch").agg(pl.col("eab").median(), at=pl.col("_x").mean()).sort("at")
    return [float(value) for value in found["eab"]]


def _differences(
    context: Context, domain: Domain, x: str, edges: Sequence[float], what: str
) -> tuple[pl.DataFrame, Outcome]:
    table = runs(context, domain).filter(pl.col("scheduler") == "min-rtt")
    batched = with_batch(table, x, edges).drop_nulls(["batch"])
    order = batched.group_by("batch").agg(pl.col("_x").mean()).sort("_x")["batch"].to_list()
    chart = charts.groups(
        batched,
        x="batch",
        x_order=order,
        x_title=what,
        y="eab",
        y_title=charts.title_of("eab"),
        column="file",
        column_order=list(_NAMES.values()),
        width=190,
    )
    shown = summary(batched.sort("size", "_x"), ["file", "batch"], "eab")
    outcome = Outcome(
        (),
        tables=[(f"EAB by file size and batch of {what}", shown)],
        figures=[(f"EAB by file size and by the difference of the paths, {domain.name}", chart)],
    )
    return table, outcome


def _rhos(table: pl.DataFrame, x: str) -> list[float]:
    return [_correlation(table, size, x) for size in SIZES_KB]


_CAPACITY = "capacity: first − second (Mbit/s)"
_DELAY = "delay: first − second path (ms)"


def figure_4_3(context: Context) -> Outcome:
    """Capacity difference, low BDP."""
    claims = Claims(context)
    table, outcome = _differences(context, LOW, "capacity_difference", _CAPACITY_EDGES, _CAPACITY)
    rhos = _rhos(table, "capacity_difference")
    claims.statement(
        "smallest",
        verdict(abs(rhos[0]) <= NO_INFLUENCE),
        f"ρ = {rhos[0]:+.2f}",
    )
    rising = []
    shown = []
    for size in SIZES_KB[1:4]:
        medians = _batch_medians(table, size, "capacity_difference", _CAPACITY_EDGES)
        rising.append(medians[0] < medians[-1])
        shown.append(f"{_NAMES[size]} " + " → ".join(f"{value:.2f}" for value in medians))
    claims.statement("middle", verdict(*rising), "medians: " + "; ".join(shown))
    absolute = _correlation(table, 2000, "capacity_difference", absolute=True)
    claims.statement(
        "largest",
        verdict(abs(absolute) > abs(rhos[-1]), absolute < 0),
        f"2 MB: ρ with the absolute difference {absolute:+.2f}, with the signed one {rhos[-1]:+.2f}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def figure_4_4(context: Context) -> Outcome:
    """Capacity difference, high BDP."""
    claims = Claims(context)
    table, outcome = _differences(context, HIGH, "capacity_difference", _CAPACITY_EDGES, _CAPACITY)
    rhos = _rhos(table, "capacity_difference")
    claims.statement(
        "flat",
        verdict(*(abs(rho) <= NO_INFLUENCE for rho in rhos)),
        f"ρ: {_listed(rhos)}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def _delays(
    context: Context, domain: Domain, sizes: Sequence[int]
) -> tuple[Claims, pl.DataFrame, Outcome, list[float]]:
    claims = Claims(context)
    table, outcome = _differences(context, domain, "delay_difference", _delay_edges(domain), _DELAY)
    rhos = _rhos(table, "delay_difference")
    better = []
    highest = []
    shown = []
    for size in sizes:
        medians = _batch_medians(table, size, "delay_difference", _delay_edges(domain))
        better.append(medians[0] > medians[-1] + ALIKE)
        highest.append(medians[0])
        shown.append(f"{_NAMES[size]} " + " → ".join(f"{value:.2f}" for value in medians))
    claims.statement("first-shorter", verdict(*better), "medians, first path shorter → longer: " + "; ".join(shown))
    claims.statement(
        "not-above",
        verdict(*(value <= 0.02 for value in highest)),
        "medians with the shorter path first: "
        + ", ".join(f"{_NAMES[size]} {value:.2f}" for size, value in zip(sizes, highest, strict=True)),
    )
    return claims, table, outcome, rhos


def figure_4_5(context: Context) -> Outcome:
    """Delay difference, low BDP."""
    claims, _, outcome, rhos = _delays(context, LOW, SIZES_KB[:3])
    claims.statement(
        "fades",
        verdict(abs(rhos[-1]) < abs(rhos[0]), abs(rhos[-2]) < abs(rhos[0])),
        f"ρ with the delay difference: {_listed(rhos)}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def figure_4_6(context: Context) -> Outcome:
    """Delay difference, high BDP."""
    claims, _, outcome, _ = _delays(context, HIGH, SIZES_KB[:4])
    return Outcome(claims.all, outcome.tables, outcome.figures)


def _first_path(context: Context, domain: Domain, important: Sequence[int]) -> Outcome:
    claims = Claims(context)
    table = with_quality(runs(context, domain).filter(pl.col("scheduler") == "min-rtt"))
    pairs = []
    for size in SIZES_KB:
        own = table.filter(pl.col("size") == size)
        better, worse = (own.filter(pl.col("quality") == name)["eab"] for name in charts.FIRST_COLOURS)
        pairs.append((median(better), median(worse)))
    gaps = [better - worse for better, worse in pairs]
    shown = "; ".join(
        f"{name} {better:.2f} and {worse:.2f}" for name, (better, worse) in zip(_NAMES.values(), pairs, strict=True)
    )
    claims.statement(
        "important",
        verdict(*(gaps[SIZES_KB.index(size)] > ALIKE for size in important)),
        f"medians of EAB with the better and with the worse path first: {shown}",
    )
    claims.statement(
        "fades",
        verdict(gaps[-1] < gaps[0], gaps[-1] == min(gaps)),
        f"better less worse: {_listed(gaps)}",
    )
    small = [pairs[SIZES_KB.index(size)] for size in SIZES_KB[:3]]
    claims.statement(
        "slower",
        verdict(*(worse < -ALIKE for _, worse in small), *(better >= -ALIKE for better, _ in small)),
        "8 to 128 kB, medians of EAB: "
        + "; ".join(f"{better:.2f} with the better path first, {worse:.2f} with the worse" for better, worse in small),
    )
    chart = charts.groups(
        table.with_columns(first=pl.col("quality").str.replace(" path first", "")),
        x="first",
        x_order=["better", "worse"],
        x_title="first path",
        y="eab",
        y_title=charts.title_of("eab"),
        column="file",
        column_order=list(_NAMES.values()),
        colours={name.replace(" path first", ""): colour for name, colour in charts.FIRST_COLOURS.items()},
        width=140,
    )
    return Outcome(
        claims.all,
        tables=[("EAB by file size and first path", summary(table.sort("size"), ["file", "quality"], "eab"))],
        figures=[
            (
                f"EAB by file size and by which path opens the connection, {domain.name}: better is the one on which "
                "TCP alone gets more",
                chart,
            )
        ],
    )


def figure_4_7(context: Context) -> Outcome:
    """Which path opens, low BDP."""
    return _first_path(context, LOW, SIZES_KB[:4])


def figure_4_8(context: Context) -> Outcome:
    """Which path opens, high BDP."""
    return _first_path(context, HIGH, SIZES_KB)
