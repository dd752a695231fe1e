"""The figures of a result one by one, as Altair charts with their data in them."""

from typing import TYPE_CHECKING, Any

import altair as alt

from mptcplab.plots import static_spec
from mptcplab.plots.result import Figure, figures
from mptcplab.plots.style import Theme, Width

if TYPE_CHECKING:
    from mptcplab.results.result import Result

Chart = alt.VConcatChart
"""What a notebook shows; `.save("x.svg")` writes it, `.to_dict()` gives Vega-Lite."""


class Plots:
    """The figures of a result: each returns a chart with its data.

    `theme` is "light", "dark" or "print", which has the type size of a paper: 252 points (3.5 inches) wide for a column
    of two, 516 points for both with `width="page"`. `.save("x.pdf")` writes a file. Raises ValueError where the result
    has no such figure, as without samples.

    >>> import mptcplab
    >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    >>> chart = mptcplab.run(scenario).plot.goodput()
    >>> sorted(chart.to_dict()["datasets"]) != []
    True
    """

    def __init__(self, result: "Result") -> None:
        self._result = result

    def __dir__(self) -> list[str]:
        return ["column", "goodput", "queues", "rtts", "runs", "transfers", "windows"]

    def goodput(self, theme: Theme = "light", *, width: Width = "column") -> Chart:
        """Goodput of each connection by path over time, Mbit/s; of several runs the first."""
        return self._chart("goodput", theme, width)

    def windows(self, theme: Theme = "light", *, width: Width = "column") -> Chart:
        """Congestion window of each subflow over time, segments."""
        return self._chart("windows", theme, width)

    def rtts(self, theme: Theme = "light", *, width: Width = "column") -> Chart:
        """Smoothed RTT of each subflow over time, ms."""
        return self._chart("rtts", theme, width)

    def queues(self, theme: Theme = "light", *, width: Width = "column") -> Chart:
        """Queue of each link over time, packets."""
        return self._chart("queues", theme, width)

    def column(self, name: str, theme: Theme = "light", *, width: Width = "column") -> Chart:
        """A column of `samples` that a congestion control has of its own, of each subflow over time."""
        return self._chart(name, theme, width)

    def transfers(self, theme: Theme = "light", *, width: Width = "column") -> Chart:
        """The distribution of the times of transfers by connection, and each over its start; of all runs."""
        return self._chart("transfers", theme, width)

    def runs(self, theme: Theme = "light", *, width: Width = "column") -> Chart:
        """Goodput of each connection in every run, Mbit/s; of a result of several runs."""
        return self._chart("runs", theme, width)

    def _chart(self, name: str, theme: Theme, width: Width) -> Chart:
        found: dict[str, Figure] = {
            figure.name: figure for figure in figures(self._result, without_colour=theme == "print")
        }
        if name not in found:
            there = ", ".join(found) or "none"
            raise ValueError(f"this result has no figure {name!r}; it has {there} (see measure.sample and repeat)")
        return chart(found[name], theme, width)


def chart(figure: Figure, theme: Theme = "light", width: Width = "column") -> Chart:
    """A figure as a chart with its data. Raises ValueError for a figure without anything in it."""
    if not figure.panels:
        raise ValueError(f"there is nothing to draw in the figure {figure.name!r}")
    spec: dict[str, Any] = static_spec(figure, theme=theme, width=width)
    drawn: Chart = alt.VConcatChart.from_dict(spec, validate=False)
    return drawn
