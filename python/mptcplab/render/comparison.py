"""The HTML report of a comparison of settings."""

from typing import TYPE_CHECKING

from mptcplab.render import page
from mptcplab.render.report import MOST_ROWS

if TYPE_CHECKING:
    from mptcplab.comparison.settings import Comparison


def render(comparison: "Comparison") -> str:
    """The page."""
    figures = comparison.figures()
    blocks = f"{len(comparison.blocks)} {comparison.block}{'s' if len(comparison.blocks) != 1 else ''}"
    return page.render(
        "comparison.html",
        title=comparison.title,
        lead=f"{len(comparison.settings)} settings, {blocks}, on {comparison.engine}",
        contents=[("settings", "Settings"), *((figure.name, figure.title) for figure in figures)],
        tables=comparison.tables(),
        most_rows=MOST_ROWS,
        lines=comparison.lines(),
        figures=figures,
        plots=page.plots_of(figures),
    )
