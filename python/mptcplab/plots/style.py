"""One look for every plot: an algorithm and a path have the same colour and marker wherever they appear.

The palettes are made for colour-blind readers and for light and dark pages: they follow Okabe & Ito's (paths) and Tol's
"bright" and "vibrant" (algorithms), darkened where a colour would have less than 3:1 against white. Algorithms have
markers too; paths beyond the sixth have the same colours again with another dash and marker.
"""

import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from mptcplab import registry

_PATHS: Final = ("#0072B2", "#C07A00", "#009E73", "#D55E00", "#2A93B8", "#B5629A")
_DASHES: Final = ((1, 0), (7, 3), (2, 2), (9, 2, 2, 2))


@dataclass(frozen=True)
class Mark:
    """How an algorithm is drawn."""

    colour: str
    shape: str
    """A shape of Vega's point mark."""


ALGORITHMS: Final[Mapping[str, Mark]] = {
    "reno": Mark("#4477AA", "circle"),
    "cubic": Mark("#2A93B8", "square"),
    "ewtcp": Mark("#009988", "diamond"),
    "coupled": Mark("#228833", "triangle-up"),
    "lia": Mark("#E0526A", "cross"),
    "olia": Mark("#B8408A", "triangle-down"),
    "balia": Mark("#8F8420", "triangle-right"),
    "wvegas": Mark("#D06A1E", "triangle-left"),
    "mppert": Mark("#9970CC", "stroke"),
}


_MORE: Final = ("#BB5566", "#A67C00", "#5E9C76", "#7A8AD6", "#C27BA0", "#3D9DAA", "#A5814A", "#8F7EE7")
"""Colours for names without a row: none is that of a row."""
_SHAPES: Final = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)


def algorithm(name: str) -> Mark:
    """Colour and marker of a congestion control or a scheduler.

    No two of the laboratory's own are alike; a plug-in's follow from its name.
    """
    return ALGORITHMS.get(name) or _own().get(name) or _free(name)


@cache
def _own() -> Mapping[str, Mark]:
    """Marks of the controls and schedulers that the registry has and `ALGORITHMS` does not."""
    marks: dict[str, Mark] = {}
    for family in ("congestion", "schedulers"):
        for name in registry.names(family):
            if name not in ALGORITHMS and name not in marks:
                marks[name] = _free(name, marks.values())
    return marks


def _free(name: str, taken: Collection[Mark] = ()) -> Mark:
    """The mark that follows from the name, or the next one that is not taken."""
    number = zlib.crc32(name.encode())
    everything = len(_MORE) * len(_SHAPES)
    marks = [
        Mark(_MORE[at % len(_MORE)], _SHAPES[at // len(_MORE) % len(_SHAPES)])
        for at in range(number, number + everything)
    ]
    return next((mark for mark in marks if mark not in taken), marks[0])


def path_colours(names: Iterable[str]) -> dict[str, str]:
    """Colours of paths and links by name; a path and a link of one name share theirs.

    Give the names in the scenario's order, paths first: the same scenario then has the same colours everywhere.
    """
    distinct = list(dict.fromkeys(names))
    return {name: _PATHS[at % len(_PATHS)] for at, name in enumerate(distinct)}


@dataclass(frozen=True)
class Line:
    """What tells a path or a link apart from the one of the same colour."""

    dash: tuple[int, ...]
    shape: str
    """A shape of Vega's point mark."""


def path_lines(names: Iterable[str], *, without_colour: bool = False) -> dict[str, Line]:
    """Dash and marker of paths and links by name; give them as to `path_colours`. No two of 24 are alike with their
    colours; `without_colour` neighbours differ too, as on paper.
    """
    distinct = list(dict.fromkeys(names))
    if without_colour:
        return {name: Line(mark.dash, mark.shape) for name, mark in series_marks(distinct).items()}
    return {
        name: Line(_DASHES[at // len(_PATHS) % len(_DASHES)], _SHAPES[at // len(_PATHS) % len(_SHAPES)])
        for at, name in enumerate(distinct)
    }


@dataclass(frozen=True)
class SeriesMark:
    """How one of several series is drawn that are neither paths nor algorithms."""

    colour: str
    dash: tuple[int, ...]
    shape: str
    """A shape of Vega's point mark."""


def series_marks(names: Iterable[str]) -> dict[str, SeriesMark]:
    """Colour, dash and marker by name: neighbours differ in all three, no two of 24 have colour and dash alike."""
    distinct = list(dict.fromkeys(names))
    return {
        name: SeriesMark(
            _PATHS[at % len(_PATHS)],
            _DASHES[(at + at // 12) % len(_DASHES)],
            _SHAPES[at % len(_SHAPES)],
        )
        for at, name in enumerate(distinct)
    }


Theme = Literal["light", "dark", "print"]
Width = Literal["column", "page"]
"""Of a printed figure: a column of a two-column paper, or its whole text."""
PAGES: Final[Mapping[str, tuple[str, str]]] = {
    "light": ("#222222", "white"),
    "dark": ("#E6E6E6", "#1B1D21"),
    "print": ("#000000", "white"),
}
"""Ink and page of each theme."""


def themed(theme: Theme) -> dict[str, Any]:
    """Vega-Lite's configuration for a figure that stands alone."""
    ink, page = PAGES[theme]
    whole = {**config(ink), "background": page}
    if theme != "print":
        return whole
    # The type of a paper's captions is 8 points high.
    sizes: dict[str, dict[str, Any]] = {
        "title": {"fontSize": 8, "offset": 3},
        "axis": {"labelFontSize": 7, "titleFontSize": 8, "titlePadding": 3},
        "axisY": {"minExtent": 20, "tickCount": 4},
        "text": {"fontSize": 6.5},
        "legend": {"labelFontSize": 7, "titleFontSize": 7, "symbolStrokeWidth": 1.2, "symbolSize": 30, "columns": 3},
    }
    return {**whole, **{key: {**whole[key], **own} for key, own in sizes.items()}}


def config(ink: str) -> dict[str, Any]:
    """Vega-Lite's configuration with `ink` for text and axes: a colour, or "currentColor" to follow the page."""
    font = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"
    return {
        "background": None,
        "font": font,
        "padding": {"left": 4, "right": 8, "top": 4, "bottom": 4},
        "view": {"stroke": None},
        "title": {
            "anchor": "start",
            "color": ink,
            "subtitleColor": ink,
            "fontSize": 13,
            "fontWeight": 600,
            "subtitleFontSize": 12,
            "offset": 8,
        },
        "axis": {
            "labelColor": ink,
            "titleColor": ink,
            "tickColor": ink,
            "domainColor": ink,
            "gridColor": ink,
            "gridOpacity": 0.12,
            "tickOpacity": 0.5,
            "domainOpacity": 0.5,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 8,
        },
        # The same for every panel, so that their time axes stand under one another.
        # Labels stand below their ticks, at the ends too: one that is moved inwards meets its neighbour.
        "text": {"fontSize": 10},
        "axisX": {"labelFlush": False, "labelSeparation": 4},
        "axisY": {"minExtent": 36, "tickCount": 5},
        "legend": {
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 12,
            "labelLimit": 420,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "symbolStrokeWidth": 2.5,
            "orient": "top",
            "offset": 4,
        },
    }
