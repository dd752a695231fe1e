"""Section 5.2 and table 5.1: random losses, four controls."""

from typing import Final

import numpy as np
import polars as pl
from mptcplab.reproduce import Context, Outcome, compare
from scipy import stats

from . import charts, data
from .findings import ALIKE, ONLY, Claims, median, part, quartiles, summary, verdict, with_batch
from .networks import DOMAINS, HIGH, LOW, Domain
from .scenarios import CONTROLS
from .sharing import fairness, own, responsiveness

_EDGES: Final = (0.0, 0.5, 1.0, 1.5, 2.0)
_LOSS_BASED: Final = ("lia", "olia", "balia")


def first_design(context: Context, domain: Domain | None = None) -> pl.DataFrame:
    """The runs that the figures show."""
    table = data.lossy(context).filter(pl.col("design") == 0)
    return table if domain is None else table.filter(pl.col("domain") == domain.name)


def _of(table: pl.DataFrame, control: str) -> pl.DataFrame:
    return table.filter(pl.col("control") == control)


def _falls(table: pl.DataFrame, value: str) -> tuple[list[bool], str]:
    down = []
    shown = []
    for control in _LOSS_BASED:
        kept = _of(table, control).drop_nulls([value])
        found = stats.spearmanr(kept["mean_loss"].to_numpy(), kept[value].to_numpy())
        down.append(found.statistic < 0 and found.pvalue < 0.01)
        few, many = kept.filter(pl.col("mean_loss") <= 0.5)[value], kept.filter(pl.col("mean_loss") > 1.5)[value]
        shown.append(f"{control} ρ = {found.statistic:+.2f}, medians {median(few):.2f} → {median(many):.2f}")
    return down, "; ".join(shown)


def _medians(table: pl.DataFrame, value: str, *, few: bool) -> dict[str, float]:
    """Below 1 %, or above it."""
    kept = table.filter((pl.col("mean_loss") < 1) == few)
    return {control: median(_of(kept, control)[value]) for control in CONTROLS}


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def _figure(context: Context, domain: Domain) -> Outcome:
    claims = Claims(context)
    table = first_design(context, domain)
    down, shown = _falls(table, "eab")
    many = _medians(table.filter(pl.col("mean_loss") > 1.5), "eab", few=False)
    claims.statement(
        "eab-falls",
        verdict(all(down), all(abs(many[control]) <= 2.5 * ALIKE for control in _LOSS_BASED)),
        shown,
    )
    down, shown = _falls(table, "ab")
    claims.statement("ab-falls", verdict(*down), shown)
    few = _medians(table, "eab", few=True)
    claims.statement(
        "wvegas-low",
        verdict(*(few["wvegas"] < few[control] for control in _LOSS_BASED)),
        f"median EAB below 1 %: {_listed(few)}",
    )
    rest = _medians(table, "eab", few=False)
    claims.statement(
        "wvegas-high",
        verdict(rest["wvegas"] > few["wvegas"]),
        f"median EAB of wVegas {few['wvegas']:.2f} below 1 %, {rest['wvegas']:.2f} above",
    )
    alike = [few[control] for control in _LOSS_BASED]
    claims.statement(
        "alike",
        verdict(max(alike) - min(alike) <= ALIKE),
        f"median EAB below 1 %: {', '.join(f'{control} {few[control]:.2f}' for control in _LOSS_BASED)}",
    )
    claims.statement(
        "lia-first",
        verdict(rest["lia"] < rest["olia"], rest["lia"] < rest["balia"]),
        f"median EAB above 1 %: {_listed({control: rest[control] for control in _LOSS_BASED})}",
    )
    figures = []
    for value in ("eab", "ab"):
        batched = with_batch(table, "mean_loss", _EDGES).drop_nulls(["batch"])
        order = batched.group_by("batch").agg(pl.col("_x").mean()).sort("_x")["batch"].to_list()
        batched = batched.with_columns(range=pl.col("batch") + " %")
        chart = charts.groups(
            batched,
            x="control",
            x_order=CONTROLS,
            x_title=" ",
            y=value,
            y_title=charts.title_of(value),
            column="range",
            column_order=[f"{name} %" for name in order],
            colours=charts.control_colours(CONTROLS),
            width=185,
        )
        figures.append(
            (f"{value.upper()} by the mean loss probability (its range above each panel), {domain.name}", chart)
        )
    shown_table = with_batch(table, "mean_loss", _EDGES).sort("_x", maintain_order=True)
    order_of = {control: number for number, control in enumerate(CONTROLS)}
    shown_table = shown_table.sort(pl.col("batch"), pl.col("control").replace_strict(order_of), maintain_order=True)
    return Outcome(
        claims.all,
        tables=[
            (f"{value.upper()} by mean loss in %, {domain.name}", summary(shown_table, ["batch", "control"], value))
            for value in ("eab", "ab")
        ],
        figures=figures,
        notes=[
            "Random losses strike data and acknowledgments alike, as Mininet's do. The mean loss probability weights "
            "each path's by its part of the traffic."
        ],
    )


def figure_5_1(context: Context) -> Outcome:
    """Low BDP."""
    return _figure(context, LOW)


def figure_5_2(context: Context) -> Outcome:
    """High BDP."""
    return _figure(context, HIGH)


def _on_less_lossy(context: Context) -> pl.DataFrame:
    """The part of the traffic on the path where TCP alone sent the smaller part again (page 50)."""
    table = first_design(context)
    baseline = table.filter(pl.col("control") == CONTROLS[0]).select(
        "domain",
        "point",
        first_less=pl.col("retransmissions_tcp_1") / pl.col("segments_sent_tcp_1")
        <= pl.col("retransmissions_tcp_2") / pl.col("segments_sent_tcp_2"),
    )
    joined = table.join(baseline, on=["domain", "point"], how="left", maintain_order="left", validate="m:1")
    return joined.with_columns(
        less_lossy=pl.when(pl.col("first_less")).then(pl.col("share")).otherwise(1 - pl.col("share"))
    )


def figure_5_3(context: Context) -> Outcome:
    """Where the traffic goes."""
    claims = Claims(context)
    table = _on_less_lossy(context)
    low, high = (table.filter(pl.col("domain") == domain.name) for domain in (LOW, HIGH))
    distances = {
        domain.name: max(
            float(stats.ks_2samp(_of(kept, a)["less_lossy"], _of(kept, b)["less_lossy"]).statistic)
            for a in CONTROLS
            for b in CONTROLS
            if a < b
        )
        for domain, kept in ((LOW, low), (HIGH, high))
    }
    key = "high.only-less-lossy"
    parts = {control: part(_of(high, control)["less_lossy"] > ONLY) for control in CONTROLS}
    mean = float(np.mean([parts[control] for control in _LOSS_BASED]))
    shown = ", ".join(f"{control} {value:.0%}" for control, value in parts.items())
    claims.number(
        key,
        "High BDP: the part of the networks where LIA, OLIA and BALIA send more than 95 % on the less lossy path.",
        f"{context.published[key]:.0f} %",
        shown,
        compare(context.published[key], 100 * mean, 10, 20, absolute=True),
    )
    claims.statement(
        "low-alike",
        verdict(distances[LOW.name] < 0.25),
        f"largest distance of two of the four distribution functions {distances[LOW.name]:.2f}",
    )
    spreads = {control: part(_of(table, control)["less_lossy"] > 0.99) for control in CONTROLS}
    claims.statement(
        "wvegas-spreads",
        verdict(spreads["wvegas"] == 0, spreads["wvegas"] < min(spreads[c] for c in _LOSS_BASED)),
        "part of the networks with more than 99 % on the less lossy path: "
        + ", ".join(f"{control} {value:.0%}" for control, value in spreads.items()),
    )
    claims.statement(
        "high-apart",
        verdict(
            all(parts[control] > parts["wvegas"] for control in _LOSS_BASED),
            distances[HIGH.name] > distances[LOW.name],
        ),
        f"{shown} with over 95 % on the less lossy path; largest distance of two functions {distances[HIGH.name]:.2f}",
    )
    medians = {control: median(_of(table, control)["eab"]) for control in _LOSS_BASED}
    claims.statement(
        "lia-least",
        verdict(medians["lia"] <= medians["olia"] + 0.02, medians["lia"] <= medians["balia"] + 0.02),
        f"median EAB over all networks: {_listed(medians)}",
    )
    chart = charts.distributions(
        table,
        "less_lossy",
        "control",
        x_title="part of the segments on the less lossy path",
        colours=charts.control_colours(CONTROLS),
        panels=[domain.name for domain in DOMAINS],
        marks=True,
    )
    rows = [
        {"domain": domain.name, "control": control}
        | dict(
            zip(
                ("25th percentile", "median", "75th percentile"),
                (round(x, 3) for x in quartiles(_of(kept, control)["less_lossy"])),
                strict=True,
            )
        )
        | {"over 95 %": f"{part(_of(kept, control)['less_lossy'] > ONLY):.0%}"}
        for domain, kept in ((LOW, low), (HIGH, high))
        for control in CONTROLS
    ]
    return Outcome(
        claims.all,
        tables=[("Part of the traffic on the less lossy path", pl.DataFrame(rows))],
        figures=[("Distribution of the part of the traffic on the path on which TCP alone sends less again", chart)],
    )


def table_5_1(context: Context) -> Outcome:
    """The assumptions, held against what figures 5.1 and 5.2 and tables 5.3 and 5.4 gave."""
    claims = Claims(context)
    table = first_design(context)
    aggregates = {c: part(_of(table, c).filter(pl.col("mean_loss") < 1)["eab"] > 0) for c in CONTROLS}
    sensitive = {}
    for control in CONTROLS:
        kept = _of(table, control)
        sensitive[control] = float(stats.spearmanr(kept["mean_loss"].to_numpy(), kept["ab"].to_numpy()).statistic)
    claims.statement(
        "lossy",
        verdict(
            all(aggregates[c] > 0.5 for c in _LOSS_BASED),
            all(sensitive[c] < -0.25 for c in _LOSS_BASED),
            aggregates["wvegas"] < 0.5,
            sensitive["wvegas"] > -0.25,
        ),
        "EAB above 0 below 1 % of loss: "
        + ", ".join(f"{c} {value:.0%}" for c, value in aggregates.items())
        + "; ρ of AB with the loss: "
        + ", ".join(f"{c} {value:+.2f}" for c, value in sensitive.items()),
    )
    jain = {c: median(own(fairness(context), c)["jain"]) for c in CONTROLS}
    claims.statement(
        "shared",
        verdict(*(jain[c] >= 0.99 for c in _LOSS_BASED)),
        "Jain's index: " + ", ".join(f"{c} {value:.4f}" for c, value in jain.items()),
    )
    third = {c: median(own(responsiveness(context), c)["phase_3"]) for c in CONTROLS}
    claims.statement(
        "responsive",
        verdict(third["balia"] > third["lia"], third["balia"] > third["olia"]),
        "kbit/s after the other flow has stopped: " + ", ".join(f"{c} {value:.0f}" for c, value in third.items()),
    )
    rows = [
        {
            "control": c,
            "EAB above 0, loss below 1 %": f"{aggregates[c]:.0%}",
            "ρ of AB with the loss": round(sensitive[c], 2),
            "Jain's index": round(jain[c], 4),
            "phase III (kbit/s)": round(third[c]),
        }
        for c in CONTROLS
    ]
    return Outcome(claims.all, tables=[("What the assumptions come to", pl.DataFrame(rows))])
