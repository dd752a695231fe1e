"""The tables of a Result as HTML for a notebook."""

from typing import TYPE_CHECKING, Final

from mptcplab.render import page
from mptcplab.render.text_tables import tables

if TYPE_CHECKING:
    from mptcplab.comparison.settings import Comparison
    from mptcplab.results.result import Result

_MOST_ROWS: Final = 20
"""The most rows of a table; the frames have them all."""


def of_result(result: "Result") -> str:
    """Title and tables."""
    return page.render(
        "notebook.html",
        title=result.scenario.title,
        about=[
            result.engine,
            f"{len(result.runs)} runs" if len(result.runs) > 1 else f"seed {result.provenance.seed}",
        ],
        tables=tables(result),
        most_rows=_MOST_ROWS,
        lines=[],
    )


def of_comparison(comparison: "Comparison") -> str:
    """Title, tables and what to know of them."""
    return page.render(
        "notebook.html",
        title=comparison.title,
        about=[f"{len(comparison.settings)} settings", comparison.engine],
        tables=comparison.tables(),
        most_rows=_MOST_ROWS,
        lines=comparison.lines(),
    )
