"""Section 5.4: efficient path choice, figure 5.5 and table 5.5."""

from typing import Any

import altair as alt
import polars as pl
from mptcplab.plots import style
from mptcplab.reproduce import Context, Found, Outcome, below, every, mean_of, single, within

from . import charts
from .findings import Claims, mean, median
from .scenarios import CONTROLS
from .sharing import choices, own


def table_5_5(context: Context) -> Outcome:
    """The first client's two paths."""
    claims = Claims(context)
    published = context.published
    table = choices(context).filter(pl.col("connection") == "client-1")
    shares = {}
    firsts = {}
    seconds = {}
    for control in CONTROLS:
        rows = own(context, table, control)
        share = shares[control] = median(rows["share"])
        firsts[control] = median(rows["first"])
        second = median(rows["second"])
        seeds = f"{min(rows['share']):.1%} to {max(rows['share']):.1%} over the seeds"
        claims.number(
            f"{control}.first.share",
            f"{control}: the part of the traffic on the path with one bottleneck.",
            f"{published[f'{control}.first.share']:.2f} %",
            f"{share:.1%} ({seeds})",
            single(published[f"{control}.first.share"] / 100, rows["share"], whole=1.0),
            covers=[f"{control}.second.share"],
        )
        seconds[control] = second
        for key, text, values in (
            ("first.throughput", "on the path with one bottleneck", rows["first"]),
            ("second.throughput", "on that with two", rows["second"]),
            ("total", "together", rows["first"] + rows["second"]),
        ):
            printed = published[f"{control}.{key}"]
            claims.number(
                f"{control}.{key}",
                f"{control}: throughput {text}, in kbit/s.",
                printed,
                f"{mean(values):.0f} ({min(values):.0f} to {max(values):.0f} over the seeds)",
                single(printed, values),
            )
    claims.statement(
        "first-path",
        every(below(seconds[control], firsts[control], far=True) for control in CONTROLS),
        ", ".join(f"{control} {share:.0%}" for control, share in shares.items()),
    )
    claims.statement(
        "wvegas-less",
        every(below(firsts["wvegas"], firsts[c]) for c in CONTROLS[:3]),
        "kbit/s on that path: " + ", ".join(f"{control} {value:.0f}" for control, value in firsts.items()),
    )
    return Outcome(claims.all, tables=[("All clients and seeds", _shown_choices(choices(context)))])


def _shown_choices(table: pl.DataFrame) -> pl.DataFrame:
    return (
        table.group_by("control", "form", maintain_order=True)
        .agg(
            **{
                "path with one bottleneck (kbit/s)": pl.col("first").mean().round(0),
                "with two (kbit/s)": pl.col("second").mean().round(0),
                "together (kbit/s)": (pl.col("first") + pl.col("second")).mean().round(0),
                "part on one bottleneck": (100 * pl.col("share").mean()).round(1).cast(pl.String) + " %",
                "standard deviation": (100 * pl.col("share").std()).round(1).cast(pl.String) + " %",
            }
        )
        .sort(pl.col("form") == "linux", maintain_order=True)
    )


def _of_seeds(rows: pl.DataFrame, column: str) -> Found:
    """The mean over the clients of each seed."""
    return mean_of(rows.group_by("number", maintain_order=True).agg(pl.col(column).mean())[column].to_list())


def figure_5_5(context: Context) -> Outcome:
    """What each should prefer."""
    claims = Claims(context)
    published = context.published
    table = choices(context).filter(pl.col("form") == context.machine["form"])
    means = {control: _of_seeds(own(context, table, control), "total") / 1e3 for control in CONTROLS}
    claims.number(
        "optimum",
        "A client gets 10 Mbit/s when each sends over its path with one bottleneck only, and 6.66 if all subflows got "
        "the same.",
        f"{published['optimum']:g} and {published['equal-subflows']:g} Mbit/s",
        ", ".join(f"{control} {value:.2f}" for control, value in means.items()) + " Mbit/s",
        every(within(value, published["equal-subflows"], published["optimum"]) for value in means.values()),
        covers=["equal-subflows"],
    )
    shares = {control: _of_seeds(own(context, table, control), "share") for control in CONTROLS}
    claims.statement(
        "prefer",
        every(below(1 - value, value, whole=1.0) for value in shares.values()),
        "part on the path with one bottleneck: "
        + ", ".join(f"{control} {value:.0%}" for control, value in shares.items()),
    )
    drawn = table.with_columns(total=pl.col("total") / 1e3, percent=100 * pl.col("share"))
    palette = charts.control_colours(CONTROLS)
    marks = [style.algorithm(control).shape for control in CONTROLS]

    def strip(value: str, title: str) -> Any:  # noqa: ANN401 - altair's own union is not exported
        base = alt.Chart(drawn).encode(
            x=alt.X("control:N", sort=list(CONTROLS), title=None, axis=alt.Axis(labelAngle=0))
        )
        y = alt.Y(f"{value}:Q", title=title, scale=alt.Scale(zero=False))
        dots = base.mark_point(filled=True, size=50, opacity=0.7).encode(
            y=y,
            color=alt.Color(
                "control:N", scale=alt.Scale(domain=list(palette), range=list(palette.values())), legend=None
            ),
            shape=alt.Shape("control:N", scale=alt.Scale(domain=list(palette), range=marks), legend=None),
        )
        bars = base.mark_tick(thickness=2, size=34, color="#555555").encode(y=alt.Y(f"mean({value}):Q", title=title))
        return alt.layer(dots, bars).properties(width=300, height=charts.HEIGHT)

    chart = alt.hconcat(
        strip("percent", "traffic on the path with one bottleneck (%)"), strip("total", "goodput of a client (Mbit/s)")
    )
    return Outcome(claims.all, figures=[("Each client of each seed, and the mean", chart)])
