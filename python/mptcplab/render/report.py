"""The HTML report of a Result: one file, all of it inside, drawn by the browser without a network."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from mptcplab.plots import style
from mptcplab.plots.figures import colours_of
from mptcplab.render import page
from mptcplab.render.text_tables import Field, Table, tables

if TYPE_CHECKING:
    from mptcplab.plots import Figure, Panel
    from mptcplab.results.result import Result

_ROWS: Final = 200
"""The most rows of a table; the Parquet files have them all."""
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


def render(result: "Result", figures: Sequence["Figure"]) -> str:
    """The page, with these figures of the result."""
    colours = colours_of(result)
    numbered = iter(range(sum(len(figure.panels) for figure in figures)))
    contents = [("results", "Results"), *((figure.name, figure.title) for figure in figures)]
    contents += [("scenario", "Scenario"), ("provenance", "Provenance")]
    body = "\n".join(
        [
            "<header>",
            f"<h1>{escape(result.scenario.title)}</h1>",
            f'<p class="lead">{escape(_lead(result))}</p>',
            "<nav>" + "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in contents) + "</nav>",
            "</header>",
            '<main><section id="results"><h2>Results</h2>',
            *(table_section(table, colours) for table in tables(result)),
            *_notes(result),
            "</section>",
            *(figure_section(figure, [next(numbered) for _ in figure.panels]) for figure in figures),
            '<section id="scenario"><h2>Scenario as run</h2>',
            f"<pre>{escape(result.scenario.to_toml())}</pre></section>",
            '<section id="provenance"><h2>Provenance</h2>',
            _provenance(result),
            "</section></main>",
        ]
    )
    return page.render(
        result.scenario.title, body, _data(figures), script="report.js", hint="plots/ has them as pictures."
    )


def _notes(result: "Result") -> list[str]:
    """What to keep in mind with the engine's numbers."""
    items = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    return [f'<h3>To keep in mind</h3><ul class="notes">{items}</ul>'] if items else []


def _lead(result: "Result") -> str:
    seeds = [run.seed for _, run in result.runs]
    runs = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}"
    return f"{result.scenario.duration_ns / 1e9:g} s on the engine {result.engine}, {runs}"


def table_section(table: Table, colours: dict[str, str]) -> str:
    """A table with its heading; names of paths have their colours."""
    head = "".join(
        f'<th class="{field.kind}">{escape(field.header)}<span class="unit">{escape(field.unit)}</span></th>'
        for field in table.fields
    )
    rows = "\n".join(
        "<tr>" + "".join(_cell(field, row, colours) for field in table.fields) + "</tr>"
        for row in range(min(table.length, _ROWS))
    )
    rest = f'<p class="caption">{table.length - _ROWS} more rows in the files.</p>' if table.length > _ROWS else ""
    return (
        f'<h3>{escape(table.title)}</h3><div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>{rest}"
    )


def _cell(field: Field, row: int, colours: dict[str, str]) -> str:
    text = field.cells[row]
    swatch = ""
    if field.kind == "path" and text in colours:
        swatch = _swatch(colours[text], "square")
    elif field.kind == "algorithm":
        mark = style.algorithm(text)
        swatch = _swatch(mark.colour, mark.shape)
    return f'<td class="{field.kind}">{swatch}{escape(text)}</td>'


def _swatch(colour: str, shape: str) -> str:
    return f'<svg viewBox="-6 -6 12 12" fill="{colour}" aria-hidden="true">{_SHAPES[shape]}</svg>'


def figure_section(figure: "Figure", numbers: list[int]) -> str:
    """A figure with its caption; its panels have these numbers on the page."""
    hint = (
        '<p class="hint">Click a name in the legend to single it out. Drag to move in time, shift and wheel to zoom, '
        "double-click to reset; all plots over time move together.</p>"
        if figure.name == "goodput"
        else ""
    )
    drawn = "\n".join(f'<div class="plot" id="plot-{number}"></div>' for number in numbers)
    return (
        f'<section id="{figure.name}"><h2>{escape(figure.title)}</h2>\n<p class="caption">{escape(figure.caption)}</p>'
        f"{hint}\n{drawn}\n</section>"
    )


def _provenance(result: "Result") -> str:
    items = result.provenance.to_dict()
    packages = items.pop("packages")
    if isinstance(packages, dict):
        items["packages"] = ", ".join(f"{name} {version}" for name, version in packages.items())
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(_word(value))}</dd>" for name, value in items.items())
    return f"<dl>{rows}</dl>"


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)


def _data(figures: Sequence["Figure"]) -> dict[str, Any]:
    panels = [_panel(figure, panel) for figure in figures for panel in figure.panels]
    return {"config": style.config("currentColor"), "panels": panels}


def _panel(figure: "Figure", panel: "Panel") -> dict[str, Any]:
    return {
        "file": figure.name,
        "time": figure.name != "runs",
        "spec": panel.spec,
        "data": {name: frame.to_dict(as_series=False) for name, frame in panel.data.items()},
    }
