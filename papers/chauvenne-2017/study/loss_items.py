"""Section 5.2 and table 5.1: random losses, four controls."""

from typing import Final

import numpy as np
import polars as pl
from scipy import stats

from mptcplab.reproduce import Context, Outcome, compare

from . import charts, data
from .findings import ALIKE, ONLY, Claims, median, part, quartiles, summary, verdict, with_batch
from .networks import DOMAINS, HIGH, LOW, Domain
from .scenarios import CONTROLS
from .sharing import fairness, responsiveness

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
        own = _of(table, control).drop_nulls([value])
        found = stats.spearmanr(own["mean_loss"].to_numpy(), own[value].to_numpy())
        down.append(found.statistic < 0 and found.pvalue < 0.01)
        few, many = own.filter(pl.col("mean_loss") <= 0.5)[value], own.filter(pl.col("mean_loss") > 1.5)[value]
        shown.append(f"{control} ρ = {found.statistic:+.2f}, medians {median(few):.2f} → {median(many):.2f}")
    return down, "; ".join(shown)


def _medians(table: pl.DataFrame, value: str, *, few: bool) -> dict[str, float]:
    """Below 1 %, or above it."""
    own = table.filter((pl.col("mean_loss") < 1) == few)
    return {control: median(_of(own, control)[value]) for control in CONTROLS}


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
        "Coupled controls get in total what one TCP gets on the better path (equation 6.3), so EAB is 0 where both paths are limited "
        "by random losses. Where capacity limits them, as on slow paths, both are filled whatever the loss.",
    )
    down, shown = _falls(table, "ab")
    claims.statement("ab-falls", verdict(*down), shown)
    few = _medians(table, "eab", few=True)
    claims.statement(
        "wvegas-low",
        verdict(*(few["wvegas"] < few[control] for control in _LOSS_BASED)),
        f"median EAB below 1 %: {_listed(few)}",
        "wVegas is compared with TCP here, not with a link: see the note.",
    )
    rest = _medians(table, "eab", few=False)
    claims.statement(
        "wvegas-high",
        verdict(rest["wvegas"] > few["wvegas"]),
        f"median EAB of wVegas {few['wvegas']:.2f} below 1 %, {rest['wvegas']:.2f} above",
        "In the paper's form of wVegas, as here, a loss halves the window as Reno's does: what a random loss costs is "
        "the same. The thesis says that the kernel's window is not changed by a loss; in that code too a loss halves it. What can be "
        "gained is only the queue.",
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
        "By equation 6.3 and Khalili's theorem 1 the three have the same total in equilibrium, that of TCP on the better path. What "
        "sets them apart is small and is how they swing around it.",
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
            "Random losses strike data and acknowledgments alike, as Mininet's do; a loss of both paths is weighted by their parts of the traffic."
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
            float(stats.ks_2samp(_of(own, a)["less_lossy"], _of(own, b)["less_lossy"]).statistic)
            for a in CONTROLS
            for b in CONTROLS
            if a < b
        )
        for domain, own in ((LOW, low), (HIGH, high))
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
        cause="The share of a path goes with 1/p and with the RTT; Linux's forms of the controls and Mininet's queues, longer RTTs "
        "with a delay line that counts in the queue, move it.",
    )
    claims.statement(
        "low-alike",
        verdict(distances[LOW.name] < 0.25),
        f"largest distance of two of the four distribution functions {distances[LOW.name]:.2f}",
        "OLIA and BALIA leave the lossier path further than LIA does, as they were made to (Khalili 2013; Peng 2016).",
    )
    spreads = {control: part((_of(table, control)["less_lossy"] > 0.99)) for control in CONTROLS}
    claims.statement(
        "wvegas-spreads",
        verdict(spreads["wvegas"] == 0, spreads["wvegas"] < min(spreads[c] for c in _LOSS_BASED)),
        "part of the networks with more than 99 % on the less lossy path: "
        + ", ".join(f"{control} {value:.0%}" for control, value in spreads.items()),
        "A few networks have a path of 1 or 2 Mbit/s beside one of 100: it cannot carry a hundredth.",
    )
    claims.statement(
        "high-apart",
        verdict(
            all(parts[control] > parts["wvegas"] for control in _LOSS_BASED),
            distances[HIGH.name] > distances[LOW.name],
        ),
        f"{shown} with over 95 % on the less lossy path; largest distance of two functions {distances[HIGH.name]:.2f}",
        "Both kinds of control spread by RTT and loss; a window of two segments at least keeps every path in use.",
    )
    medians = {control: median(_of(table, control)["eab"]) for control in _LOSS_BASED}
    claims.statement(
        "lia-least",
        verdict(medians["lia"] <= medians["olia"] + 0.02, medians["lia"] <= medians["balia"] + 0.02),
        f"median EAB over all networks: {_listed(medians)}",
        "The three have the same total in equilibrium (equation 6.3; Khalili 2013 theorem 1).",
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
                (round(x, 3) for x in quartiles(_of(own, control)["less_lossy"])),
                strict=True,
            )
        )
        | {"over 95 %": f"{part(_of(own, control)['less_lossy'] > ONLY):.0%}"}
        for domain, own in ((LOW, low), (HIGH, high))
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
        own = _of(table, control)
        sensitive[control] = float(stats.spearmanr(own["mean_loss"].to_numpy(), own["ab"].to_numpy()).statistic)
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
        "wVegas halves its window on a loss like the others, in the paper and in the kernel, and so suffers from loss.",
    )
    jain = {
        c: float(fairness(context).filter((pl.col("control") == c) & (pl.col("form") == "paper"))["jain"].median() or 0)
        for c in CONTROLS
    }  # type: ignore[arg-type]
    claims.statement(
        "shared",
        verdict(*(jain[c] >= 0.99 for c in _LOSS_BASED)),
        "Jain's index: " + ", ".join(f"{c} {value:.4f}" for c, value in jain.items()),
        "Table 5.3 has the cause.",
    )
    phases = responsiveness(context)
    third = {
        c: float(phases.filter((pl.col("control") == c) & (pl.col("form") == "paper"))["phase_3"].median() or 0)  # type: ignore[arg-type]
        for c in CONTROLS
    }
    claims.statement(
        "responsive",
        verdict(third["balia"] > third["lia"], third["balia"] > third["olia"]),
        "kbit/s after the other flow has stopped: " + ", ".join(f"{c} {value:.0f}" for c, value in third.items()),
        "Tables 5.4 has the cause: the capacity is free again within a second or two with each of them.",
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
