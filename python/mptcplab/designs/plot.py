"""A design as a picture: each pair of its dimensions, and how far each point is from its nearest neighbour."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import numpy as np
import polars as pl

from mptcplab.designs.plain import Floats, random
from mptcplab.designs.quality import nearest_distances, quality

_SHOWN: Final = 6
"""The most dimensions whose pairs are drawn."""
_COLOUR: Final = "#0072B2"
_OTHER: Final = "#8A8A8A"


def draw(points: Floats, names: Sequence[str], kind: str) -> alt.VConcatChart:
    """Pairs of dimensions (the first six) and distances beside those of as many independent points."""
    shown = list(names[:_SHOWN])
    measured = quality(points)
    title = (
        f"{kind}: {len(points)} points, minimal distance {measured.minimal_distance:.3f}, cover {measured.cover:.3f}"
    )
    projected = _pairs(points, shown) if len(shown) > 1 else _line(points, shown[0])
    whole = alt.vconcat(projected, _distances(points, kind)) if len(points) > 1 else alt.vconcat(projected)
    drawn: alt.VConcatChart = whole.properties(title=title)
    return drawn


def _pairs(points: Floats, names: Sequence[str]) -> alt.VConcatChart:
    # Dots in a field's name are steps into an object; plain names, the real ones as titles.
    frame = pl.DataFrame({f"x{at}": points[:, at] for at in range(len(names))})
    base = alt.Chart(frame).mark_point(filled=True, size=14, color=_COLOUR, opacity=0.8)
    size = max(70, 540 // (len(names) - 1))
    rows = []
    for down in range(1, len(names)):
        row = []
        for across in range(down):
            x = alt.X(f"x{across}:Q", title=names[across], scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=2))
            y = alt.Y(f"x{down}:Q", title=names[down], scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=2))
            row.append(base.encode(x=x, y=y).properties(width=size, height=size))
        rows.append(alt.hconcat(*row))
    chart: alt.VConcatChart = alt.vconcat(*rows)
    return chart


def _line(points: Floats, name: str) -> alt.Chart:
    scale = alt.Scale(domain=[0, 1])
    chart: alt.Chart = (
        alt.Chart(pl.DataFrame({"x": points[:, 0]}))
        .mark_tick(color=_COLOUR)
        .encode(x=alt.X("x:Q", title=name, scale=scale))
        .properties(width=540)
    )
    return chart


def _distances(points: Floats, kind: str) -> alt.Chart:
    """Distribution functions: the further to the right and the steeper, the more even the design."""
    compared = random(len(points), points.shape[1], seed=1)
    frames = []
    for name, each in ((kind, points), ("independent points", compared)):
        nearest = np.sort(nearest_distances(each))
        part = np.arange(1, len(nearest) + 1) / len(nearest)
        frames.append(pl.DataFrame({"distance": nearest, "part": part, "design": [name] * len(nearest)}))
    colours = alt.Scale(domain=[kind, "independent points"], range=[_COLOUR, _OTHER])
    chart: alt.Chart = (
        alt.Chart(pl.concat(frames))
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(
            x=alt.X("distance:Q", title="distance to the nearest other point (unit cube)", scale=alt.Scale(zero=True)),
            y=alt.Y("part:Q", title="part of the points"),
            color=alt.Color("design:N", title=None, scale=colours, legend=alt.Legend(orient="right")),
        )
        .properties(width=540, height=150)
    )
    return chart
