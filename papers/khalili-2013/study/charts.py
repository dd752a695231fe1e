"""The figures' layout: points with intervals for what was simulated, lines for what was calculated."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import altair as alt
import polars as pl
from mptcplab.plots import style

OPTIMUM: Final = "optimum with probing cost"
_GREY: Final = "#8A8A8A"
LABELS: Final = {"lia": "LIA", "olia": "OLIA", "tcp": "TCP", "coupled": "fully coupled", OPTIMUM: OPTIMUM}


@dataclass(frozen=True)
class Spot:
    """A point or a place on a line."""

    what: str
    """`lia`, `olia`, `tcp` or `OPTIMUM`."""
    x: float
    y: float
    row: str = ""
    column: str = ""
    low: float | None = None
    high: float | None = None
    calculated: bool = False


def scales(names: Sequence[str]) -> dict[str, Any]:
    """Colour, marker and dashes of these, in one legend."""
    marks = {"tcp": style.algorithm("reno"), OPTIMUM: style.Mark(_GREY, "stroke")}
    known = [marks.get(name) or style.algorithm(name) for name in names]
    domain = [LABELS[name] for name in names]
    legend = alt.Legend(title=None)
    return {
        "color": alt.Color(
            "what:N", scale=alt.Scale(domain=domain, range=[mark.colour for mark in known]), legend=legend
        ),
        "shape": alt.Shape(
            "what:N", scale=alt.Scale(domain=domain, range=[mark.shape for mark in known]), legend=legend
        ),
        "strokeDash": alt.StrokeDash(
            "what:N",
            scale=alt.Scale(domain=domain, range=[[5, 4] if name == OPTIMUM else [1, 0] for name in names]),
            legend=legend,
        ),
    }


def frame(spots: Sequence[Spot]) -> pl.DataFrame:
    """As the charts take it."""
    return pl.DataFrame([{**asdict(spot), "what": LABELS[spot.what]} for spot in spots], infer_schema_length=None)


def panels(
    spots: Sequence[Spot],
    names: Sequence[str],
    x: str,
    y: str,
    *,
    x_domain: tuple[float, float],
    y_domain: tuple[float, float],
    width: int = 170,
    height: int = 150,
) -> alt.FacetChart:
    """A grid of panels by `row` and `column`; `x` and `y` are the axes' titles."""
    look = scales(names)
    base = alt.Chart(frame(spots))
    across = alt.X("x:Q", title=x, scale=alt.Scale(domain=x_domain))
    up = alt.Y("y:Q", title=y, scale=alt.Scale(domain=y_domain))
    lines = (
        base.transform_filter("datum.calculated")
        .mark_line(strokeWidth=1.5, clip=True)
        .encode(x=across, y=up, color=look["color"], strokeDash=look["strokeDash"])
    )
    measured = base.transform_filter("!datum.calculated")
    bars = measured.mark_rule(strokeWidth=1.5).encode(
        x=across, y=alt.Y("low:Q", title=y), y2="high:Q", color=look["color"]
    )
    points = measured.mark_point(size=55, strokeWidth=1.8).encode(
        x=across, y=up, color=look["color"], shape=look["shape"]
    )
    columns = list(dict.fromkeys(spot.column for spot in spots))
    rows = list(dict.fromkeys(spot.row for spot in spots))
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight="bold")
    facets: dict[str, Any] = {}
    if len(columns) > 1 or columns[0]:
        facets["column"] = alt.Column("column:N", header=header, sort=columns)
    if len(rows) > 1 or rows[0]:
        facets["row"] = alt.Row("row:N", header=header, sort=rows)
    chart: alt.FacetChart = alt.layer(lines, bars, points).properties(width=width, height=height).facet(**facets)
    return chart


def distribution(rows: pl.DataFrame, names: Sequence[str], x: str, *, most: float) -> alt.Chart:
    """Cumulative distributions: columns `what`, `value` and `part`."""
    chart: alt.Chart = (
        alt.Chart(rows.with_columns(pl.col("what").replace(LABELS)))
        .mark_line(strokeWidth=1.8, clip=True, interpolate="step-after")
        .encode(
            x=alt.X("value:Q", title=x, scale=alt.Scale(domain=(0, most))),
            y=alt.Y("part:Q", title="part of the flows", scale=alt.Scale(domain=(0, 1))),
            color=scales(names)["color"],
        )
        .properties(width=460, height=240)
    )
    return chart
