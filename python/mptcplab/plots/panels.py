"""The forms of a panel, in Altair. Each takes its data by name, `points`, so that data and form travel apart."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import polars as pl

from mptcplab.plots import style

_POINTS = alt.NamedData(name="points")
_MARKERS = 12
"""Markers along a line, where there are any."""
_READ = 16
"""The most series that are read off at once."""


@dataclass(frozen=True)
class Frame:
    """What all time series of a result share."""

    duration_s: float
    warmup_s: float
    events: tuple[tuple[float, str], ...]
    """Time and text of what happened to a link."""


def stacked(
    title: str,
    unit: str,
    frame: Frame,
    points: pl.DataFrame,
    colours: Mapping[str, str],
    marks: Mapping[str, style.Line] | None = None,
) -> alt.TopLevelMixin:
    """Areas on one another, and a line along the top. `marks` are those of more paths than there are colours: an area
    that has the colour of another is lighter, and its edge is dashed.
    """
    picked = alt.selection_point(name="picked", fields=["series"], bind="legend")
    base = alt.Chart(_POINTS)
    apart: dict[str, Any] = {}
    if marks is not None:
        dashes = [list(marks[name].dash) for name in colours]
        lightness = [0.75 if dash == [1, 0] else 0.35 for dash in dashes]
        apart["strokeDash"] = _by_name("strokeDash", colours, dashes)
        apart["fillOpacity"] = _by_name("fillOpacity", colours, lightness)
        apart["stroke"] = _by_name("stroke", colours, list(colours.values()))
    areas = (
        base.mark_area(line=False)
        .encode(
            **apart,
            x=_time(frame),
            y=_value(unit, points.group_by("t").agg(pl.col("value").sum()), stacked=True),
            color=_colour(colours),
            opacity=alt.condition(picked, alt.value(0.75), alt.value(0.15)),
        )
        .add_params(picked, _zoom())
    )
    total = (
        base.transform_aggregate(total="sum(value)", groupby=["t"])
        .mark_line(strokeWidth=1.2, color=_INK)
        .encode(x=_time(frame), y=alt.Y("total:Q"))
    )
    return _layers(title, frame, [areas, total, _reading(points, frame, colours, total=len(colours) > 1)])


def lines(
    title: str,
    unit: str,
    frame: Frame,
    points: pl.DataFrame,
    colours: Mapping[str, str],
    *,
    dash: bool = False,
    marks: Mapping[str, style.Line] | None = None,
) -> alt.TopLevelMixin:
    """A line per series. Colours are by `path` where the points have one, else by series; `dash` by series too. `marks`
    are those of more paths than there are colours: dashes, and some markers along each line.
    """
    key = "path" if "path" in points.columns else "series"
    picked = alt.selection_point(name="picked", fields=[key], bind="legend")
    faint = points["series"].n_unique() > 4
    encoding: dict[str, Any] = {
        "x": _time(frame),
        "y": _value(unit, points),
        "color": _colour(colours, key),
        "detail": "series:N",
        "opacity": alt.condition(picked, alt.value(0.6 if faint else 0.95), alt.value(0.12)),
    }
    if dash:
        pattern = alt.Scale(domain=list(colours), range=[[1, 0], [4, 3]])
        encoding["strokeDash"] = alt.StrokeDash(f"{key}:N", scale=pattern, title=None)
    several = []
    if marks is not None:
        encoding["strokeDash"] = _by_name("strokeDash", colours, [list(marks[name].dash) for name in colours], key)
        shapes = [marks[name].shape for name in colours]
        each = max(1, points.height // max(1, points["series"].n_unique()) // _MARKERS)
        several.append(
            alt.Chart(_POINTS)
            .transform_window(place="row_number()", groupby=["series"])
            .transform_filter(f"datum.place % {each} == {each // 2}")
            .mark_point(filled=True, size=28)
            .encode(
                x=encoding["x"],
                y=encoding["y"],
                color=encoding["color"],
                shape=_by_name("shape", colours, shapes, key),
                opacity=encoding["opacity"],
            )
        )
    drawn = (
        alt.Chart(_POINTS).mark_line(strokeWidth=1.2 if faint else 1.7).encode(**encoding).add_params(picked, _zoom())
    )
    return _layers(title, frame, [drawn, *several, _reading(points, frame, colours)])


def sequence(
    title: str, unit: str, frame: Frame, points: pl.DataFrame, colours: Mapping[str, str], shapes: Mapping[str, str]
) -> alt.TopLevelMixin:
    """A point per segment by `series`, the shape by `kind`; and the line of acknowledgments, the data `acks`."""
    picked = alt.selection_point(name="picked", fields=["series"], bind="legend")
    y = _value(unit, points)
    shape = alt.Shape("kind:N", title=None, scale=alt.Scale(domain=list(shapes), range=list(shapes.values())))
    small, large = alt.value(9), alt.value(55)
    dots = (
        alt.Chart(_POINTS)
        .mark_point(filled=True, strokeWidth=0)
        .encode(
            x=_time(frame),
            y=y,
            color=_colour(colours),
            shape=shape,
            size=alt.condition(alt.datum.kind == next(iter(shapes)), small, large),
            opacity=alt.condition(picked, alt.value(0.8), alt.value(0.08)),
            tooltip=[
                alt.Tooltip("t:Q", title="time (s)", format=".6~g"),
                alt.Tooltip("series:N", title="subflow"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("value:Q", title=unit, format=".6~g"),
            ],
        )
        .add_params(picked, _zoom())
    )
    line = (
        alt.Chart(alt.NamedData(name="acks"))
        .mark_line(strokeWidth=1, color=_INK, interpolate="step-after")
        .encode(x=_time(frame), y=alt.Y("value:Q"))
    )
    return _layers(title, frame, [line, dots])


def runs_strip(points: pl.DataFrame) -> alt.TopLevelMixin:
    """A point per run and connection, and a bar at the mean."""
    names = points["connection"].unique(maintain_order=True).to_list()
    algorithms = sorted(set(points["congestion"].to_list()))
    marks = [style.algorithm(name) for name in algorithms]
    y = alt.Y("connection:N", sort=names, title=None)
    x = alt.X("value:Q", title="goodput (Mbit/s)", scale=alt.Scale(zero=True))
    colours = alt.Scale(domain=algorithms, range=[mark.colour for mark in marks])
    shapes = alt.Scale(domain=algorithms, range=[mark.shape for mark in marks])
    base = alt.Chart(_POINTS)
    dots = base.mark_point(filled=True, size=55, opacity=0.75).encode(
        x=x,
        y=y,
        color=alt.Color("congestion:N", title=None, scale=colours),
        shape=alt.Shape("congestion:N", title=None, scale=shapes),
        tooltip=[
            alt.Tooltip("connection:N"),
            alt.Tooltip("congestion:N"),
            alt.Tooltip("seed:Q", format="d"),
            alt.Tooltip("value:Q", title="goodput (Mbit/s)", format=".4~g"),
        ],
    )
    means = base.mark_tick(thickness=2, size=20, color=_INK).encode(x="mean(value):Q", y=y)
    return alt.layer(dots, means)


_INK = "#777777"
"""For what must be seen on a light and on a dark page."""


def waiting_bars(title: str, kinds: Sequence[str]) -> alt.TopLevelMixin:
    """A bar for each path, of parts by `kind`."""
    # Those of paths, which are told apart by colour-blind readers; here the path is the bar.
    colours = dict(zip(kinds, style.path_colours(kinds).values(), strict=True))
    bars = (
        alt.Chart(_POINTS)
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title="mean wait of a byte (ms)", stack="zero"),
            y=alt.Y("path:N", title=None, sort=None),
            color=_colour(colours, "kind"),
            tooltip=[
                alt.Tooltip("path:N"),
                alt.Tooltip("kind:N", title="sent there as"),
                alt.Tooltip("value:Q", title="ms", format=".4~g"),
            ],
        )
    )
    return alt.layer(bars, title=title)


def _time(frame: Frame) -> alt.X:
    return alt.X("t:Q", title="time (s)", scale=alt.Scale(domain=[0, frame.duration_s], nice=False))


def _value(unit: str, points: pl.DataFrame, *, stacked: bool = False) -> alt.Y:
    # Room above the largest value for the names of the warm-up and of events.
    found = points.select(pl.col("value").min().alias("least"), pl.col("value").max().alias("largest"))
    least, largest = (value or 0.0 for value in found.row(0))
    least = least if least < 0 else 0
    largest = max(largest, 0.0) or (1.0 if least == 0 else 0.0)
    return alt.Y(
        "value:Q",
        title=unit,
        scale=alt.Scale(domain=[least, 1.15 * largest - 0.15 * least], nice=False),
        stack="zero" if stacked else None,
    )


def _colour(colours: Mapping[str, str], key: str = "series") -> alt.Color:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{key}:N", title=None, scale=scale)


def _by_name(channel: str, colours: Mapping[str, str], values: list[Any], key: str = "series") -> Any:  # noqa: ANN401
    """A channel whose value goes by the name of a path, in one legend with the colours."""
    kinds: dict[str, Any] = {
        "stroke": alt.Stroke,
        "strokeDash": alt.StrokeDash,
        "fillOpacity": alt.FillOpacity,
        "shape": alt.Shape,
    }
    return kinds[channel](f"{key}:N", title=None, scale=alt.Scale(domain=list(colours), range=values))


def _zoom() -> alt.Parameter:
    # The wheel scrolls the page; with shift it zooms. All plots follow one another: report.js links them by this name.
    return alt.selection_interval(
        name="zoom", bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]", clear="dblclick"
    )


def _reading(points: pl.DataFrame, frame: Frame, order: Iterable[str], *, total: bool = False) -> alt.Chart:
    """A rule at the pointer's time that reads off every series."""
    # In the order of the legend; series of several connections are not in it and follow.
    found = points["series"].unique(maintain_order=True).to_list()
    names = list(dict.fromkeys([*(name for name in order if name in found), *found]))[:_READ]
    near = alt.selection_point(name="near", fields=["t"], nearest=True, on="pointermove", clear="pointerout")
    # Of a field's name Vega makes expressions and paths into objects: the user's names never become one.
    fields = [f"series{number}" for number in range(len(names))]
    chart = alt.Chart(_POINTS).transform_calculate(field=f"'series' + indexof({json.dumps(names)}, datum.series)")
    pivoted = chart.transform_pivot("field", value="value", groupby=["t"])
    tooltip = [alt.Tooltip("t:Q", title="time (s)", format=".4~g")]
    tooltip += [
        alt.Tooltip(field=field, type="quantitative", title=_in_quotes(name), format=".4~g")
        for field, name in zip(fields, names, strict=True)
    ]
    if total:
        sums = " + ".join(f"(datum.{field} || 0)" for field in fields)
        pivoted = pivoted.transform_calculate(total=sums)
        tooltip.append(alt.Tooltip("total:Q", title="total", format=".4~g"))
    rule: alt.Chart = (
        pivoted.mark_rule(color=_INK, strokeWidth=1)
        .encode(x=_time(frame), opacity=alt.condition(near, alt.value(0.7), alt.value(0), empty=False), tooltip=tooltip)
        .add_params(near)
    )
    return rule


def _in_quotes(name: str) -> str:
    """A tooltip's title. Vega-Lite makes a string of an expression of it, and escapes quotes itself, but no more."""
    return json.dumps(name)[1:-1].replace('\\"', '"')


def _layers(title: str, frame: Frame, drawn: list[Any]) -> alt.TopLevelMixin:
    below: list[Any] = []
    if frame.warmup_s > 0:
        warm = alt.Chart(
            alt.InlineData(values=[{"a": 0, "b": min(frame.warmup_s, frame.duration_s), "text": "warm-up"}])
        )
        below.append(warm.mark_rect(color=_INK, opacity=0.12, clip=True).encode(x=alt.X("a:Q"), x2="b:Q"))
        below.append(
            warm.mark_text(align="left", baseline="top", dx=4, dy=3, color=_INK, clip=True).encode(
                x=alt.X("a:Q"), y=alt.value(0), text="text:N"
            )
        )
    above: list[Any] = []
    if frame.events:
        rules = alt.Chart(alt.InlineData(values=[{"e": at_s, "text": text} for at_s, text in frame.events]))
        above.append(
            rules.mark_rule(color=_INK, strokeDash=[3, 3], clip=True).encode(
                x=alt.X("e:Q"), tooltip=[alt.Tooltip("e:Q", title="time (s)"), alt.Tooltip("text:N", title="event")]
            )
        )
        for side in ("left", "right"):
            named = [{"e": at_s, "text": text} for at_s, text, where in _named_events(frame) if where == side]
            if named:
                names = alt.Chart(alt.InlineData(values=named)).mark_text(
                    align=side, baseline="top", dx=4 if side == "left" else -4, dy=3, color=_INK, clip=True
                )
                above.append(names.encode(x=alt.X("e:Q"), y=alt.value(0), text="text:N"))
    return alt.layer(*below, *drawn, *above).properties(title=title)


def _named_events(frame: Frame) -> list[tuple[float, str, Literal["left", "right"]]]:
    """The events that have room for their text beside the rule, and how the text is aligned; the rest have tooltips."""
    named: list[tuple[float, str, Literal["left", "right"]]] = []
    free_from = frame.warmup_s
    for at_s, text in frame.events:
        width = frame.duration_s * 0.011 * (len(text) + 2)
        if at_s + width <= frame.duration_s and at_s >= free_from:
            named.append((at_s, text, "left"))
            free_from = at_s + width
        elif at_s - width >= free_from and at_s <= frame.duration_s:
            named.append((at_s, text, "right"))
            free_from = at_s
    return named
