"""Khalili, Gast, Popovic and Le Boudec, "MPTCP is not Pareto-optimal" (IEEE/ACM ToN 2013), repeated."""

from collections.abc import Callable, Mapping
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import data_centre, future, scenario_a, scenario_b, scenario_c, theorems, traces

ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    "figure-1": scenario_a.figure_1,
    "figure-4": scenario_b.figure_4,
    "table-1": scenario_b.table_1,
    "figure-5": scenario_c.figure_5,
    "figure-7": traces.figure_7,
    "figure-8": traces.figure_8,
    "section-v": theorems.section_v,
    "figure-9": scenario_a.figure_9,
    "figure-10": scenario_a.figure_10,
    "table-2": scenario_b.table_2,
    "figure-11": scenario_c.figure_11,
    "figure-12": scenario_c.figure_12,
    "figure-13": data_centre.figure_13,
    "figure-14": data_centre.figure_14,
    "table-3": data_centre.table_3,
    "figure-17": scenario_b.figure_17,
    "future-discarding": future.future_discarding,
    "future-stability": future.future_stability,
    "future-factors": future.future_factors,
}
