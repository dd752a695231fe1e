"""The tables of a Result as HTML for a notebook."""

from typing import TYPE_CHECKING, Final

from mptcplab.render import page
from mptcplab.render.text_tables import tables

if TYPE_CHECKING:
    from mptcplab.results.result import Result

_MOST_ROWS: Final = 20
"""The most rows of a table; the frames have them all."""


def of_result(result: "Result") -> str:
    """Title and tables."""
    return page.render(
        "notebook.html",
        title=result.scenario.title,
        engine=result.engine,
        runs=f"{len(result.runs)} runs" if len(result.runs) > 1 else f"seed {result.provenance.seed}",
        tables=tables(result),
        most_rows=_MOST_ROWS,
    )
