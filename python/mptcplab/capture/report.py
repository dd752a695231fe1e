"""The HTML report of an analysis."""

from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.capture.figures import figures
from mptcplab.capture.tables import tables
from mptcplab.render import page
from mptcplab.render.report import MOST_ROWS

if TYPE_CHECKING:
    from mptcplab.capture.analysis import Analysis


def render(analysis: "Analysis") -> str:
    """The page."""
    drawn = [figure for figure in figures(analysis) if figure.panels]
    names = [Path(path).name for path in analysis.paths]
    return page.render(
        "analysis.html",
        title=", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else ""),
        lead=_lead(analysis),
        contents=[("tables", "Connections and subflows"), *((figure.name, figure.title) for figure in drawn)],
        tables=tables(analysis),
        most_rows=MOST_ROWS,
        notes=analysis.notes,
        figures=drawn,
        plots=page.plots_of(drawn),
    )


def _lead(analysis: "Analysis") -> str:
    files = analysis.summary["files"]
    packets, tcp = (sum(file[key] for file in files) for key in ("packets", "tcp"))
    captures = "one capture" if len(files) == 1 else f"{len(files)} captures"
    seconds = analysis.summary["duration_s"]
    return f"{captures}, {packets} packets, {tcp} of them TCP, {seconds:g} s; times count from the first TCP packet"
