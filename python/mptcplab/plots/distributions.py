"""Empirical distributions as steps: of settings over their blocks, of transfers over all of them."""

from typing import Any

import altair as alt

from mptcplab.plots import style


def step_rows(name: str, values: list[float]) -> list[dict[str, Any]]:
    """The corners of the empirical distribution of ordered values, in a series of this name."""
    if not values:
        return []
    rows = [{"series": name, "value": values[0], "part": 0.0}]
    return rows + [{"series": name, "value": value, "part": (at + 1) / len(values)} for at, value in enumerate(values)]


def steps(title: str, names: list[str], *, log: bool = False) -> alt.TopLevelMixin:
    """Distributions: of `points` the `part` by `value`, a line per `series`."""
    marks = style.series_marks(names)
    colours = alt.Scale(domain=names, range=[marks[name].colour for name in names])
    dashes = alt.Scale(domain=names, range=[list(marks[name].dash) for name in names])
    x = alt.X("value:Q", title=title, scale=alt.Scale(zero=False, type="log" if log else "linear", nice=not log))
    legend = alt.Legend(columns=3, symbolType="stroke", symbolSize=400)
    line = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_line(interpolate="step-after", strokeWidth=1.7)
        .encode(
            x=x,
            y=alt.Y("part:Q", title="cumulative fraction", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("series:N", title=None, scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("series:N", title=None, scale=dashes, legend=legend),
            tooltip=[
                alt.Tooltip("series:N", title="setting"),
                alt.Tooltip("value:Q", title=title, format=".4~g"),
                alt.Tooltip("part:Q", title="fraction", format=".3~f"),
            ],
        )
    )
    return alt.layer(line)


def times_over_starts(names: list[str]) -> alt.TopLevelMixin:
    """A point per transfer: of `points` the `value` by `start`, a colour and a marker per `series`."""
    marks = style.series_marks(names)
    colours = alt.Scale(domain=names, range=[marks[name].colour for name in names])
    shapes = alt.Scale(domain=names, range=[marks[name].shape for name in names])
    drawn = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_point(filled=True, size=18, opacity=0.6)
        .encode(
            x=alt.X("start:Q", title="start (s)"),
            y=alt.Y("value:Q", title="time of a transfer (s)"),
            color=alt.Color("series:N", title=None, scale=colours),
            shape=alt.Shape("series:N", title=None, scale=shapes),
            tooltip=[
                alt.Tooltip("series:N", title="connection"),
                alt.Tooltip("start:Q", title="start (s)", format=".4~g"),
                alt.Tooltip("value:Q", title="time (s)", format=".4~g"),
            ],
        )
    )
    return alt.layer(drawn)
