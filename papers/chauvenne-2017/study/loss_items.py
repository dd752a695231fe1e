"""Section 5.2 and table 5.1: random losses, four controls."""

from collections.abc import Mapping
from itertools import combinations
from typing import Final, Literal

import polars as pl
from mptcplab.reproduce import (
    Check,
    Context,
    Equality,
    Exact,
    Found,
    Outcome,
    Share,
    at_least,
    at_most,
    below,
    every,
)
from mptcplab.reproduce import Trend as TrendCheck

from . import charts, data
from .findings import (
    ONLY,
    Claims,
    distributed_alike,
    median,
    paired,
    part,
    quartiles,
    rank_correlation,
    summary,
    with_batch,
)
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


def _falls(table: pl.DataFrame, value: str) -> tuple[list[Check], str]:
    down: list[Check] = []
    shown = []
    for control in _LOSS_BASED:
        kept = _of(table, control).drop_nulls([value])
        rho, p = rank_correlation(kept["mean_loss"], kept[value])
        few, many = kept.filter(pl.col("mean_loss") <= 0.5)[value], kept.filter(pl.col("mean_loss") > 1.5)[value]
        down.append(TrendCheck("falls", rho, p, median(few), median(many), kept.height))
        shown.append(f"{control} ρ = {rho:+.2f}, medians {median(few):.2f} → {median(many):.2f}")
    return down, "; ".join(shown)


def _pair(table: pl.DataFrame, one: str, other: str, *, few: bool | None = None) -> tuple[Found, Found]:
    """Median EAB of two controls over the same networks, those with a mean loss below 1 % or from it on."""
    kept = pl.lit(value=True) if few is None else (pl.col("mean_loss") < 1) == few
    wide = table.with_columns(eab=pl.when(kept).then(pl.col("eab"))).pivot(
        on="control", index=["domain", "point"], values="eab"
    )
    return paired(wide[one].to_list(), wide[other].to_list())


def _medians(table: pl.DataFrame, value: str, *, few: bool) -> dict[str, Found]:
    """Below 1 %, or above it."""
    kept = table.filter((pl.col("mean_loss") < 1) == few)
    return {control: median(_of(kept, control)[value]) for control in CONTROLS}


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def _figure(context: Context, domain: Domain) -> Outcome:
    claims = Claims(context)
    table = first_design(context, domain)
    down, shown = _falls(table, "eab")
    many = _medians(table.filter(pl.col("mean_loss") > 1.5), "eab", few=False)
    claims.statement(
        "eab-falls",
        every(down, [Share(0.0, many[control]) for control in _LOSS_BASED]),
        shown,
    )
    down, shown = _falls(table, "ab")
    claims.statement("ab-falls", every(down), shown)
    few = _medians(table, "eab", few=True)
    claims.statement(
        "wvegas-low",
        every(below(*_pair(table, "wvegas", control, few=True), whole=1.0) for control in _LOSS_BASED),
        f"median EAB below 1 %: {_listed(few)}",
    )
    rest = _medians(table, "eab", few=False)
    claims.statement(
        "wvegas-high",
        below(few["wvegas"], rest["wvegas"], whole=1.0),
        f"median EAB of wVegas {few['wvegas']:.2f} below 1 %, {rest['wvegas']:.2f} above",
    )
    claims.statement(
        "alike",
        every(Equality(*_pair(table, a, b, few=True), whole=1.0) for a, b in combinations(_LOSS_BASED, 2)),
        f"median EAB below 1 %: {', '.join(f'{control} {few[control]:.2f}' for control in _LOSS_BASED)}",
    )
    claims.statement(
        "lia-first",
        every(below(*_pair(table, "lia", control, few=False), whole=1.0) for control in ("olia", "balia")),
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


def _no_worse(less: Found, more: Found) -> Check:
    """That the second is at least the first."""
    return at_least(more, float(less), whole=1.0)


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
    key = "high.only-less-lossy"
    parts = {control: part(_of(high, control)["less_lossy"] > ONLY) for control in CONTROLS}
    shown = ", ".join(f"{control} {value:.0%}" for control, value in parts.items())
    claims.number(
        key,
        "High BDP: the part of the networks where LIA, OLIA and BALIA send more than 95 % on the less lossy path.",
        f"{context.published[key]:.0f} %",
        shown,
        every(Share(context.published[key], 100 * parts[control], whole=100) for control in _LOSS_BASED),
    )
    claims.statement(
        "low-alike",
        every(
            distributed_alike(_of(low, a)["less_lossy"], _of(low, b)["less_lossy"])
            for a, b in combinations(CONTROLS, 2)
        ),
        "quartiles: "
        + "; ".join(
            f"{control} " + ", ".join(f"{x:.2f}" for x in quartiles(_of(low, control)["less_lossy"]))
            for control in CONTROLS
        ),
    )
    spreads = {control: int(((_of(table, control)["less_lossy"] - 0.5).abs() > 0.49).sum()) for control in CONTROLS}
    networks = _of(table, "wvegas").height
    claims.statement(
        "wvegas-spreads",
        Exact(0, spreads["wvegas"]),
        f"networks of {networks} with more than 99 % on one path: "
        + ", ".join(f"{control} {value}" for control, value in spreads.items()),
    )
    vegas = {domain.name: median(_of(kept, "wvegas")["less_lossy"]) for domain, kept in ((LOW, low), (HIGH, high))}
    claims.statement(
        "high-apart",
        every(
            [below(parts["wvegas"], parts[control], whole=1.0, far=True) for control in _LOSS_BASED],
            Equality(vegas[LOW.name], vegas[HIGH.name], whole=1.0),
        ),
        f"{shown} with over 95 % on the less lossy path; wVegas has {vegas[LOW.name]:.2f} there with low BDP, "
        f"{vegas[HIGH.name]:.2f} with high",
    )
    medians = {control: median(_of(table, control)["eab"]) for control in _LOSS_BASED}
    claims.statement(
        "lia-least",
        every(_no_worse(*_pair(table, "lia", control)) for control in ("olia", "balia")),
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


def _over_loss(sense: Literal["falls", "flat"], table: pl.DataFrame, control: str) -> TrendCheck:
    """How AB goes with the mean loss."""
    kept = _of(table, control)
    rho, p = rank_correlation(kept["mean_loss"], kept["ab"])
    return TrendCheck(sense, rho, p, 0.0, rho, kept.height)


def table_5_1(context: Context) -> Outcome:
    """The assumptions, held against what figures 5.1 and 5.2 and tables 5.3 and 5.4 gave."""
    claims = Claims(context)
    table = first_design(context)
    aggregates = {c: part(_of(table, c).filter(pl.col("mean_loss") < 1)["eab"] > 0) for c in CONTROLS}
    sensitive = {c: _over_loss("falls", table, c).rho for c in CONTROLS}
    claims.statement(
        "lossy",
        every(
            [at_least(aggregates[c], 0.5, whole=1.0) for c in _LOSS_BASED],
            [_over_loss("falls", table, c) for c in _LOSS_BASED],
            at_most(aggregates["wvegas"], 0.5, whole=1.0),
            _over_loss("flat", table, "wvegas"),
        ),
        "EAB above 0 below 1 % of loss: "
        + ", ".join(f"{c} {value:.0%}" for c, value in aggregates.items())
        + "; ρ of AB with the loss: "
        + ", ".join(f"{c} {value:+.2f}" for c, value in sensitive.items()),
    )
    uneven = {c: median(own(context, fairness(context), c)["uneven"]) for c in CONTROLS}
    index = {c: median(own(context, fairness(context), c)["jain"]) for c in CONTROLS}
    claims.statement(
        "shared",
        every(Share(0.0, uneven[c], index=True) for c in _LOSS_BASED),
        "Jain's index: " + ", ".join(f"{c} {value:.4f}" for c, value in index.items()),
    )
    third = {c: median(own(context, responsiveness(context), c)["phase_3"]) for c in CONTROLS}
    claims.statement(
        "responsive",
        every(below(third[c], third["balia"]) for c in ("lia", "olia")),
        "kbit/s after the other flow has stopped: " + ", ".join(f"{c} {value:.0f}" for c, value in third.items()),
    )
    rows = [
        {
            "control": c,
            "EAB above 0, loss below 1 %": f"{aggregates[c]:.0%}",
            "ρ of AB with the loss": round(sensitive[c], 2),
            "Jain's index": round(index[c], 4),
            "phase III (kbit/s)": round(third[c]),
        }
        for c in CONTROLS
    ]
    return Outcome(claims.all, tables=[("What the assumptions come to", pl.DataFrame(rows))])
