"""Plots of a Result. `figures` makes them, `write_static` writes SVG and PNG copies."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vl_convert

from mptcplab.plots import style
from mptcplab.plots.figures import Figure, Panel, figures

if TYPE_CHECKING:
    from mptcplab.result import Result

__all__ = ["Figure", "Panel", "figures", "panel_spec", "static_spec", "write_static"]

_WIDTH, _HEIGHT = 640, 170
_INK = "#222222"


def write_static(result: "Result", directory: Path) -> None:
    """Write each figure as NAME.svg and NAME.png (twice the size), dark on white."""
    for figure in figures(result):
        spec = json.dumps(static_spec(figure))
        (directory / f"{figure.name}.svg").write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
        (directory / f"{figure.name}.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=2.0))


def panel_spec(panel: Panel) -> dict[str, Any]:
    """Vega-Lite of one panel without its data."""
    spec: dict[str, Any] = panel.chart.to_dict()
    return {key: value for key, value in spec.items() if key not in ("config", "datasets")}


def static_spec(figure: Figure) -> dict[str, Any]:
    """Vega-Lite of a whole figure with its data: panels under one another, without what only a pointer could use."""
    panels = []
    for panel in figure.panels:
        spec = _still(panel_spec(panel))
        spec.pop("$schema", None)
        for layer in spec["layer"]:
            if layer.get("data") == {"name": "points"}:
                layer["data"] = {"values": panel.data["points"].to_dicts()}
        if spec.get("data") == {"name": "points"}:
            spec["data"] = {"values": panel.data["points"].to_dicts()}
        panels.append({"width": _WIDTH, "height": _HEIGHT, **spec})
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": {**style.config(_INK), "background": "white"},
        "resolve": {"scale": {"color": "independent", "strokeDash": "independent", "y": "independent"}},
        "vconcat": panels,
    }


def _still(spec: dict[str, Any]) -> dict[str, Any]:
    """The same without selections: layers that only read off values go, conditions keep their plain value."""
    kept = []
    for layer in spec["layer"]:
        layer = dict(layer)
        names = {parameter["name"] for parameter in layer.pop("params", [])}
        if "near" in names:
            continue
        encoding = dict(layer["encoding"])
        encoding.pop("tooltip", None)
        opacity = encoding.get("opacity", {})
        if "condition" in opacity:
            encoding["opacity"] = {"value": opacity["condition"]["value"]}
        kept.append({**layer, "encoding": encoding})
    rest = {key: value for key, value in spec.items() if key != "params"}
    return {**rest, "layer": kept}
