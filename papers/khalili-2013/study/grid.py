"""Scenarios A and C over the paper's grid of N1/N2 and C1/C2: users with two paths, of which one is shared with others
that have one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl
from mptcplab.models import khalili_2013 as theory
from mptcplab.reproduce import Context, Found, mean_of
from mptcplab.reproduce.context import Wanted

from . import charts, networks
from .charts import OPTIMUM, Spot
from .numbers import RTT_S, SEGMENTS_PER_MBIT, Estimate, by_seed, link_loss, rate, window

COUNTED: Final = (
    "Rates are packets of 1,500 bytes over capacity, as the closed forms count them; points are means over the seeds "
    "with 95 % intervals (often smaller than the marker)."
)
_PAYLOAD_BYTES: Final = 1420
_TITLES: Final = {"users": "normalised throughput", "p2": "loss probability p2"}

Law = tuple[float, float, float]
"""Normalised throughputs of both kinds of users, and p2."""


@dataclass(frozen=True)
class Point:
    """One place of the grid with one control."""

    control: str
    n1: int
    c1: float
    users: tuple[Estimate, Estimate]
    """Normalised: (x1 + x2)/C1 and y/C2."""
    losses: tuple[Estimate, Estimate]
    second: Estimate
    """Mean window on the second path, segments."""
    second_rate: Found
    """x2 in packets a round trip of 150 ms."""

    @property
    def ratio(self) -> float:
        """N1/N2."""
        return self.n1 / networks.N2


def seeds(quick: bool) -> range:
    """Five measurements, as in the paper."""
    return range(1, 3) if quick else range(1, 6)


def numbers(ratio: float, c1: float) -> tuple[float, float, float, float, float]:
    """What the closed forms are given: users of both kinds, capacities for each in segments/s, the round trip."""
    return ratio * networks.N2, networks.N2, c1 * SEGMENTS_PER_MBIT, SEGMENTS_PER_MBIT, RTT_S


def normalised(rates: theory.Rates, c1: float) -> Law:
    """Rates of a closed form."""
    y = rates.second[0]
    return sum(rates.first) / SEGMENTS_PER_MBIT / c1, y / SEGMENTS_PER_MBIT, 2 / (y * RTT_S) ** 2


@dataclass(frozen=True)
class Grid:
    """One of the two scenarios."""

    scenario: Callable[..., dict[str, Any]]
    """Of control, N1, C1 and `quick`."""
    law: Callable[[str, float, float], Law | None]
    """Of control, N1/N2 and C1/C2: the closed form; None, or no numbers, where there is none."""
    users: tuple[str, str]
    """Those with two paths and those with one, as the figures call them."""
    connections: tuple[str, str]
    links: tuple[str, str]
    second_path: str
    places: Callable[[bool], tuple[list[int], list[float]]]
    """N1 and C1, by whether it is a quick run."""

    def measure(self, context: Context, controls: Sequence[str], *, engine: str = "sim") -> list[Point]:
        """Every point of the grid."""
        users, rates = self.places(context.quick)

        def scenario(*point: Any) -> dict[str, Any]:  # noqa: ANN401 - control, N1 and C1
            written = self.scenario(*point, quick=context.quick)
            return networks.as_ran(written, context) if engine == "sim" else written

        wanted: list[Wanted] = [
            ({"control": control, "n1": n1, "c1": c1}, scenario(control, n1, c1), seed)
            for control in controls
            for c1 in rates
            for n1 in users
            for seed in (seeds(context.quick) if engine == "sim" else (1,))
        ]
        runs = context.run_many(wanted, engine=engine)
        points = []
        for control in controls:
            for c1 in rates:
                for n1 in users:
                    chosen = (pl.col("control") == control) & (pl.col("n1") == n1) & (pl.col("c1") == c1)
                    tables = (runs.connections, runs.subflows, runs.links)
                    points.append(self._point((control, n1, c1), *(table.filter(chosen) for table in tables)))
        return points

    def _point(
        self, place: tuple[str, int, float], connections: pl.DataFrame, subflows: pl.DataFrame, links: pl.DataFrame
    ) -> Point:
        multi, single = self.connections
        first, c1 = rate(connections, multi), place[2]
        on_second = subflows.filter((pl.col("connection") == multi) & (pl.col("path") == self.second_path))
        return Point(
            *place,
            (Estimate(first.mean / c1, first.half / c1, first.runs), rate(connections, single)),
            (link_loss(links, self.links[0]), link_loss(links, self.links[1])),
            window(subflows, multi, self.second_path),
            mean_of(by_seed(on_second, pl.col("goodput_bps").mean())) / 8 / _PAYLOAD_BYTES * RTT_S,
        )

    def alone(self, context: Context) -> tuple[Estimate, Estimate]:
        """The users with one path without the others: normalised throughput, and loss at the shared link."""
        scenario = networks.as_ran(self.scenario("lia", 0, 1.0, quick=context.quick), context)
        runs = context.run_many([({}, scenario, seed) for seed in seeds(context.quick)])
        return rate(runs.connections, self.connections[1]), link_loss(runs.links, self.links[1])

    def chart(
        self, points: Sequence[Point], names: Sequence[str], what: str, *, highest: float, width: int = 170
    ) -> alt.FacetChart:
        """Points over curves; `what` is "users", up to the `highest` throughput, or "p2"."""
        return charts.panels(
            [*self._curves(points, what), *self._spots(points, what)],
            names,
            "N1/N2",
            _TITLES[what],
            x_domain=(0, 3.2),
            y_domain=(0, highest) if what == "users" else (0, 0.06),
            width=width,
        )

    def _spots(self, points: Sequence[Point], what: str) -> Iterator[Spot]:
        for point in points:
            place = partial(Spot, point.control, point.ratio, column=_column(point.c1))
            if what == "users":
                for name, found in zip(self.users, point.users, strict=True):
                    yield place(found.mean, row=name, low=found.low, high=found.high)
            else:
                found = point.losses[1]
                yield place(found.mean, low=found.low, high=found.high)

    def _curves(self, points: Sequence[Point], what: str) -> Iterator[Spot]:
        """LIA's fixed point and the optimum for the columns that the points have."""
        for c1 in dict.fromkeys(point.c1 for point in points):
            for control in ("lia", OPTIMUM):
                for step in range(1, 63):
                    ratio = step / 20
                    found = self.law(control, ratio, c1)
                    if found is None or np.isnan(found[1]):
                        continue
                    place = partial(Spot, control, ratio, column=_column(c1), calculated=True)
                    if what == "users":
                        for name, value in zip(self.users, found[:2], strict=True):
                            yield place(value, row=name)
                    else:
                        yield place(found[2])


def _column(c1: float) -> str:
    return f"C1/C2 = {c1:g}"
