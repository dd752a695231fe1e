"""The HTML report of a Result."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mptcplab.plots.result import colours_of
from mptcplab.render import page
from mptcplab.render.text_tables import tables

if TYPE_CHECKING:
    from mptcplab.plots import Figure
    from mptcplab.results.result import Result

MOST_ROWS: Final = 200
"""The most rows of a table; the Parquet files have them all."""


def render(result: "Result", figures: Sequence["Figure"]) -> str:
    """The page, with these figures of the result."""
    return page.render(
        "report.html",
        title=result.scenario.title,
        lead=_lead(result),
        contents=[
            ("results", "Results"),
            *((figure.name, figure.title) for figure in figures),
            ("scenario", "Scenario"),
            ("provenance", "Provenance"),
        ],
        tables=tables(result),
        most_rows=MOST_ROWS,
        colours=colours_of(result),
        notes=result.notes,
        figures=figures,
        plots=page.plots_of(figures),
        scenario=result.scenario.to_toml(),
        provenance=_provenance(result),
    )


def _lead(result: "Result") -> str:
    seeds = [run.seed for _, run in result.runs]
    runs = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}"
    return f"{result.scenario.duration_ns / 1e9:g} s on the engine {result.engine}, {runs}"


def _provenance(result: "Result") -> dict[str, object]:
    items = result.provenance.to_dict()
    packages = items.get("packages")
    if isinstance(packages, dict):
        items["packages"] = ", ".join(f"{name} {version}" for name, version in packages.items())
    return items
