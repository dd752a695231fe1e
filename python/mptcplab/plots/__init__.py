"""Plots of a Result. `figures` makes them, `write_static` writes SVG and PNG copies.

Nothing is loaded before it is asked for: colours and markers (`style`) need neither Altair nor data frames.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from mptcplab.plots.drawing import distribution, static_spec, write_print, write_static
    from mptcplab.plots.result import Figure, Panel, figures
else:
    from mptcplab.deferred import deferred as _deferred

    _HOMES = {
        "Figure": "result",
        "Panel": "result",
        "distribution": "drawing",
        "figures": "result",
        "static_spec": "drawing",
        "write_print": "drawing",
        "write_static": "drawing",
    }
    __getattr__ = _deferred(__name__, _HOMES)


__all__ = ["Figure", "Panel", "distribution", "figures", "static_spec", "write_print", "write_static"]
