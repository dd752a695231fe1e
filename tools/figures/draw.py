"""The forms of the studies' figures: measured points, lines of a theory."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl
from mptcplab.plots import Figure, Panel

_INK = "#555555"
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]


def scale(*, log: bool = False, domain: Sequence[float] | None = None, zero: bool = True) -> alt.Scale:
    """An axis."""
    keys: dict[str, Any] = {"type": "log"} if log else {"zero": zero}
    if domain is not None:
        keys.pop("zero", None) if not zero else None
        keys |= {"domain": list(domain), "nice": False}
    return alt.Scale(**keys)


def axis(**keys: Any) -> alt.Axis:  # noqa: ANN401 - passed on
    """How an axis is written."""
    return alt.Axis(**keys)


def panel(
    title: str,
    x: tuple[str, alt.Scale, alt.Axis],
    y: tuple[str, alt.Scale, alt.Axis],
    points: Sequence[Mapping[str, Any]],
    lines: Sequence[Mapping[str, Any]],
    colours: Mapping[str, str],
    *,
    shapes: Mapping[str, str] | None = None,
    theories: Sequence[str] = (),
    joined: bool = False,
    width: int = 560,
    height: int = 260,
) -> Panel:
    """Points of x, y and series; lines of the same and of a theory, told apart by their dashes.

    `joined` connects the points of a series by a thin line.
    """
    across = alt.X("x:Q", title=x[0], scale=x[1], axis=x[2])
    up = alt.Y("y:Q", title=y[0], scale=y[1], axis=y[2])
    hue = alt.Scale(domain=list(colours), range=list(colours.values()))
    legend = alt.Legend(title=None, orient="top", columns=6) if len(colours) > 1 else None
    colour = alt.Color("series:N", scale=hue, legend=legend)
    layers: list[Any] = []
    data: dict[str, pl.DataFrame] = {}
    if lines:
        data["lines"] = pl.DataFrame(list(lines))
        encoding: dict[str, Any] = {"x": across, "y": up, "color": colour, "detail": "series:N"}
        if theories:
            pattern = alt.Scale(domain=list(theories), range=_DASHES[: len(theories)])
            encoding["strokeDash"] = alt.StrokeDash(
                "theory:N",
                scale=pattern,
                legend=alt.Legend(title=None, orient="top", symbolStrokeColor=_INK, labelLimit=320),
            )
        layers.append(alt.Chart(alt.NamedData(name="lines")).mark_line(strokeWidth=1.6).encode(**encoding))
    if points:
        data["points"] = pl.DataFrame(list(points))
        base = alt.Chart(alt.NamedData(name="points"))
        if joined:
            layers.append(base.mark_line(strokeWidth=1.2).encode(x=across, y=up, color=colour))
        mark = base.mark_point(filled=True, size=60, opacity=0.95)
        encoding = {"x": across, "y": up, "color": colour}
        if shapes is not None:
            pattern = alt.Scale(domain=list(shapes), range=list(shapes.values()))
            encoding["shape"] = alt.Shape("series:N", scale=pattern, legend=None)
        layers.append(mark.encode(**encoding))
    chart = alt.layer(*layers).properties(title=title, width=width, height=height)
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    return Panel(spec, data)


def bars(
    title: str,
    unit: str,
    rows: Sequence[Mapping[str, Any]],
    colours: Mapping[str, str],
    rules: Mapping[str, float],
    domain: Sequence[float],
    *,
    width: int = 560,
    height: int = 220,
) -> Panel:
    """A dot for each row, by name and group; a rule with its text at each value that a theory gives."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    data = {
        "points": pl.DataFrame(list(rows)),
        "lines": pl.DataFrame([{"x": value, "text": text} for text, value in rules.items()]),
    }
    hue = alt.Scale(domain=list(colours), range=list(colours.values()))
    x = alt.X("x:Q", title=unit, scale=alt.Scale(domain=list(domain), nice=False))
    rule = alt.Chart(alt.NamedData(name="lines"))
    dots = alt.Chart(alt.NamedData(name="points")).mark_point(filled=True, size=75, opacity=0.95)
    chart = alt.layer(
        rule.mark_rule(color=_INK, strokeDash=[4, 3]).encode(x=x),
        rule.mark_text(color=_INK, align="left", baseline="top", dx=4, fontSize=10).encode(
            x=x, y=alt.value(-14), text="text:N"
        ),
        dots.encode(
            x=x,
            y=alt.Y("name:N", sort=names, title=None),
            color=alt.Color("series:N", scale=hue, legend=alt.Legend(title=None, orient="top", offset=18)),
            shape=alt.Shape("series:N", scale=alt.Scale(domain=list(colours)), legend=None),
        ),
    ).properties(title=title, width=width, height=height)
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    return Panel(spec, data)


def figure(name: str, *panels: Panel) -> Figure:
    """A figure of panels."""
    return Figure(name, name, "", panels)
