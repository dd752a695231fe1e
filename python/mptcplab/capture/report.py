"""The HTML report of an analysis: one file, all of it inside, drawn by the browser without a network."""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab.capture.figures import figures
from mptcplab.capture.tables import tables
from mptcplab.plots import Figure, style
from mptcplab.render import page
from mptcplab.render.report import figure_section, table_section

if TYPE_CHECKING:
    from mptcplab.capture.analysis import Analysis


def render(analysis: "Analysis") -> str:
    """The page."""
    drawn = [figure for figure in figures(analysis) if figure.panels]
    numbered = iter(range(sum(len(figure.panels) for figure in drawn)))
    contents = [("tables", "Connections and subflows"), *((figure.name, figure.title) for figure in drawn)]
    names = [Path(path).name for path in analysis.paths]
    title = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    body = "\n".join(
        [
            "<header>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(_lead(analysis))}</p>',
            "<nav>" + "".join(f'<a href="#{name}">{escape(text)}</a>' for name, text in contents) + "</nav>",
            "</header>",
            '<main><section id="tables"><h2>Connections and subflows</h2>',
            *(table_section(table, {}) for table in tables(analysis)),
            *_notes(analysis),
            "</section>",
            *(figure_section(figure, [next(numbered) for _ in figure.panels]) for figure in drawn),
            "</main>",
        ]
    )
    return page.render(title, body, _data(drawn), script="report.js", hint="the Parquet files have the numbers.")


def _lead(analysis: "Analysis") -> str:
    files = analysis.summary["files"]
    packets, tcp = (sum(file[key] for file in files) for key in ("packets", "tcp"))
    captures = "one capture" if len(files) == 1 else f"{len(files)} captures"
    seconds = analysis.summary["duration_s"]
    return f"{captures}, {packets} packets, {tcp} of them TCP, {seconds:g} s; times count from the first TCP packet"


def _notes(analysis: "Analysis") -> list[str]:
    items = "".join(f"<li>{escape(note)}</li>" for note in analysis.notes)
    return [f'<h3>To keep in mind</h3><ul class="notes">{items}</ul>'] if items else []


def _data(drawn: list[Figure]) -> dict[str, Any]:
    panels = [
        {
            "file": figure.name,
            "time": True,
            "spec": panel.spec,
            "data": {name: frame.to_dict(as_series=False) for name, frame in panel.data.items()},
        }
        for figure in drawn
        for panel in figure.panels
    ]
    return {"config": style.config("currentColor"), "panels": panels}
