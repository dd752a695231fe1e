"""The figures of a result one by one, as Altair charts with their data in them."""

from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from mptcplab.plots import static_spec
from mptcplab.plots.figures import Figure, figures

if TYPE_CHECKING:
    from mptcplab.results.result import Result

Theme = Literal["light", "dark", "print"]
Chart = alt.VConcatChart
"""What a notebook shows; `.save("x.svg")` writes it, `.to_dict()` gives Vega-Lite."""


class Plots:
    """The figures of a result: each returns a chart with its data.

    `theme` is "light", "dark" or "print": as wide as a column of a two-column paper (3.5 inches, 252 points), in its
    type size. Raises ValueError where the result has no such figure, as without samples.

    >>> import mptcplab
    >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    >>> chart = mptcplab.run(scenario).plot.goodput()
    >>> sorted(chart.to_dict()["datasets"]) != []
    True
    """

    def __init__(self, result: "Result") -> None:
        self._result = result

    def __dir__(self) -> list[str]:
        return ["column", "goodput", "queues", "rtts", "runs", "windows"]

    def goodput(self, theme: Theme = "light") -> Chart:
        """Goodput of each connection by path over time, Mbit/s; of several runs the first."""
        return self._chart("goodput", theme)

    def windows(self, theme: Theme = "light") -> Chart:
        """Congestion window of each subflow over time, segments."""
        return self._chart("windows", theme)

    def rtts(self, theme: Theme = "light") -> Chart:
        """Smoothed RTT of each subflow over time, ms."""
        return self._chart("rtts", theme)

    def queues(self, theme: Theme = "light") -> Chart:
        """Queue of each link over time, packets."""
        return self._chart("queues", theme)

    def column(self, name: str, theme: Theme = "light") -> Chart:
        """A column of `samples` that a congestion control has of its own, of each subflow over time."""
        return self._chart(name, theme)

    def runs(self, theme: Theme = "light") -> Chart:
        """Goodput of each connection in every run, Mbit/s; of a result of several runs."""
        return self._chart("runs", theme)

    def _chart(self, name: str, theme: Theme) -> Chart:
        found: dict[str, Figure] = {figure.name: figure for figure in figures(self._result)}
        if name not in found:
            there = ", ".join(found) or "none"
            raise ValueError(f"this result has no figure {name!r}; it has {there} (see measure.sample and repeat)")
        spec: dict[str, Any] = static_spec(found[name], theme=theme)
        chart: Chart = alt.VConcatChart.from_dict(spec, validate=False)
        return chart
