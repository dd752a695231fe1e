"""Figures as charts and files."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import vl_convert

from mptcplab.plots import style
from mptcplab.plots.result import Figure, Panel

if TYPE_CHECKING:
    from mptcplab.plots.charts import Chart

_SIZES: Final = {"light": (640, 170), "dark": (640, 170), "print": (196, 80)}
"""Width and height of a panel in points, without its axis; with it, a printed one is a column wide: 252 points."""
_PAGE: Final = 460
"""The width of a printed panel that is as wide as two columns and what is between them: 516 points with its axis."""
_IDENTIFIER = re.compile(r"((?<=id=\")(?:clip|gradient_)|(?<=url\(#)(?:clip|gradient_))\d+")


def distribution(
    samples: Mapping[str, Sequence[float]],
    title: str,
    *,
    theme: style.Theme = "light",
    width: style.Width = "column",
    log: bool = False,
) -> "Chart":
    """The cumulative distribution of each of some named samples, as a chart: `.save("x.pdf")` writes it.

    `title` is that of the axis of values, which `log` makes logarithmic. Raises ValueError without any value.
    """
    import polars as pl

    from mptcplab.plots.charts import chart
    from mptcplab.plots.distributions import step_rows, steps

    rows = [row for name, values in samples.items() for row in step_rows(name, sorted(map(float, values)))]
    drawn: dict[str, Any] = steps(title, list(samples), log=log).to_dict(validate=False)
    drawn.pop("config", None)
    panels = (Panel(drawn, {"points": pl.DataFrame(rows)}),) if rows else ()
    return chart(Figure("distribution", "Cumulative distribution", "", panels, over_time=False), theme, width)


def write_static(drawn: Sequence[Figure], directory: Path) -> None:
    """Write each figure as NAME.svg and NAME.png (twice the size), dark on white."""
    for figure in drawn:
        spec = json.dumps(static_spec(figure))
        drawing = _renumbered(vl_convert.vegalite_to_svg(spec))
        (directory / f"{figure.name}.svg").write_text(drawing, encoding="utf-8")
        (directory / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(drawing, scale=2.0))


def write_print(drawn: Sequence[Figure], directory: Path) -> None:
    """Write each figure as NAME.pdf, as wide as a column of a paper."""
    for figure in drawn:
        spec = json.dumps(static_spec(figure, theme="print"))
        (directory / f"{figure.name}.pdf").write_bytes(vl_convert.vegalite_to_pdf(spec))


def _renumbered(drawing: str) -> str:
    """The drawing with its identifiers counted from 0: Vega counts on from one drawing to the next of a process."""
    numbers: dict[str, int] = {}
    return _IDENTIFIER.sub(
        lambda found: found[1] + str(numbers.setdefault(found[0].lstrip('"#'), len(numbers))), drawing
    )


def static_spec(figure: Figure, *, theme: style.Theme = "light", width: style.Width = "column") -> dict[str, Any]:
    """Vega-Lite of a whole figure with its data: panels under one another, without what only a pointer could use."""
    panels: list[dict[str, Any]] = []
    datasets: dict[str, Any] = {}
    for number, panel in enumerate(figure.panels):
        spec = _still(panel.spec)
        datasets |= spec.pop("datasets", {})
        for name, frame in panel.data.items():
            datasets[f"{name}-{number}"] = frame.to_dicts()
        across, height = _SIZES[theme]
        if theme == "print" and width == "page":
            across = _PAGE
        # Rows of settings are as high as their number wants.
        own = spec.pop("height", None)
        if own is not None:
            height = own if theme != "print" else max(40, round(own * 0.6))
        panels.append({"width": across, "height": height, **_renamed(spec, panel.data, number)})
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": style.themed(theme),
        "datasets": datasets,
        "resolve": {
            "scale": dict.fromkeys(("color", "fillOpacity", "shape", "stroke", "strokeDash", "y"), "independent")
        },
        "vconcat": panels,
    }


def _renamed(part: Any, names: Container[str], number: int) -> Any:  # noqa: ANN401 - any JSON
    """A specification whose named data sets carry the panel's number: panels of one figure use the same names."""
    if isinstance(part, list):
        return [_renamed(item, names, number) for item in part]
    if not isinstance(part, dict):
        return part
    if part.keys() == {"name"} and part["name"] in names:
        return {"name": f"{part['name']}-{number}"}
    return {key: _renamed(value, names, number) for key, value in part.items()}


def _still(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The same without selections: the layer that reads off values goes, conditions keep their plain value."""
    kept = []
    for layer in spec["layer"]:
        encoding = {channel: value for channel, value in layer["encoding"].items() if channel != "tooltip"}
        condition = encoding.get("opacity", {}).get("condition")
        if condition is not None and condition["param"] == "near":
            continue
        if condition is not None:
            encoding["opacity"] = {"value": condition["value"]}
        kept.append({**layer, "encoding": encoding})
    rest = {key: value for key, value in spec.items() if key not in ("$schema", "params")}
    return {**rest, "layer": kept}
