"""Figures 3.3 to 3.8: bulk transfers with iPerf, their aggregation benefits and the distribution of their traffic."""

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl
from mptcplab.reproduce import Context, Equality, Exact, Number, Outcome, Share, at_least, at_most, below, every

from . import charts, data
from .findings import (
    ONLY,
    Claims,
    distributed_alike,
    largest,
    mean,
    median,
    outliers,
    part,
    quartiles,
    summary,
    trend,
    with_batch,
)
from .networks import DOMAINS, HIGH, LOW

_CAPACITY = "difference of the capacities (Mbit/s)"
_DELAY = "difference of the delays (ms)"
_EDGES = {domain.name: charts.CAPACITY_EDGES for domain in DOMAINS}
_SHARE = "part of the segments on the first path"


def first_design(context: Context) -> pl.DataFrame:
    """The runs that figures show."""
    return data.bulk(context).filter(pl.col("design") == 0)


def _of(table: pl.DataFrame, name: str) -> pl.DataFrame:
    return table.filter(pl.col("domain") == name)


def _medians(table: pl.DataFrame, x: str, y: str, edges: Mapping[str, Sequence[float]]) -> pl.DataFrame:
    batched = [with_batch(_of(table, name), x, own, absolute=True).sort("_x") for name, own in edges.items()]
    return pl.concat([summary(each, ["domain", "batch"], y) for each in batched])


def figure_3_3(context: Context) -> Outcome:
    """AB against the capacity difference."""
    claims = Claims(context)
    table = first_design(context)
    low, high = _of(table, LOW.name), _of(table, HIGH.name)
    found = trend(low, "capacity_difference", "ab", charts.CAPACITY_EDGES, absolute=True)
    claims.statement("low-falls", found.falls, str(found))
    far = low.filter(pl.col("capacity_difference").abs() > 80)["ab"]
    negative = part(far < 0)
    claims.statement(
        "low-far",
        Share(1.0, negative),
        f"below 0 in {negative:.0%} of {len(far)} networks, median {median(far):.2f}, largest {largest(far):.2f}",
    )
    medians = median(low["ab"]), median(high["ab"])
    claims.statement(
        "high-lower",
        every(below(medians[1], medians[0], whole=1.0, far=True), at_most(medians[1], 0.0, whole=1.0)),
        f"medians: high BDP {medians[1]:.2f}, low BDP {medians[0]:.2f}",
    )
    chart = charts.batches(
        table, "capacity_difference", "ab", edges=_EDGES, x_title=_CAPACITY, y_title=charts.title_of("ab")
    )
    return Outcome(
        claims.all,
        tables=[
            ("AB by batches of the capacity difference in Mbit/s", _medians(table, "capacity_difference", "ab", _EDGES))
        ],
        figures=[("AB against the capacity difference; the line in a box is the median", chart)],
    )


def figure_3_4(context: Context) -> Outcome:
    """EAB against the capacity difference, and what the testbed's window and queues do to it."""
    claims = Claims(context)
    table = first_design(context)
    low, high = _of(table, LOW.name), _of(table, HIGH.name)
    claims.statement(
        "low-aggregates",
        every(at_least(median(low["eab"]), 0.5, whole=1.0), Share(1.0, part(low["eab"] > 0))),
        f"median EAB {median(low['eab']):.2f}; above 0 in {part(low['eab'] > 0):.0%} of the networks",
    )
    eab = trend(low, "capacity_difference", "eab", charts.CAPACITY_EDGES, absolute=True)
    ab = trend(low, "capacity_difference", "ab", charts.CAPACITY_EDGES, absolute=True)
    claims.statement(
        "low-falls",
        every(eab.falls, below(eab.first - eab.last, ab.first - ab.last, whole=1.0)),
        f"EAB {eab}; AB {ab.first:.2f} → {ab.last:.2f}",
    )
    middle = low.filter(pl.col("capacity_difference").abs().is_between(40, 60, closed="right")).sort("eab")
    outside = middle.filter(outliers(middle["eab"]))
    worst = outside.select(least=pl.min_horizontal("queue_packets_1", "queue_packets_2"))["least"].to_list()
    claims.statement(
        "low-outliers",
        every(Exact(2, len(worst)), [Number(10, queue, half=0) for queue in worst]),
        f"{len(worst)} outliers of {middle.height} networks as box plots have them, shortest queues of "
        f"{', '.join(map(str, worst)) or 'none'} packets; the two lowest EAB are "
        f"{', '.join(f'{x:.2f}' for x in middle['eab'].head(2))}",
    )
    centre = median(high["eab"])
    claims.statement(
        "high-best",
        every(at_least(centre, 0.0, whole=1.0), Share(0.0, centre)),
        f"median EAB {centre:.3f}",
    )
    flat = trend(high, "capacity_difference", "eab", charts.CAPACITY_EDGES, absolute=True)
    claims.statement(
        "high-flat",
        every(flat.flat, Equality(flat.first, flat.last, whole=1.0)),
        str(flat),
    )
    tables = [
        ("EAB by batches of the capacity difference in Mbit/s", _medians(table, "capacity_difference", "eab", _EDGES))
    ]
    tables.append(("The same networks with one thing of the testbed changed at a time", _settings(context, table)))
    chart = charts.batches(
        table, "capacity_difference", "eab", edges=_EDGES, x_title=_CAPACITY, y_title=charts.title_of("eab")
    )
    return Outcome(
        claims.all,
        tables=tables,
        figures=[("EAB against the capacity difference", chart)],
        notes=[
            "The thesis puts the behaviour with high BDP down to bufferbloat and timeouts. The second table says "
            "otherwise: it is the receive window. With 3 MiB, what Linux 4.1 announces at most with its default "
            "settings, one path takes all; with a window that does not bind, both are used."
        ],
    )


def _settings(context: Context, table: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for domain in DOMAINS:
        settings = {
            "as repeated": _of(table, domain.name),
            "Mininet's queues: the limit holds packets in propagation too": data.bulk_setting(
                context, "delay line", domain=domain, delay_line=True
            ),
        }
        windows = ("3 MiB",) if domain is LOW else ("1 MiB", "auto", "64 MiB")
        settings |= {
            f"window {window}": data.bulk_setting(context, window, domain=domain, window=window) for window in windows
        }
        for name, found in settings.items():
            difference = trend(found, "capacity_difference", "eab", charts.CAPACITY_EDGES, absolute=True)
            shorter = found.filter(pl.col("delay_difference") < 0)["share"]
            larger = found.filter(pl.col("capacity_difference") > 0)["share"]
            rows.append(
                {
                    "domain": domain.name,
                    "setting": name,
                    "networks": found.height,
                    "median of EAB": round(median(found["eab"]), 3),
                    "median of AB": round(median(found["ab"]), 3),
                    "75th percentile of AB": round(quartiles(found["ab"])[2], 3),
                    "ρ of EAB with the capacity difference": round(difference.rho, 2),
                    "its p": round(difference.p, 4),
                    "first path shorter: only it carries": f"{part(shorter >= ONLY):.0%}",
                    "first path larger: only it carries": f"{part(larger >= ONLY):.0%}",
                    "first path larger: the second carries more": f"{part(larger < 0.5):.0%}",
                    "sent again, mean": f"{mean(found['retransmissions']):.2%}",
                    "reinjected, mean": f"{mean(found['reinjections']):.3%}",
                }
            )
    return pl.DataFrame(rows)


def figure_3_5(context: Context) -> Outcome:
    """EAB against the delay difference."""
    claims = Claims(context)
    table = first_design(context)
    for short, domain in (("low", LOW), ("high", HIGH)):
        found = trend(
            _of(table, domain.name), "delay_difference", "eab", charts.DELAY_EDGES[domain.name], absolute=True
        )
        claims.statement(
            f"{short}-flat",
            every(found.flat, Equality(found.first, found.last, whole=1.0)),
            str(found),
        )
    edges = dict(charts.DELAY_EDGES)
    chart = charts.batches(
        table, "delay_difference", "eab", edges=edges, x_title=_DELAY, y_title=charts.title_of("eab")
    )
    return Outcome(
        claims.all,
        tables=[("EAB by batches of the delay difference in ms", _medians(table, "delay_difference", "eab", edges))],
        figures=[("EAB against the delay difference", chart)],
    )


def _signed(table: pl.DataFrame, difference: str, negative: str, positive: str) -> pl.DataFrame:
    return table.filter(pl.col(difference) != 0).with_columns(
        sign=pl.when(pl.col(difference) < 0).then(pl.lit(negative)).otherwise(pl.lit(positive))
    )


def distribution_chart(
    table: pl.DataFrame, difference: str, negative: str, positive: str, panels: list[str], panel: str
) -> alt.TopLevelMixin:
    """The layout of figures 3.6, 3.7 and 3.12."""
    colours, dashes = charts.sign_colours(negative, positive)
    return charts.distributions(
        _signed(table, difference, negative, positive),
        "share",
        "sign",
        x_title=_SHARE,
        colours=colours,
        dashes=dashes,
        panels=panels,
        panel=panel,
    )


def figure_3_6(context: Context) -> Outcome:
    """The first path's part by the sign of the capacity difference."""
    claims = Claims(context)
    table = first_design(context).filter(pl.col("capacity_difference") != 0)
    low, high = _of(table, LOW.name), _of(table, HIGH.name)
    weaker = part((low["share"] > 0.5) != (low["capacity_difference"] > 0))
    limit = context.published["low.weaker-path-carries-more"] / 100
    claims.number(
        "low.weaker-path-carries-more",
        "Low BDP: in less than 10 % of the networks the path of the smaller capacity carries more.",
        "< 10 %",
        f"{weaker:.1%}",
        at_most(weaker, limit, whole=1.0),
    )
    larger = high.filter(pl.col("capacity_difference") > 0)
    for key, text, value in (
        (
            "high.first-larger.only-first",
            "High BDP, first path of the larger capacity: the part of the networks where only the first path carries "
            "(95 % or more).",
            part(larger["share"] >= ONLY),
        ),
        (
            "high.first-larger.second-carries-more",
            "High BDP, first path of the larger capacity: the part of the networks where the second path carries more.",
            part(larger["share"] < 0.5),
        ),
    ):
        claims.number(
            key,
            text,
            f"{context.published[key]:.0f} %",
            f"{value:.0%}",
            Share(context.published[key], 100 * value, whole=100),
        )
    curves = {
        domain.name: (
            _of(table, domain.name).filter(pl.col("capacity_difference") > 0)["share"],
            1 - _of(table, domain.name).filter(pl.col("capacity_difference") < 0)["share"],
        )
        for domain in DOMAINS
    }
    claims.statement(
        "symmetric",
        every(distributed_alike(one, mirrored) for one, mirrored in curves.values()),
        "quartiles of the first path's part where it is the larger, and of the second's where that is: "
        + "; ".join(f"{name} {_listed(one)} and {_listed(mirrored)}" for name, (one, mirrored) in curves.items()),
    )
    chart = distribution_chart(
        table,
        "capacity_difference",
        "first path has the smaller capacity",
        "first path has the larger capacity",
        [LOW.name, HIGH.name],
        "domain",
    )
    return Outcome(
        claims.all, figures=[("Distribution of the first path's part, by the sign of the capacity difference", chart)]
    )


def _listed(values: pl.Series) -> str:
    return ", ".join(f"{value:.2f}" for value in quartiles(values))


def figure_3_7(context: Context) -> Outcome:
    """The first path's part by the sign of the delay difference."""
    claims = Claims(context)
    table = first_design(context).filter(pl.col("delay_difference") != 0)
    low, high = _of(table, LOW.name), _of(table, HIGH.name)
    shorter, longer = (
        low.filter(condition)["share"] for condition in (pl.col("delay_difference") < 0, pl.col("delay_difference") > 0)
    )
    claims.statement(
        "low-flat",
        distributed_alike(shorter, longer),
        f"quartiles {_listed(shorter)} where the first path is shorter, {_listed(longer)} where it is longer",
    )
    shorter = high.filter(pl.col("delay_difference") < 0)["share"]
    longer = high.filter(pl.col("delay_difference") > 0)["share"]
    key = "high.first-shorter.only-first"
    value = part(shorter >= ONLY)
    claims.number(
        key,
        "High BDP, first path of the shorter delay: the part of the networks where only the first path carries "
        "(95 % or more).",
        f"{context.published[key]:.0f} %",
        f"{value:.0%}",
        Share(context.published[key], 100 * value, whole=100),
    )
    claims.statement(
        "high-shorter",
        below(median(longer), median(shorter), whole=1.0),
        f"median part of the first path {median(shorter):.2f} where it is shorter, "
        f"{median(longer):.2f} where it is longer",
    )
    chart = distribution_chart(
        table,
        "delay_difference",
        "first path has the shorter delay",
        "first path has the longer delay",
        [LOW.name, HIGH.name],
        "domain",
    )
    return Outcome(
        claims.all, figures=[("Distribution of the first path's part, by the sign of the delay difference", chart)]
    )


def figure_3_8(context: Context) -> Outcome:
    """EAB by the quality of the first path."""
    claims = Claims(context)
    table = with_quality(first_design(context))
    for short, domain in (("low", LOW), ("high", HIGH)):
        own = _of(table, domain.name)
        better, worse = (own.filter(pl.col("quality") == name)["eab"] for name in charts.FIRST_COLOURS)
        claims.statement(
            f"{short}-flat",
            Equality(median(better), median(worse), whole=1.0),
            f"median EAB {median(better):.2f} with the better path first, {median(worse):.2f} with the worse",
        )
    chart = charts.groups(
        table,
        x="quality",
        x_order=list(charts.FIRST_COLOURS),
        x_title="first path",
        y="eab",
        y_title=charts.title_of("eab"),
        column="domain",
        column_order=[domain.name for domain in DOMAINS],
        colours=charts.FIRST_COLOURS,
        width=charts.WIDTH,
    )
    return Outcome(
        claims.all,
        tables=[("EAB by the quality of the first path", summary(table, ["domain", "quality"], "eab"))],
        figures=[("EAB by the quality of the first path: better is the one on which TCP alone gets more", chart)],
    )


def with_quality(table: pl.DataFrame) -> pl.DataFrame:
    """The column `quality`: whether the better or the worse path is first (section 3.2)."""
    better, worse = charts.FIRST_COLOURS
    return table.with_columns(quality=pl.when(pl.col("first_is_better")).then(pl.lit(better)).otherwise(pl.lit(worse)))
