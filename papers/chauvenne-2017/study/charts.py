"""The thesis's kinds of figure: box plots of batches, distribution functions, models beside measurements."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import polars as pl
from mptcplab.plots import style

from .findings import batch_names, with_batch
from .networks import DOMAINS

WIDTH: Final = 330
HEIGHT: Final = 230
_SIGNS: Final = {"negative": "#D55E00", "positive": "#009E73"}
"""Red and green as in the thesis, in tones that colour-blind readers tell apart."""
SCHEDULER_COLOURS: Final = {"min-rtt": "#0072B2", "round-robin": "#E69F00", "redundant": "#CC79A7", "blest": "#56B4E9"}
FIRST_COLOURS: Final = {"better path first": "#0072B2", "worse path first": "#E69F00"}
BOX: Final = "#0072B2"

CAPACITY_EDGES: Final = (0, 20, 40, 60, 80, 100)
DELAY_EDGES: Final[Mapping[str, Sequence[float]]] = {
    domain.name: tuple(domain.delay_ms[1] * part / 5 for part in range(6)) for domain in DOMAINS
}
_TITLES: Final = {
    "eab": "experimental aggregation benefit",
    "ab": "theoretical aggregation benefit",
}


def title_of(value: str) -> str:
    """The name of a metric on an axis; both are without unit."""
    return _TITLES.get(value, value)


def batches(
    table: pl.DataFrame,
    x: str,
    y: str,
    *,
    edges: Mapping[str, Sequence[float]],
    x_title: str,
    y_title: str,
    absolute: bool = True,
    panels: Sequence[str] = (),
    by: str = "domain",
) -> alt.TopLevelMixin:
    """Box plots of `y` in batches of `x`, a panel for each value of `by`: the layout of figures 3.3 to 3.5."""
    names = list(panels) or [domain.name for domain in DOMAINS]
    drawn = []
    for number, name in enumerate(names):
        own = with_batch(table.filter(pl.col(by) == name), x, edges[name], absolute=absolute).drop_nulls(["batch", y])
        order = batch_names(edges[name])
        drawn.append(
            _boxes(
                own.select("batch", y),
                y,
                y_title if number == 0 else None,
                domain=_range(table if y in _TITLES else own, y),
            )
            .encode(x=alt.X("batch:N", sort=order, title=x_title, scale=alt.Scale(domain=order), axis=_flat_axis()))
            .properties(title=name, width=WIDTH, height=HEIGHT)
        )
    return alt.hconcat(*drawn)


def groups(
    table: pl.DataFrame,
    *,
    x: str,
    x_order: Sequence[str],
    x_title: str,
    y: str,
    y_title: str,
    column: str,
    column_order: Sequence[str],
    colours: Mapping[str, str] | None = None,
    width: int = 128,
) -> alt.TopLevelMixin:
    """Box plots beside one another within each of several columns: the layout of figures 4.1 to 4.8 and 5.1."""
    drawn = table.select(x, column, y).drop_nulls()
    chart = _boxes(drawn, y, y_title, colour=None if colours is None else x, colours=colours, domain=_range(table, y))
    order = list(x_order)
    return (
        chart.encode(x=alt.X(f"{x}:N", sort=order, title=x_title, scale=alt.Scale(domain=order), axis=_flat_axis()))
        .properties(width=width, height=HEIGHT)
        .facet(
            column=alt.Column(
                f"{column}:N",
                sort=list(column_order),
                title=None,
                header=alt.Header(labelFontSize=12, labelOrient="top"),
            ),
            spacing=6,
        )
    )


def _boxes(
    table: pl.DataFrame,
    y: str,
    y_title: str | None,
    *,
    domain: tuple[float, float],
    colour: str | None = None,
    colours: Mapping[str, str] | None = None,
) -> alt.Chart:
    chart: alt.Chart = alt.Chart(table).mark_boxplot(
        size=20, ticks={"size": 10}, median={"color": "black", "strokeWidth": 2}, outliers={"size": 14, "opacity": 0.7}
    )
    scale = alt.Scale(domain=list(domain), nice=False)
    encoded: dict[str, Any] = {"y": alt.Y(f"{y}:Q", title=y_title, scale=scale)}
    if colour is None:
        plain: alt.Chart = chart.encode(color=alt.value(BOX), opacity=alt.value(0.85), **encoded)
        return plain
    assert colours is not None
    palette = alt.Scale(domain=list(colours), range=list(colours.values()))
    coloured: alt.Chart = chart.encode(color=alt.Color(f"{colour}:N", scale=palette, legend=None), **encoded)
    return coloured


def _range(table: pl.DataFrame, y: str) -> tuple[float, float]:
    """The thesis's ranges for aggregation benefits, wider where values are; from 0 for anything else."""
    low, high = float(table[y].min() or 0.0), float(table[y].max() or 1.0)  # type: ignore[arg-type]
    if y in _TITLES:
        return min(-1.0, low), max(1.2, high * 1.03)
    if y == "r_n":
        reach = max(0.12, 1.05 * max(-low, high))
        return -reach, reach
    return 0.0, high * 1.05 or 1.0


def distributions(
    table: pl.DataFrame,
    value: str,
    by: str,
    *,
    x_title: str,
    colours: Mapping[str, str],
    panels: Sequence[str],
    panel: str = "domain",
    dashes: Mapping[str, Sequence[int]] | None = None,
    marks: bool = False,
) -> alt.TopLevelMixin:
    """Distribution functions, a curve for each value of `by`, a panel for each of `panel`: figures 3.6, 3.7 and 5.3."""
    drawn = []
    names = list(colours)
    for number, name in enumerate(panels):
        curves = []
        for each in names:
            values = table.filter((pl.col(panel) == name) & (pl.col(by) == each))[value].drop_nulls().sort()
            if not len(values):
                continue
            steps = [0.0, *values.to_list(), 1.0]
            heights = [0.0, *[(i + 1) / len(values) for i in range(len(values))], 1.0]
            curves.append(pl.DataFrame({"x": steps, "cdf": heights, by: [each] * len(steps)}))
        points = pl.concat(curves)
        palette = alt.Scale(domain=names, range=list(colours.values()))
        encoding: dict[str, Any] = {
            "x": alt.X("x:Q", title=x_title, scale=alt.Scale(domain=[0, 1])),
            "y": alt.Y(
                "cdf:Q",
                title="cumulative part of the networks" if number == 0 else None,
                scale=alt.Scale(domain=[0, 1]),
            ),
            "color": alt.Color(f"{by}:N", title=None, scale=palette, sort=names, legend=alt.Legend(labelLimit=300)),
        }
        if dashes is not None:
            encoding["strokeDash"] = alt.StrokeDash(
                f"{by}:N", title=None, sort=names, scale=alt.Scale(domain=names, range=[list(dashes[n]) for n in names])
            )
        chart = alt.Chart(points).mark_line(interpolate="step-after", strokeWidth=1.8).encode(**encoding)
        if marks:
            shapes = alt.Scale(domain=names, range=[style.algorithm(each).shape for each in names])
            some = points.with_columns(_n=pl.int_range(pl.len()).over(by)).filter(pl.col("_n") % 12 == 6).drop("_n")
            dots = (
                alt.Chart(some)
                .mark_point(filled=True, size=45)
                .encode(
                    x="x:Q",
                    y="cdf:Q",
                    color=encoding["color"],
                    shape=alt.Shape(f"{by}:N", title=None, sort=names, scale=shapes),
                )
            )
            chart = alt.layer(chart, dots)
        drawn.append(chart.properties(title=name, width=WIDTH, height=HEIGHT))
    return alt.hconcat(*drawn)


def sign_colours(negative: str, positive: str) -> tuple[dict[str, str], dict[str, Sequence[int]]]:
    """Colours and dashes of the two curves of figures 3.6, 3.7 and 3.12."""
    return (
        {negative: _SIGNS["negative"], positive: _SIGNS["positive"]},
        {negative: (1, 0), positive: (6, 3)},
    )


def control_colours(names: Sequence[str]) -> dict[str, str]:
    """The laboratory's colour of each control."""
    return {name: style.algorithm(name).colour for name in names}


def curves(
    points: pl.DataFrame,
    *,
    x: str,
    x_title: str,
    y: str,
    y_title: str,
    series: str,
    colours: Mapping[str, str],
    panels: Sequence[str] = (),
    panel: str = "panel",
    log_x: bool = False,
    dashes: Mapping[str, Sequence[int]] | None = None,
    shapes: Mapping[str, str] | None = None,
    share_y: bool = False,
    width: int = WIDTH,
) -> alt.TopLevelMixin:
    """Lines with a mark at each point, a panel for each value of `panel`: figures 6.3 and 6.4."""
    names = list(colours)
    drawn = []
    for number, name in enumerate(panels or ("",)):
        own = points.filter(pl.col(panel) == name) if panels else points
        top = float((points if share_y else own)[y].max() or 1.0)  # type: ignore[arg-type]
        low = min(0.0, float((points if share_y else own)[y].min() or 0.0))  # type: ignore[arg-type]
        encoding: dict[str, Any] = {
            "x": alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(type="log" if log_x else "linear", zero=False)),
            "y": alt.Y(
                f"{y}:Q",
                title=y_title if number == 0 or not share_y else None,
                scale=alt.Scale(domain=[low * 1.05, top * 1.05]),
            ),
            "color": alt.Color(
                f"{series}:N",
                title=None,
                sort=names,
                scale=alt.Scale(domain=names, range=list(colours.values())),
                legend=alt.Legend(labelLimit=300, columns=5),
            ),
        }
        lines = alt.Chart(own).mark_line(strokeWidth=1.8).encode(**encoding)
        if dashes is not None:
            pattern = alt.Scale(domain=names, range=[list(dashes.get(each, (1, 0))) for each in names])
            lines = lines.encode(strokeDash=alt.StrokeDash(f"{series}:N", title=None, sort=names, scale=pattern))
        dots = alt.Chart(own).mark_point(filled=True, size=40).encode(**encoding)
        if shapes is not None:
            forms = alt.Scale(domain=names, range=[shapes[each] for each in names])
            dots = dots.encode(shape=alt.Shape(f"{series}:N", title=None, sort=names, scale=forms))
        chart = alt.layer(lines, dots).properties(width=width, height=HEIGHT)
        drawn.append(chart.properties(title=name) if name else chart)
    return alt.hconcat(*drawn)


def _flat_axis() -> alt.Axis:
    return alt.Axis(labelAngle=0, labelFontSize=11)
