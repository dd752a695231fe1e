"""Figures 3.9 to 3.12: what is sent twice, and large files with cURL."""

import polars as pl
from mptcplab.reproduce import Context, Found, Outcome, below, every

from . import charts, data
from .bulk_items import distribution_chart, first_design
from .findings import Claims, Trend, mean, median, paired, part, summary, trend, with_batch
from .networks import DOMAINS, HIGH, LOW

_DELAY = "difference of the delays (ms)"


def _of(table: pl.DataFrame, name: str) -> pl.DataFrame:
    return table.filter(pl.col("domain") == name)


def _by_delay(table: pl.DataFrame, value: str) -> pl.DataFrame:
    rows = []
    for domain in DOMAINS:
        batched = with_batch(
            _of(table, domain.name), "delay_difference", charts.DELAY_EDGES[domain.name], absolute=True
        ).sort("_x")
        rows.append(
            batched.group_by("domain", "batch", maintain_order=True).agg(
                networks=pl.len(),
                **{
                    "median (%)": (100 * pl.col(value).median()).round(4),
                    "mean (%)": (100 * pl.col(value).mean()).round(4),
                },
                **{"none at all (networks)": (pl.col(value) == 0).sum()},
            )
        )
    return pl.concat(rows)


def figure_3_9(context: Context) -> Outcome:
    """Retransmissions."""
    claims = Claims(context)
    table = first_design(context)
    low, high = _of(table, LOW.name), _of(table, HIGH.name)
    means = mean(low["retransmissions"]), mean(high["retransmissions"])
    claims.statement(
        "high-more",
        every(below(median(low["retransmissions"]), median(high["retransmissions"])), below(*means)),
        f"medians {median(low['retransmissions']):.3%} (low) and {median(high['retransmissions']):.3%} (high); "
        f"means {means[0]:.3%} and {means[1]:.3%}",
    )
    trends = {
        domain.name: trend(
            _of(table, domain.name),
            "delay_difference",
            "retransmissions",
            charts.DELAY_EDGES[domain.name],
            absolute=True,
        )
        for domain in DOMAINS
    }
    claims.statement("low-flat", trends[LOW.name].flat, _percent(trends[LOW.name]))
    claims.statement(
        "high-grows",
        trends[HIGH.name].rises,
        _percent(trends[HIGH.name]),
    )
    by_capacity = {
        domain.name: trend(
            _of(table, domain.name), "capacity_difference", "retransmissions", charts.CAPACITY_EDGES, absolute=True
        )
        for domain in DOMAINS
    }
    claims.statement(
        "capacity-flat",
        every(each.flat for each in by_capacity.values()),
        "; ".join(f"{name} {_percent(each)}" for name, each in by_capacity.items()),
    )
    drawn = table.with_columns(retransmissions=100 * pl.col("retransmissions"))
    chart = charts.batches(
        drawn,
        "delay_difference",
        "retransmissions",
        edges=dict(charts.DELAY_EDGES),
        x_title=_DELAY,
        y_title="retransmissions (% of the segments)",
    )
    return Outcome(
        claims.all,
        tables=[
            ("Retransmissions by batches of the delay difference in ms", _by_delay(table, "retransmissions")),
            ("What was sent beyond what arrived, as the authors' scripts count it", _by_delay(table, "sent_beyond")),
        ],
        figures=[("Ratio of retransmissions against the delay difference", chart)],
    )


def _percent(found: Trend) -> str:
    return f"ρ = {found.rho:+.2f} (p = {found.p:.2g}), medians {found.first:.3%} → {found.last:.3%}"


def figure_3_10(context: Context) -> Outcome:
    """Reinjections."""
    claims = Claims(context)
    table = first_design(context)
    trends = {
        domain.name: trend(
            _of(table, domain.name), "delay_difference", "reinjections", charts.DELAY_EDGES[domain.name], absolute=True
        )
        for domain in DOMAINS
    }
    low = _of(table, LOW.name)
    claims.statement(
        "low-grows",
        trends[LOW.name].rises,
        f"{_percent(trends[LOW.name])}; something reinjected in {part(low['reinjections'] > 0):.0%} of the networks",
    )
    claims.statement("high-flat", trends[HIGH.name].flat, _percent(trends[HIGH.name]))
    drawn = table.with_columns(reinjections=100 * pl.col("reinjections"))
    chart = charts.batches(
        drawn,
        "delay_difference",
        "reinjections",
        edges=dict(charts.DELAY_EDGES),
        x_title=_DELAY,
        y_title="reinjections (% of the segments)",
    )
    return Outcome(
        claims.all,
        tables=[("Reinjections by batches of the delay difference in ms", _by_delay(table, "reinjections"))],
        figures=[("Ratio of reinjections against the delay difference", chart)],
    )


def _paired(files: pl.DataFrame, size: int, other: pl.DataFrame) -> tuple[Found, Found]:
    """Median EAB of files of a size, and of other transfers over the same networks."""
    joined = files.filter(pl.col("size") == size).join(
        other.select("point", other="eab"), on="point", how="left", maintain_order="left", validate="1:1"
    )
    return paired(joined["eab"].to_list(), joined["other"].to_list())


def figure_3_11(context: Context) -> Outcome:
    """16 and 32 MB, low BDP."""
    claims = Claims(context)
    large = _of(data.large_files(context), LOW.name)
    iperf = _of(first_design(context), LOW.name)
    medians = {size: median(large.filter(pl.col("size") == size)["eab"]) for size in (16_000, 32_000)}
    reference = median(iperf["eab"])
    claims.statement(
        "below-iperf",
        every(below(*_paired(large, size, iperf), whole=1.0) for size in medians),
        f"medians: 16 MB {medians[16_000]:.3f}, 32 MB {medians[32_000]:.3f}, iPerf {reference:.3f}",
    )
    claims.statement(
        "larger-better",
        below(*_paired(large, 16_000, large.filter(pl.col("size") == 32_000)), whole=1.0),
        f"medians: 16 MB {medians[16_000]:.3f}, 32 MB {medians[32_000]:.3f}",
    )
    names = {16_000: "16 MB", 32_000: "32 MB"}
    drawn = large.with_columns(file=pl.col("size").replace_strict(names, return_dtype=pl.String))
    chart = charts.batches(
        drawn,
        "capacity_difference",
        "eab",
        edges=dict.fromkeys(names.values(), charts.CAPACITY_EDGES),
        x_title="difference of the capacities (Mbit/s)",
        y_title=charts.title_of("eab"),
        panels=list(names.values()),
        by="file",
    )
    batched = with_batch(drawn, "capacity_difference", charts.CAPACITY_EDGES, absolute=True).sort("size", "_x")
    return Outcome(
        claims.all,
        tables=[("EAB by batches of the capacity difference in Mbit/s", summary(batched, ["file", "batch"], "eab"))],
        figures=[("EAB against the capacity difference, low BDP, files of 16 and 32 MB", chart)],
    )


def figure_3_12(context: Context) -> Outcome:
    """16 and 32 MB, high BDP: where the traffic goes."""
    claims = Claims(context)
    large = _of(data.large_files(context), HIGH.name).filter(pl.col("delay_difference") != 0)
    names = {16_000: "16 MB", 32_000: "32 MB"}
    drawn = large.with_columns(file=pl.col("size").replace_strict(names, return_dtype=pl.String))
    gaps = {}
    found = []
    for size, name in names.items():
        own = large.filter(pl.col("size") == size)
        shorter = median(own.filter(pl.col("delay_difference") < 0)["share"])
        longer = median(own.filter(pl.col("delay_difference") > 0)["share"])
        gaps[size] = shorter - longer
        found.append(f"{name}: {shorter:.2f} and {longer:.2f}")
    text = "median part of the first path where it is the shorter and the longer, " + "; ".join(found)
    claims.statement("by-delay", below(Found(0.0), gaps[16_000], whole=1.0), text)
    claims.statement(
        "grows",
        below(gaps[16_000], gaps[32_000], whole=1.0),
        text,
    )
    chart = distribution_chart(
        drawn,
        "delay_difference",
        "first path has the shorter delay",
        "first path has the longer delay",
        list(names.values()),
        "file",
    )
    return Outcome(
        claims.all,
        figures=[("Distribution of the first path's part by the sign of the delay difference, high BDP", chart)],
        notes=[
            "The text of the thesis says that figure 3.12 is grouped by the capacity difference; its caption, and what "
            "is said of it, say delay."
        ],
    )
