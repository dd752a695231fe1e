"""The figures of a comparison of settings: means, differences, boxes, distributions, and a map of two factors."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from mptcplab.plots import style
from mptcplab.plots.distributions import step_rows, steps
from mptcplab.plots.result import Figure, Panel

if TYPE_CHECKING:
    from mptcplab.analysis.statistics import Estimate
    from mptcplab.comparison.settings import Comparison
    from mptcplab.plots.charts import Chart
    from mptcplab.plots.style import Theme, Width

_INK: Final = "#777777"
_MOST_LINES: Final = 12
"""The most settings that a plot of lines tells apart."""


def figures(comparison: "Comparison") -> tuple[Figure, ...]:
    """All that these settings have."""
    drawn = (make(comparison) for make in (means, differences, boxes, cdf, heat_map))
    return tuple(figure for figure in drawn if figure.panels)


def means(comparison: "Comparison") -> Figure:
    """The mean of each setting with its interval."""
    rows = _estimates(comparison, [each.mean for each in comparison.settings])
    caption = "The mean of each setting and its 95 % confidence interval."
    return _figure("means", "Means", caption, rows, lambda points: _intervals(comparison, points, zero=None))


def differences(comparison: "Comparison") -> Figure:
    """The difference of each setting to the baseline with its interval, and of each block where they are paired."""
    scale = comparison.metric.scale
    rows = _estimates(comparison, [each.difference for each in comparison.settings])
    apart: list[dict[str, Any]] = []
    if comparison.paired:
        reference = comparison.matrix[comparison.baseline]
        apart = [
            {"setting": name, "one": float(value) * scale}
            for at, name in enumerate(comparison.names)
            if at != comparison.baseline
            for value in comparison.matrix[at] - reference
            if not math.isnan(value)
        ]
    each = f"; a small point is one {comparison.block}" if apart else ""
    caption = (
        f"The difference to {comparison.names[comparison.baseline]} and its 95 % confidence interval{each}. "
        "An interval beside the line means a difference that chance does not explain."
    )
    return _figure(
        "differences", "Differences", caption, rows, lambda points: _intervals(comparison, points, zero=apart)
    )


def boxes(comparison: "Comparison") -> Figure:
    """Median, quartiles and the whole range of each setting."""
    points = _points(comparison)
    caption = f"Over the {comparison.block}s: the median, the quartiles and, as whiskers, the whole range."
    return _figure("boxes", "Distribution", caption, points, lambda _: _boxes(comparison))


def cdf(comparison: "Comparison") -> Figure:
    """The part of the blocks in which a setting has at most a value."""
    rows = []
    for name in comparison.names[:_MOST_LINES]:
        values = sorted(row["value"] for row in _points(comparison) if row["setting"] == name)
        rows += step_rows(name, values)
    cut = f" The first {_MOST_LINES} settings." if len(comparison.names) > _MOST_LINES else ""
    caption = f"The part of the {comparison.block}s in which a setting has at most that value.{cut}"
    return _figure("cdf", "Cumulative distribution", caption, rows, lambda _: steps(
        comparison.metric.words, list(comparison.names[:_MOST_LINES])
    ))  # fmt: skip


def heat_map(comparison: "Comparison") -> Figure:
    """The mean over two factors, those with the most values; over further ones the mean of the means."""
    from mptcplab.comparison.settings import text_of
    from mptcplab.comparison.tables import short_names

    ordered = sorted(comparison.factors, key=lambda key: -len(comparison.factors[key]))[:2]
    if len(ordered) < 2 or len(comparison.factors[ordered[1]]) < 2:
        return Figure("heat-map", "", "", ())
    across, along = sorted(ordered, key=list(comparison.factors).index)
    cells: dict[tuple[str, str], list[float]] = {}
    for each in comparison.settings:
        if each.mean is not None:
            place = (text_of(each.settings[across]), text_of(each.settings[along]))
            cells.setdefault(place, []).append(each.mean.mean * comparison.metric.scale)
    rows = [{"across": one, "along": two, "value": sum(each) / len(each)} for (one, two), each in cells.items()]
    names = short_names(list(comparison.factors))
    caption = f"The mean {comparison.metric.words} by {names[across]} and {names[along]}."
    return _figure(
        "heat-map", "Two factors", caption, rows, lambda points: _map(comparison, points, names[across], names[along])
    )


class ComparisonPlots:
    """The figures of a comparison: each returns a chart with its data, for `theme` and `width` as `Result.plot`."""

    def __init__(self, comparison: "Comparison") -> None:
        self._comparison = comparison

    def __dir__(self) -> list[str]:
        return ["boxes", "cdf", "differences", "heat_map", "means"]

    def means(self, theme: "Theme" = "light", *, width: "Width" = "column") -> "Chart":
        """The mean of each setting with its 95 % interval."""
        return self._chart(means, theme, width)

    def differences(self, theme: "Theme" = "light", *, width: "Width" = "column") -> "Chart":
        """The difference of each setting to the baseline, with its interval and that of each block."""
        return self._chart(differences, theme, width)

    def boxes(self, theme: "Theme" = "light", *, width: "Width" = "column") -> "Chart":
        """Median, quartiles and range of each setting."""
        return self._chart(boxes, theme, width)

    def cdf(self, theme: "Theme" = "light", *, width: "Width" = "column") -> "Chart":
        """The cumulative distribution of each setting over the blocks."""
        return self._chart(cdf, theme, width)

    def heat_map(self, theme: "Theme" = "light", *, width: "Width" = "column") -> "Chart":
        """The mean over two factors; ValueError where there are not two."""
        return self._chart(heat_map, theme, width)

    def _chart(self, make: "Callable[[Comparison], Figure]", theme: "Theme", width: "Width") -> "Chart":
        from mptcplab.plots.charts import chart

        return chart(make(self._comparison), theme, width)


def _estimates(comparison: "Comparison", found: "Sequence[Estimate | None]") -> list[dict[str, Any]]:
    """A row for each setting that has an estimate."""
    scale = comparison.metric.scale
    return [
        {
            "setting": comparison.names[at],
            "value": each.mean * scale,
            "low": None if each.low is None else each.low * scale,
            "high": None if each.high is None else each.high * scale,
            "rank": comparison.settings[at].rank[0],
        }
        for at, each in enumerate(found)
        if each is not None
    ]


def _figure(
    name: str, title: str, caption: str, rows: list[dict[str, Any]], draw: Callable[[pl.DataFrame], alt.TopLevelMixin]
) -> Figure:
    if not rows:
        return Figure(name, title, caption, ())
    points = pl.DataFrame(rows, infer_schema_length=None)
    spec: dict[str, Any] = draw(points).to_dict(validate=False)
    spec.pop("config", None)
    return Figure(name, title, caption, (Panel(spec, {"points": points}),), over_time=False)


def _points(comparison: "Comparison") -> list[dict[str, Any]]:
    frame = comparison.values.drop_nulls("value")
    scale = comparison.metric.scale
    return [{"setting": name, "value": value * scale} for name, value in frame["setting", "value"].iter_rows()]


def _rows(comparison: "Comparison", *, all_of_them: bool = True) -> alt.Y:
    """The axis of settings, a row for each."""
    names = [name for at, name in enumerate(comparison.names) if all_of_them or at != comparison.baseline]
    return alt.Y("setting:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=alt.Axis(labelLimit=260))


def _intervals(comparison: "Comparison", points: pl.DataFrame, zero: list[dict[str, Any]] | None) -> alt.TopLevelMixin:
    y = _rows(comparison, all_of_them=zero is None)
    words = comparison.metric.words
    title = words if zero is None else f"difference in {words}"
    x = alt.X("value:Q", title=title, scale=alt.Scale(zero=False))
    base = alt.Chart(alt.NamedData(name="points"))
    layers: list[Any] = []
    if zero is not None:
        line = alt.Chart(alt.InlineData(values=[{"at": 0}])).mark_rule(color=_INK, strokeDash=[3, 3])
        layers.append(line.encode(x=alt.X("at:Q", title=title)))
    if zero:
        single = alt.Chart(alt.InlineData(values=zero))
        above = single.mark_point(filled=True, size=14, opacity=0.5, color=_INK, yOffset=-6)
        layers.append(above.encode(x="one:Q", y=y))
    if points["low"].null_count() < points.height:
        colour = style.path_colours(["interval"])["interval"]
        layers.append(
            base.mark_rule(strokeWidth=2, color=colour).encode(x=alt.X("low:Q", title=title), x2="high:Q", y=y)
        )
    dots = base.mark_point(filled=True, size=60, opacity=1, color=style.path_colours(["mean"])["mean"]).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("setting:N"),
            alt.Tooltip("value:Q", title="mean", format=".5~g"),
            alt.Tooltip("low:Q", format=".5~g"),
            alt.Tooltip("high:Q", format=".5~g"),
            alt.Tooltip("rank:Q", title="rank from", format="d"),
        ],
    )
    return alt.layer(*layers, dots).properties(height=_height(comparison))


def _boxes(comparison: "Comparison") -> alt.TopLevelMixin:
    colour = style.path_colours(["box"])["box"]
    drawn = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_boxplot(extent="min-max", size=12, color=colour, median={"color": "white"})
        .encode(
            x=alt.X("value:Q", title=comparison.metric.words, scale=alt.Scale(zero=False)),
            y=_rows(comparison),
        )
    )
    return alt.layer(drawn).properties(height=_height(comparison))


def _map(comparison: "Comparison", points: pl.DataFrame, across: str, along: str) -> alt.TopLevelMixin:
    columns = points["along"].unique(maintain_order=True).to_list()
    level = alt.Axis(labelAngle=0) if sum(map(len, columns)) < 60 else alt.Axis()
    x = alt.X("along:N", title=along, sort=columns, axis=level)
    y = alt.Y("across:N", title=across, sort=points["across"].unique(maintain_order=True).to_list())
    base = alt.Chart(alt.NamedData(name="points")).encode(x=x, y=y)
    least, largest = (float(value) for value in points.select(pl.min("value"), pl.max("value").alias("m")).row(0))
    colour = alt.Color(
        "value:Q", title=comparison.metric.unit or None, scale=alt.Scale(scheme="viridis", domain=[least, largest])
    )
    half = (least + largest) / 2
    text = alt.condition(f"datum.value > {half!r}", alt.value("black"), alt.value("white"))
    cells = base.mark_rect().encode(
        color=colour,
        tooltip=[
            alt.Tooltip("across:N", title=across),
            alt.Tooltip("along:N", title=along),
            alt.Tooltip("value:Q", title=comparison.metric.words, format=".5~g"),
        ],
    )
    words = base.mark_text().encode(text=alt.Text("value:Q", format=".4~g"), color=text)
    rows = points["across"].n_unique()
    return alt.layer(cells, words).properties(height=max(60, 32 * rows))


def _height(comparison: "Comparison") -> int:
    return max(60, 22 * len(comparison.names))
