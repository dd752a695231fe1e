"""Chapter 4: small files with cURL, two schedulers, and what the first path is."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import polars as pl
from mptcplab.reproduce import (
    Check,
    Context,
    Found,
    Outcome,
    Share,
    at_least,
    at_most,
    below,
    correlation_of,
    every,
    steps,
)
from mptcplab.reproduce import Trend as TrendCheck

from . import charts, data
from .bulk_items import with_quality
from .findings import (
    Claims,
    batch_medians,
    median,
    outliers,
    paired,
    part,
    rank_correlation,
    spread,
    summary,
    with_batch,
)
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


def _medians(table: pl.DataFrame, scheduler: str = "min-rtt") -> list[Found]:
    return [median(_eab(table, size, scheduler)) for size in SIZES_KB]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in zip(_NAMES.values(), values, strict=True))


def _gaps(table: pl.DataFrame) -> list[Found]:
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
        every(at_least(each, 0.5, whole=1.0) for each in negative),
        f"part of the networks below 0: {_listed(negative)}",
    )
    spreads = [spread(_eab(table, size)) for size in SIZES_KB]
    claims.statement(
        "variance",
        steps(spreads[:4], "falls", whole=1.0),
        f"distance of the quartiles: {_listed(spreads)}",
    )
    medians = _medians(table)
    pairs = [*pairwise(SIZES_KB), (SIZES_KB[0], SIZES_KB[-1])]
    rising = every(below(*paired(_eab(table, a).to_list(), _eab(table, b).to_list()), whole=1.0) for a, b in pairs)
    claims.statement("improves", rising, f"medians: {_listed(medians)}")
    gaps = _gaps(table)
    claims.statement(
        "schedulers-small",
        Share(0.0, gaps[0]),
        f"8 kB: EAB with min-rtt less that with round-robin {gaps[0]:+.3f} (median of the networks)",
    )
    claims.statement(
        "schedulers",
        every([Share(0.0, gap) for gap in gaps], at_least(gaps[-1], 0.0, whole=1.0)),
        f"min-rtt less round-robin, median of the networks: {_listed(gaps)}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def figure_4_2(context: Context) -> Outcome:
    """High BDP."""
    claims = Claims(context)
    table, outcome = _schedulers(context, HIGH)
    negative = [part(_eab(table, size) < 0) for size in SIZES_KB]
    above = [part(_eab(table, size) > 0) for size in SIZES_KB]
    claims.statement(
        "negative",
        every([at_least(each, 0.5, whole=1.0) for each in negative], [Share(0.0, each) for each in above]),
        f"part of the networks below 0: {_listed(negative)}; above 0: {_listed(above)}",
    )
    spreads = [spread(_eab(table, size)) for size in SIZES_KB]
    bad = [part(_eab(table, size) < -0.5) for size in SIZES_KB]
    claims.statement(
        "variance",
        every(below(spreads[-1], spreads[0], whole=1.0), below(bad[-1], bad[0], whole=1.0)),
        f"distance of the quartiles: {_listed(spreads)}; part below −0.5: {_listed(bad)}",
    )
    gaps = _gaps(table)
    claims.statement(
        "schedulers",
        every(Share(0.0, gap) for gap in gaps),
        f"min-rtt less round-robin, median of the networks: {_listed(gaps)}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def _correlation(table: pl.DataFrame, size: int, x: str, *, absolute: bool = False) -> tuple[float, float]:
    own = table.filter((pl.col("size") == size) & (pl.col("scheduler") == "min-rtt")).drop_nulls(["eab"])
    values = own[x].abs() if absolute else own[x]
    return rank_correlation(values, own["eab"])


def _batch_medians(table: pl.DataFrame, size: int, x: str, edges: Sequence[float]) -> list[Found]:
    own = with_batch(table.filter((pl.col("size") == size) & (pl.col("scheduler") == "min-rtt")), x, edges)
    return batch_medians(own.drop_nulls(["batch"]), "eab")


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


def _rhos(table: pl.DataFrame, x: str) -> list[Found]:
    return [_known(table, _correlation(table, size, x)[0], size) for size in SIZES_KB]


def _known(table: pl.DataFrame, rho: float, size: int) -> Found:
    return correlation_of(rho, table.filter((pl.col("size") == size) & (pl.col("scheduler") == "min-rtt")).height)


def _flat(table: pl.DataFrame, size: int, x: str) -> Check:
    """No influence: the rank correlation decides alone."""
    rho, p = _correlation(table, size, x)
    count = table.filter((pl.col("size") == size) & (pl.col("scheduler") == "min-rtt")).height
    return TrendCheck("flat", rho, p, 0.0, 0.0, count)


_CAPACITY = "capacity: first − second (Mbit/s)"
_DELAY = "delay: first − second path (ms)"


def figure_4_3(context: Context) -> Outcome:
    """Capacity difference, low BDP."""
    claims = Claims(context)
    table, outcome = _differences(context, LOW, "capacity_difference", _CAPACITY_EDGES, _CAPACITY)
    rhos = _rhos(table, "capacity_difference")
    claims.statement(
        "smallest",
        _flat(table, SIZES_KB[0], "capacity_difference"),
        f"ρ = {rhos[0]:+.2f}",
    )
    rising = []
    shown = []
    for size in SIZES_KB[1:4]:
        medians = _batch_medians(table, size, "capacity_difference", _CAPACITY_EDGES)
        rising.append(steps(medians, "rises", whole=1.0))
        shown.append(f"{_NAMES[size]} " + " → ".join(f"{value:.2f}" for value in medians))
    claims.statement("middle", every(rising), "medians: " + "; ".join(shown))
    absolute, chance = _correlation(table, 2000, "capacity_difference", absolute=True)
    claims.statement(
        "largest",
        every(
            below(abs(rhos[-1]), abs(_known(table, absolute, 2000)), whole=1.0),
            TrendCheck("falls", absolute, chance, 0.0, absolute),
        ),
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
        every(_flat(table, size, "capacity_difference") for size in SIZES_KB),
        f"ρ: {_listed(rhos)}",
    )
    return Outcome(claims.all, outcome.tables, outcome.figures)


def mean_part(parts: Sequence[Found]) -> Found:
    """The mean of several parts of the same networks."""
    return sum(parts[1:], start=parts[0]) / len(parts)


def _delays(context: Context, domain: Domain, sizes: Sequence[int]) -> tuple[Claims, pl.DataFrame, Outcome]:
    claims = Claims(context)
    table, outcome = _differences(context, domain, "delay_difference", _delay_edges(domain), _DELAY)
    rhos = _rhos(table, "delay_difference")
    better = []
    highest = []
    shown = []
    for size in sizes:
        medians = _batch_medians(table, size, "delay_difference", _delay_edges(domain))
        better.append(below(medians[-1], medians[0], whole=1.0, far=True))
        highest.append(medians[0])
        shown.append(f"{_NAMES[size]} " + " → ".join(f"{value:.2f}" for value in medians))
    claims.statement("first-shorter", every(better), "medians, first path shorter → longer: " + "; ".join(shown))
    claims.statement(
        "not-above",
        every(at_most(value, 0.0, whole=1.0) for value in highest),
        "medians with the shorter path first: "
        + ", ".join(f"{_NAMES[size]} {value:.2f}" for size, value in zip(sizes, highest, strict=True)),
    )
    outside = [part(outliers(table.filter(pl.col("size") == size)["eab"])) for size in SIZES_KB]
    claims.statement(
        "outliers",
        below(mean_part(outside[3:]), mean_part(outside[:3]), whole=1.0),
        f"part of the networks more than 1.5 times the distance of the quartiles outside of them: {_listed(outside)}",
    )
    claims.statement(
        "fades",
        every(
            below(abs(rhos[-1]), abs(rhos[0]), whole=1.0),
            below(abs(rhos[-2]), abs(rhos[0]), whole=1.0),
        ),
        f"ρ with the delay difference: {_listed(rhos)}",
    )
    return claims, table, outcome


def figure_4_5(context: Context) -> Outcome:
    """Delay difference, low BDP."""
    claims, _, outcome = _delays(context, LOW, SIZES_KB[:3])
    return Outcome(claims.all, outcome.tables, outcome.figures)


def figure_4_6(context: Context) -> Outcome:
    """Delay difference, high BDP."""
    claims, _, outcome = _delays(context, HIGH, SIZES_KB[:4])
    return Outcome(claims.all, outcome.tables, outcome.figures)


def _first_path(context: Context, domain: Domain, important: Sequence[int]) -> Outcome:
    claims = Claims(context)
    table = with_quality(runs(context, domain).filter(pl.col("scheduler") == "min-rtt"))
    pairs, by_tcp, literal = [], [], []
    for size in SIZES_KB:
        own = table.filter(pl.col("size") == size)
        alone = tuple(own.filter(pl.col("quality") == name)["eab"] for name in charts.FIRST_COLOURS)
        # Section 4.2.1: "the path that has the highest goodput during the MultiPath TCP connection".
        during = own.filter(pl.col("share") > 0.5)["eab"], own.filter(pl.col("share") <= 0.5)["eab"]
        by_tcp.append((median(alone[0]), median(alone[1])))
        if min(len(group) for group in during) >= _GROUP:
            literal.append(_NAMES[size])
            pairs.append((median(during[0]), median(during[1])))
        else:
            pairs.append(by_tcp[-1])
    gaps = [better - worse for better, worse in pairs]
    shown = "; ".join(
        f"{name} {better:.2f} and {worse:.2f}" for name, (better, worse) in zip(_NAMES.values(), pairs, strict=True)
    )
    claims.statement(
        "important",
        every(below(*reversed(pairs[SIZES_KB.index(size)]), whole=1.0, far=True) for size in important),
        f"medians of EAB with the better and with the worse path first: {shown}; better by the goodput of TCP alone: "
        + "; ".join(
            f"{name} {better:.2f} and {worse:.2f}"
            for name, (better, worse) in zip(_NAMES.values(), by_tcp, strict=True)
        ),
    )
    claims.statement(
        "fades",
        every(
            [below(gaps[-1], gap, whole=1.0) for gap in gaps[:-1]],
            [Share(0.0, gaps[-1])] if SIZES_KB[-1] not in important else [],
        ),
        f"better less worse: {_listed(gaps)}",
    )
    small = [pairs[SIZES_KB.index(size)] for size in SIZES_KB[:3]]
    claims.statement(
        "slower",
        every(
            [below(worse, Found(0.0), whole=1.0) for _, worse in small],
            [at_least(better, 0.0, whole=1.0) for better, _ in small],
        ),
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
        notes=[
            "The better path is, as section 4.2.1 defines it, the one with the higher goodput during the connection, "
            f"at sizes where at least {_GROUP} networks open on each kind (here: {', '.join(literal) or 'none'}). At "
            "the others everything fits into the first path's window, which so carries all by definition; there the "
            "better path is the one on which TCP alone gets more."
        ],
    )


_GROUP: Final = 5
"""Fewer networks have no median worth the name."""


def figure_4_7(context: Context) -> Outcome:
    """Which path opens, low BDP."""
    return _first_path(context, LOW, SIZES_KB[:4])


def figure_4_8(context: Context) -> Outcome:
    """Which path opens, high BDP."""
    return _first_path(context, HIGH, SIZES_KB)
