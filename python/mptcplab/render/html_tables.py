"""The tables of a Result, a comparison or a prediction as HTML for a notebook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mptcplab.render import page
from mptcplab.render.short import prediction_rows
from mptcplab.render.text_tables import Field, Table, tables

if TYPE_CHECKING:
    from mptcplab.comparison.settings import Comparison
    from mptcplab.comparison.side_by_side import EngineComparison
    from mptcplab.models.predict import Prediction
    from mptcplab.results.result import Result

_MOST_ROWS: Final = 20
"""The most rows of a table; the frames have them all."""


def of_result(result: "Result") -> str:
    """Title and tables."""
    several = len(result.runs) > 1
    runs = f"{len(result.runs)} runs" if several else f"seed {result.provenance.seed}"
    return _page(result.scenario.title, [result.engine, runs], tables(result))


def of_comparison(comparison: "Comparison") -> str:
    """Title, tables and what to know of them."""
    about = [f"{len(comparison.settings)} settings", comparison.engine]
    return _page(comparison.title, about, comparison.tables(), comparison.lines())


def of_engines(comparison: "EngineComparison") -> str:
    """Title and tables."""
    first = next(iter(comparison.results.values()))
    return _page(first.scenario.title, [" against ".join(comparison.engines)], comparison.tables())


def of_prediction(prediction: "Prediction") -> str:
    """The table of the paths of one connection."""
    columns = prediction_rows(prediction)
    fields = tuple(Field(header, unit, tuple(cells), "number") for header, unit, cells in columns)
    return _page(f"Steady state of {prediction.control}", [], (Table("By path", fields),))


def _page(title: str, about: Sequence[str], shown: Sequence[Table], lines: Sequence[str] = ()) -> str:
    return page.render("notebook.html", title=title, about=about, tables=shown, most_rows=_MOST_ROWS, lines=lines)
