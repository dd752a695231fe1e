"""Chapter 6: the model of LIA's throughput, its examples and its validation."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
from mptcplab.models.predict import predict
from mptcplab.reproduce import Check, Context, Equality, Exact, Found, Number, Outcome, Share, at_most, every, mean_of

from . import charts, scenarios
from .data import PAYLOAD_BYTES
from .findings import Claims

RTTS_MS: Final = (30, 50, 75, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 980, 1000)
"""Fifteen of 30 to 1000 ms; the thesis does not list its own."""
LOSSES: Final = tuple(range(2, 11))
_SECONDS: Final = 300

Floats = npt.NDArray[np.float64]


def lossy_grid(context: Context, control: str, vary: str, form: str = "paper") -> pl.DataFrame:
    """Packets/s on both paths, measured and by the model, against `vary`: `loss` of figure 6.3 or `rtt` of 6.4."""
    settings = (
        [(loss, (1.0, float(loss)), (20.0, 20.0)) for loss in LOSSES]
        if vary == "loss"
        else [(rtt, (1.0, 2.0), (20.0, float(rtt))) for rtt in RTTS_MS]
    )
    if context.quick:
        settings = settings[::3]
    seeds = range(1, 3 if context.quick else 6)
    wanted = [
        (
            {"x": x, "number": seed},
            scenarios.two_lossy_paths(
                scenarios.control(control, form) if form != "paper" else control,
                losses_percent=losses,
                rtts_ms=rtts,
                seconds=100 if context.quick else _SECONDS,
            ),
            seed,
        )
        for x, losses, rtts in settings
        for seed in seeds
    ]
    subflows = context.run_many(wanted).subflows
    by = ["x", "path"]
    means = subflows.group_by(by, maintain_order=True).agg(
        measured=pl.col("goodput_bps").mean() / (8 * PAYLOAD_BYTES),
        by_seed=pl.col("goodput_bps") / (8 * PAYLOAD_BYTES),
        rtt=pl.col("rtt_mean_s").mean(),
        timeouts=pl.col("timeouts").mean(),
    )
    rows = []
    for x, losses, rtts in settings:
        own = means.filter(pl.col("x") == x)
        loss = np.array(losses) / 100
        measured_rtts = own["rtt"].to_numpy()
        law = predict(loss, np.array(rtts) / 1e3, control).rates_segments_per_s
        law_measured = predict(loss, measured_rtts, control).rates_segments_per_s
        rows += [
            {
                "x": x,
                "path": path,
                "measured": float(own["measured"][path - 1]),
                "by seed": own["by_seed"][path - 1].to_list(),
                "model": float(law[path - 1]),
                "model, measured RTTs": float(law_measured[path - 1]),
                "RTT (ms)": float(measured_rtts[path - 1] * 1e3),
                "timeouts": float(own["timeouts"][path - 1]),
            }
            for path in (1, 2)
        ]
    return pl.DataFrame(rows)


def _seeds(table: pl.DataFrame, path: int, statistic: Callable[[Floats, Floats], float], model: str) -> Found:
    """A statistic of measurement and model on one path: of the means, with the interval that the seeds' has."""
    own = table.filter(pl.col("path") == path)
    law = own[model].to_numpy()
    each = [statistic(row, law) for row in np.array(own["by seed"].to_list()).T]
    return Found(statistic(own["measured"].to_numpy(), law), mean_of(each).half)


def _root(measured: Floats, law: Floats) -> float:
    return float(np.sqrt(np.mean((measured - law) ** 2)))


def _correlation(measured: Floats, law: Floats) -> float:
    return float(np.corrcoef(measured, law)[0, 1])


def rmse(table: pl.DataFrame, path: int, model: str = "model") -> Found:
    """Root of the mean squared difference of measurement and model on one path, packets/s."""
    return _seeds(table, path, _root, model)


def measured(table: pl.DataFrame, path: int) -> list[tuple[Found, float]]:
    """Each experiment's rate, and the model's."""
    rows = table.filter(pl.col("path") == path).select("by seed", "model")
    return [(mean_of(seeds), law) for seeds, law in rows.iter_rows()]


def _validation(context: Context, vary: str, x_title: str) -> Outcome:
    claims = Claims(context)
    published = context.published
    table = lossy_grid(context, "lia", vary, context.machine["form"])
    equations = lossy_grid(context, "lia", vary)
    first = table.filter(pl.col("path") == 1)
    above = (first["model"] > first["measured"]).to_list()
    difference = (first["model"] / first["measured"] - 1).to_numpy()
    claims.statement(
        "over",
        every(at_most(rate, law) for rate, law in measured(table, 1)),
        f"in {sum(above)} of {len(above)} experiments, by {difference.min():.0%} to {difference.max():.0%}",
    )
    for name, path in (("grow", 1), ("second", 2)):
        correlation = _seeds(table, path, _correlation, "model")
        check: Check = Share(1.0, correlation)
        if (vary, name) == ("rtt", "second"):
            # "Very close" is more than falling together.
            check = every(Equality(Found(law), rate) for rate, law in measured(table, 2))
        claims.statement(name, check, f"correlation of model and measurement {correlation:.3f}")
    for path in (1, 2):
        key = f"rmse-{path}"
        found, at_measured = rmse(table, path), rmse(table, path, "model, measured RTTs")
        claims.number(
            key,
            f"Path {path}: root of the mean squared difference of model and measurement, in packets/s.",
            published[key],
            f"{found:.1f}; {at_measured:.1f} with the model at the measured RTTs; {rmse(equations, path):.1f} with the "
            "control as its equations have it",
            Number(published[key], found),
        )
    if vary == "loss":
        target = float(predict([0.01, 0.02], [0.02, 0.02]).total_segments_per_s)
        totals = [one + other for (one, _), (other, _) in zip(measured(table, 1), measured(table, 2), strict=True)]
        claims.number(
            "target",
            "With this loss and RTT the model's total is close to 700 packets/s.",
            "close to 700 packets/s",
            f"{target:.0f}; measured {min(totals):.0f} to {max(totals):.0f}",
            Number(published["target"], target, half=0),
        )
    names = {"measured": "simulated", "model": "model", "model, measured RTTs": "model at the measured RTTs"}
    long = table.unpivot(list(names), index=["x", "path"], variable_name="series", value_name="rate").with_columns(
        series=pl.col("series").replace_strict(names, return_dtype=pl.String),
        panel=pl.col("path").replace_strict({1: "first path", 2: "second path"}, return_dtype=pl.String),
    )
    lia = charts.control_colours(["lia"])["lia"]
    chart = charts.curves(
        long,
        x="x",
        x_title=x_title,
        y="rate",
        y_title="throughput (packets/s)",
        series="series",
        colours={"simulated": lia, "model": "#4477AA", "model at the measured RTTs": "#8A8A8A"},
        dashes={"model": (6, 3), "model at the measured RTTs": (2, 2)},
        panels=["first path", "second path"],
    )
    shown = (
        table.drop("by seed")
        .rename({"x": x_title, "measured": "simulated (packets/s)", "model": "model (packets/s)"})
        .with_columns(pl.selectors.float().round(1))
    )
    return Outcome(
        claims.all,
        tables=[("Simulation (mean of the seeds) and model", shown)],
        figures=[("Throughput of each path", chart)],
    )


def figure_6_3(context: Context) -> Outcome:
    """Different losses."""
    return _validation(context, "loss", "loss of the second path (%)")


def figure_6_4(context: Context) -> Outcome:
    """Different RTTs."""
    return _validation(context, "rtt", "RTT of the second path (ms)")


def examples(context: Context) -> Outcome:
    """The examples of section 6.1.3, by the laboratory's own functions for the same quantities."""
    claims = Claims(context)
    published = context.published
    losses = np.array([0.01, 0.02])
    # 70 and 30 % of the traffic at equal RTTs: the rates are given, not predicted.
    from mptcplab.models.predict import Prediction

    given = Prediction("given", losses, np.array([1.0, 1.0]), np.array([0.7, 0.3]), None)
    found = {
        "loss": float(given.mean_loss_rate),
        "segments": float(given.segments_per_loss),
        # As the thesis: of the printed 76.92, two digits.
        "segments-1": 0.7 * round(float(given.segments_per_loss), 2),
        "segments-2": 0.3 * round(float(given.segments_per_loss), 2),
        "loss-share-1": float(given.loss_shares[0]),
        "loss-share-2": float(given.loss_shares[1]),
    }
    texts = {
        "loss": "Mean loss rate.",
        "segments": "Packets sent between two losses, E[P] = 1/p.",
        "segments-1": "The same on path 1, equation 6.1.",
        "segments-2": "The same on path 2.",
        "loss-share-1": "The part of the losses that occurs on path 1, equation 6.2.",
        "loss-share-2": "The same for path 2.",
    }
    for key, value in found.items():
        claims.number(
            key,
            texts[key],
            published[key],
            round(value, 4),
            Exact(published[key], value, digits=3 if key == "loss" else 2),
        )
    return Outcome(claims.all)
