"""HTML pages from templates: each page is one file that the browser draws without a network."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mptcplab.plots import style
from mptcplab.render import vega

if TYPE_CHECKING:
    from mptcplab.plots import Figure

# Unit squares around (0, 0), y down: the shapes of Vega's point marks that `style` uses.
_SHAPES: Final = {
    "circle": '<circle r="4.5"/>',
    "square": '<path d="M-4-4H4V4H-4Z"/>',
    "diamond": '<path d="M0-5.5L4.5 0L0 5.5L-4.5 0Z"/>',
    "cross": '<path d="M-1.8-5H1.8V-1.8H5V1.8H1.8V5H-1.8V1.8H-5V-1.8H-1.8Z"/>',
    "triangle-up": '<path d="M0-5L5 4H-5Z"/>',
    "triangle-down": '<path d="M0 5L5-4H-5Z"/>',
    "triangle-right": '<path d="M5 0L-4 5V-5Z"/>',
    "triangle-left": '<path d="M-5 0L4 5V-5Z"/>',
    "stroke": '<path d="M-5-1.5H5V1.5H-5Z"/>',
}


def render(template: str, **values: Any) -> str:  # noqa: ANN401 - what the template shows
    """The template's text with these values, escaped. A name that the template needs and does not get is an error."""
    return _templates().get_template(template).render(**values)


def plots_of(figures: Sequence["Figure"]) -> dict[str, Any]:
    """What the script of a page draws, its `plots`: all panels, in the page's order."""
    return {
        "config": style.config("currentColor"),
        "panels": [
            {
                "file": figure.name,
                "time": figure.over_time,
                "spec": panel.spec,
                "data": {name: frame.to_dict(as_series=False) for name, frame in panel.data.items()},
            }
            for figure in figures
            for panel in figure.panels
        ],
    }


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("mptcplab.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        algorithm=style.algorithm, asset=_asset, data=_data, outline=lambda shape: Markup(_SHAPES[shape]), vega=_vega
    )
    environment.filters["word"] = _word
    return environment


def _data(plots: Mapping[str, Any]) -> Markup:
    """JSON in which nothing can end the script element."""
    return Markup(json.dumps(plots, separators=(",", ":")).replace("<", "\\u003c"))


@cache
def _vega() -> Markup:
    """The script that draws the figures, in which nothing can end the script element."""
    return Markup(vega.script().replace("</script", "<\\/script"))


def _asset(name: str) -> Markup:
    return Markup(files("mptcplab.render").joinpath("assets", name).read_text(encoding="utf-8"))


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)
