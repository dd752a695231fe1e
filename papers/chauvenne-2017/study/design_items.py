"""Table 3.1 and figure 3.2: the domains, and how the designs fill them."""

import altair as alt
import numpy as np
import polars as pl
from mptcplab.reproduce import Check, Context, Exact, Outcome, Share, at_least, at_most, every
from scipy import stats

from . import charts
from .data import all_networks, factors
from .findings import Claims
from .networks import DOMAINS, HIGH, LOW, Domain, networks

_FACTORS = {
    "capacity_mbps": ("capacity", "capacity (Mbit/s)"),
    "delay_ms": ("delay", "propagation delay (ms)"),
    "queueing_ms": ("queueing delay", "maximum queueing delay (ms)"),
}


def table_3_1(context: Context) -> Outcome:
    """Whether the designs are of the published size and fill the published ranges."""
    claims = Claims(context)
    published = context.published
    rows = []
    for short, domain in (("low", LOW), ("high", HIGH)):
        table = pl.DataFrame([n.factors for n in networks(domain)])
        lossy = pl.DataFrame([n.factors for n in networks(domain, lossy=True)])
        within: list[Check] = []
        covered = []
        for column, key in (("capacity_mbps", "capacity"), ("delay_ms", "delay"), ("queueing_ms", "queueing-delay")):
            low, high = published[f"{short}.{key}.min"], published[f"{short}.{key}.max"]
            values = np.concatenate([table[f"{column}_{path}"].to_numpy() for path in (1, 2)])
            reach = (values.max() - values.min()) / (high - low)
            within += [at_least(float(values.min()), low), at_most(float(values.max()), high), Share(1.0, float(reach))]
            rows.append(_row(domain, key, low, high, values))
            covered += [f"{short}.{key}.min", f"{short}.{key}.max"]
        covered += [f"{short}.loss.min", f"{short}.loss.max", f"{short}.lossy-points"]
        for path in (1, 2):
            within.append(Exact(0, int((table[f"loss_percent_{path}"] != 0).sum())))
            within.append(Exact(3, lossy[f"loss_percent_{path}"].n_unique()))
        sizes = (table.height, lossy.height)
        wanted = (int(published[f"{short}.points"]), int(published[f"{short}.lossy-points"]))
        claims.number(
            f"{short}.points",
            f"{domain.name}: {wanted[0]} networks without random loss and {wanted[1]} with it fill the ranges.",
            f"{wanted[0]} and {wanted[1]}",
            f"{sizes[0]} and {sizes[1]}, all within the ranges and over more than 90 % of each",
            every(*(Exact(*pair) for pair in zip(wanted, sizes, strict=True)), within),
            covers=covered,
        )
    return Outcome(
        claims.all, tables=[("The ranges, and what the points of the first design reach", pl.DataFrame(rows))]
    )


def _row(domain: Domain, factor: str, low: float, high: float, values: np.ndarray) -> dict[str, object]:
    return {
        "domain": domain.name,
        "factor": factor.replace("-", " "),
        "published range": f"{low:g} to {high:g}",
        "least": round(float(values.min()), 1),
        "largest": round(float(values.max()), 1),
    }


def figure_3_2(context: Context) -> Outcome:
    """Whether each factor is spread evenly."""
    claims = Claims(context)
    table = factors(all_networks(context))
    rows, distances = [], []
    for domain in DOMAINS:
        own = table.filter(pl.col("domain") == domain.name)
        ranges = {"capacity_mbps": (1, 100), "delay_ms": domain.delay_ms, "queueing_ms": domain.queueing_ms}
        for column, (name, _) in _FACTORS.items():
            low, high = ranges[column]
            for path in (1, 2):
                values = own[f"{column}_{path}"].to_numpy().astype(float)
                found = stats.kstest(values, stats.uniform(low, high - low).cdf)
                distances.append(round(float(found.statistic), 3))
                rows.append(
                    {
                        "domain": domain.name,
                        "factor": f"{name}, path {path}",
                        "largest distance from the uniform distribution": round(float(found.statistic), 3),
                        "p of Kolmogorov and Smirnov": round(float(found.pvalue), 3),
                    }
                )
    worst = max(distances)
    claims.statement(
        "uniform",
        every(Share(0.0, distance, half=0) for distance in distances),
        f"largest distance of the {len(rows)} distribution functions from the uniform one: {worst}",
    )
    drawn = []
    for domain in DOMAINS:
        own = table.filter(pl.col("domain") == domain.name)
        for column, (name, axis) in _FACTORS.items():
            long = own.unpivot([f"{column}_1", f"{column}_2"], value_name="value")
            drawn.append(
                alt.Chart(long)
                .mark_bar(color=charts.BOX, opacity=0.85)
                .encode(
                    x=alt.X(
                        "value:Q",
                        bin=alt.Bin(maxbins=10),
                        title=axis,
                        axis=alt.Axis(labelOverlap="greedy", labelSeparation=6),
                    ),
                    y=alt.Y("count():Q", title="paths"),
                )
                .properties(width=215, height=130, title=f"{domain.name}: {name}")
            )
    chart = alt.vconcat(alt.hconcat(*drawn[:3]), alt.hconcat(*drawn[3:]))
    return Outcome(
        claims.all,
        tables=[("Distances from the uniform distribution", pl.DataFrame(rows))],
        figures=[("The factors of the first design, both paths: a histogram each", chart)],
    )
