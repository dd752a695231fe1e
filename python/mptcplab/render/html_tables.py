"""The tables of a Result as HTML for a notebook: no scripts, no style of its own but alignment."""

from html import escape
from typing import TYPE_CHECKING, Final

from mptcplab.render.text_tables import Table, tables

if TYPE_CHECKING:
    from mptcplab.results.result import Result

_ROWS: Final = 20
"""The most rows of a table; the frames have them all."""


def of_result(result: "Result") -> str:
    """Title and tables."""
    runs = f"{len(result.runs)} runs" if len(result.runs) > 1 else f"seed {result.provenance.seed}"
    head = f"<p><strong>{escape(result.scenario.title)}</strong>, {escape(result.engine)}, {runs}</p>"
    return head + "".join(map(_table, tables(result)))


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(field.header)}<br><small>{escape(field.unit)}</small></th>" for field in table.fields)
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{"right" if field.kind == "number" else "left"}">{escape(field.cells[row])}</td>'
            for field in table.fields
        )
        + "</tr>"
        for row in range(min(table.length, _ROWS))
    )
    rest = f"<p>{table.length - _ROWS} more rows</p>" if table.length > _ROWS else ""
    return f"<p>{escape(table.title)}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"
