"""What the thesis leaves for later (section 7.1): queueing delay, rate-limited applications, other controls."""

from typing import Final

import numpy as np
import polars as pl
from mptcplab import analysis
from mptcplab.plots import style
from mptcplab.reproduce import Context, Equality, Found, Outcome, below, every, mean_of
from mptcplab.reproduce.context import Wanted

from . import charts, scenarios
from .bulk_items import first_design
from .findings import Claims, median, summary, trend, with_batch
from .model_items import lossy_grid, rmse
from .networks import DOMAINS, LOW, Network, Path, networks, queue_packets

_QUEUEING_MS: Final = (0, 10, 25, 50, 100, 200, 400, 700, 1000, 1500, 2000)
_CENTRES: Final = {
    "delays of 10 and 20 ms": ((50, 10), (30, 20)),
    "delays of 50 and 150 ms": ((50, 50), (30, 150)),
}


def future_queue(context: Context) -> Outcome:
    """The maximum queueing delay as a factor: over the designs, and alone on two networks."""
    claims = Claims(context)
    table = first_design(context).with_columns(queueing=pl.max_horizontal("queueing_ms_1", "queueing_ms_2"))
    edges = {domain.name: tuple(domain.queueing_ms[1] * part / 5 for part in range(6)) for domain in DOMAINS}
    trends = {
        domain.name: trend(table.filter(pl.col("domain") == domain.name), "queueing", "eab", edges[domain.name])
        for domain in DOMAINS
    }
    single = _one_factor(context)
    told = (
        "Over the designs, EAB against the longer of the two maximum queueing delays: "
        + "; ".join(f"{name} {found}" for name, found in trends.items())
        + ". Alone on two networks: the figure."
    )
    chart = charts.batches(
        table,
        "queueing",
        "eab",
        edges=edges,
        x_title="longer maximum queueing delay of the two paths (ms)",
        y_title=charts.title_of("eab"),
    )
    colours = {"EAB, window 3 MiB": "#0072B2", "EAB, window 64 MiB": "#E69F00"}
    lines = charts.curves(
        single,
        x="queueing",
        x_title="maximum queueing delay of both paths (ms)",
        y="eab",
        y_title=charts.title_of("eab"),
        series="series",
        colours=colours,
        panels=list(_CENTRES),
    )
    batched = pl.concat(
        [
            with_batch(table.filter(pl.col("domain") == domain.name), "queueing", edges[domain.name]).sort("_x")
            for domain in DOMAINS
        ]
    )
    return Outcome(
        claims.all,
        tables=[
            ("EAB by batches of the longer maximum queueing delay in ms", summary(batched, ["domain", "batch"], "eab")),
            ("Two networks of 50 and 30 Mbit/s", single.drop("series").with_columns(pl.selectors.float().round(3))),
        ],
        figures=[
            ("EAB against the maximum queueing delay, over the designs", chart),
            ("EAB of two networks of 50 and 30 Mbit/s whose queues alone change", lines),
        ],
        notes=[told],
        not_covered={"open": "A question, which claims nothing; the note answers it."},
    )


def _one_factor(context: Context) -> pl.DataFrame:
    windows = ("3 MiB", "64 MiB")
    values = _QUEUEING_MS[::3] if context.quick else _QUEUEING_MS
    wanted: list[Wanted] = []
    for centre, pair in _CENTRES.items():
        for queueing in values:
            paths = [Path(c, d, queue_packets(c, queueing), queueing) for c, d in pair]
            network = Network("one factor", 0, 0, paths[0], paths[1])
            for window in windows:
                kinds = {"multi": scenarios.mptcp(congestion=scenarios.control("lia", "linux"), window=window)} | {
                    name: scenarios.tcp(name, window=window) for name in ("one", "two")
                }
                wanted += [
                    (
                        {"panel": centre, "queueing": queueing, "window": window, "who": who},
                        scenarios.over(network, connection),
                        1,
                    )
                    for who, connection in kinds.items()
                ]
    goodputs = context.run_many(wanted).connections.pivot(
        on="who", index=["panel", "queueing", "window"], values="goodput_bps"
    )
    return goodputs.with_columns(
        eab=analysis.experimental_aggregation_benefit("multi", ["one", "two"]),
        series="EAB, window " + pl.col("window"),
        **{f"{name} (Mbit/s)": pl.col(name) / 1e6 for name in ("multi", "one", "two")},
    ).drop("multi", "one", "two")


_PARTS: Final = (25, 50, 75)
_SCHEDULERS: Final = {**scenarios.SCHEDULERS, "redundant": {"name": "redundant"}, "blest": {"name": "blest"}}


def _lia(scheduler: scenarios.Table, application: scenarios.Table) -> scenarios.Table:
    lia = scenarios.control("lia", "linux")
    return scenarios.mptcp(congestion=lia, scheduler=scheduler, application=application)


def future_rate(context: Context) -> Outcome:
    """Applications of a constant rate: what the schedulers do to the order of arrival."""
    claims = Claims(context)
    points = networks(LOW, quick=context.quick)
    wanted: list[Wanted] = []
    for network in points:
        capacity = network.first.capacity_mbps + network.second.capacity_mbps
        for percent in _PARTS:
            application = {"kind": "rate", "rate": f"{capacity * percent * 10} kbit/s"}
            wanted += [
                (
                    {**network.labels, "percent": percent, "sched": name, "offered": capacity * percent / 100},
                    scenarios.over(network, _lia(scheduler, application), seconds=15),
                    network.seed,
                )
                for name, scheduler in _SCHEDULERS.items()
            ]
    table = context.run_many(wanted).connections.with_columns(
        delay_ms=1e3 * pl.col("out_of_order_delay_mean_s"),
        delivered=pl.col("goodput_bps") / 1e6 / pl.col("offered"),
        rate=pl.col("percent").cast(pl.String) + " % of the capacity",
    )
    rows = table.group_by("rate", "sched", maintain_order=True).agg(
        **{
            "median wait for order (ms)": pl.col("delay_ms").median().round(3),
            "90th percentile (ms)": pl.col("delay_ms").quantile(0.9, "linear").round(2),
            "delivered of what was offered, median": pl.col("delivered").median().round(3),
            "10th percentile": pl.col("delivered").quantile(0.1, "linear").round(3),
        }
    )
    half = {
        name: median(table.filter((pl.col("percent") == 50) & (pl.col("sched") == name))["delay_ms"])
        for name in _SCHEDULERS
    }
    claims.statement(
        "open",
        below(half["min-rtt"], half["round-robin"], far=True),
        "median wait of a byte for those before it, at half of the capacity: "
        + ", ".join(f"{name} {value:.2f} ms" for name, value in half.items()),
    )
    chart = charts.groups(
        table,
        x="sched",
        x_order=list(_SCHEDULERS),
        x_title=" ",
        y="delay_ms",
        y_title="mean wait of a byte for order (ms)",
        column="rate",
        column_order=[f"{percent} % of the capacity" for percent in _PARTS],
        colours={name: charts.SCHEDULER_COLOURS[name] for name in _SCHEDULERS},
        width=300,
    )
    return Outcome(
        claims.all,
        tables=[("An application of a constant rate over the networks of low BDP", rows)],
        figures=[("Time from a byte's arrival to its delivery in order, one mark per network", chart)],
    )


_MODELLED: Final = ("lia", "olia", "balia", "ewtcp", "coupled")


def future_controls(context: Context) -> Outcome:
    """The model for other controls, validated as figure 6.3 validates LIA's."""
    claims = Claims(context)
    rows = []
    series = []
    tables: dict[str, pl.DataFrame] = {}
    for control in _MODELLED:
        table = tables[control] = lossy_grid(context, control, "loss")
        rows.append(
            {
                "control": control,
                "RMSE, path 1": round(rmse(table, 1), 1),
                "RMSE, path 2": round(rmse(table, 2), 1),
                "RMSE, path 1, measured RTTs": round(rmse(table, 1, "model, measured RTTs"), 1),
                "RMSE, path 2, measured RTTs": round(rmse(table, 2, "model, measured RTTs"), 1),
                "model over simulation in total": f"{_excess(table):+.0%}",
            }
        )
        for kind, column in (("simulated", "measured"), ("model", "model")):
            series.append(
                table.select("x", "path", rate=pl.col(column)).with_columns(
                    control=pl.lit(control),
                    panel=pl.when(pl.col("path") == 1)
                    .then(pl.lit(f"first path, {kind}"))
                    .otherwise(pl.lit(f"second path, {kind}")),
                )
            )
    points = tables["balia"].select("model, measured RTTs", "by seed").iter_rows()
    claims.statement(
        "open",
        every(Equality(Found(law), mean_of(seeds)) for law, seeds in points),
        "RMSE of path 1 at the measured RTTs in packets/s: "
        + ", ".join(f"{row['control']} {row['RMSE, path 1, measured RTTs']}" for row in rows),
    )
    chart = charts.curves(
        pl.concat(series),
        x="x",
        x_title="loss of the second path (%)",
        y="rate",
        y_title="throughput (packets/s)",
        series="control",
        colours=charts.control_colours(_MODELLED),
        shapes={control: style.algorithm(control).shape for control in _MODELLED},
        panels=["first path, simulated", "first path, model", "second path, simulated", "second path, model"],
        width=210,
    )
    return Outcome(
        claims.all,
        tables=[("The networks of figure 6.3 with other controls; RMSE in packets/s", pl.DataFrame(rows))],
        figures=[("Simulation and model of five controls", chart)],
    )


def _excess(table: pl.DataFrame) -> float:
    total = table.group_by("x", maintain_order=True).agg(pl.col("measured").sum(), pl.col("model").sum())
    return float(np.mean((total["model"] / total["measured"]).to_numpy())) - 1
