"""Singh, "Multipath Probabilistic Early Response TCP" (Texas A&M University, 2012), repeated."""

from collections.abc import Callable, Mapping
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import ahead, bottlenecks, pooling, queues, shift

ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    "figure-1": pooling.figure_1,
    "figure-4": shift.figure_4,
    "figure-5": shift.figure_5,
    "figure-6": shift.figure_6,
    "figure-7": shift.figure_7,
    "table-1": pooling.table_1,
    "table-2": pooling.table_2,
    "figure-11": bottlenecks.figure_11,
    "figure-12": bottlenecks.figure_12,
    "figure-13": bottlenecks.figure_13,
    "figure-14": bottlenecks.figure_14,
    "figure-15": bottlenecks.figure_15,
    "table-3": bottlenecks.table_3,
    "table-4": bottlenecks.table_4,
    "table-5": bottlenecks.table_5,
    "table-6": bottlenecks.table_6,
    "table-7": queues.table_7,
    "table-8": queues.table_8,
    "figure-16": queues.figure_16,
    "table-9": queues.table_9,
    "figure-17": queues.figure_17,
    "figure-18": queues.figure_18,
    "table-10": pooling.table_10,
    "figure-20": shift.figure_20,
    "figure-21": shift.figure_21,
    "figure-22": shift.figure_22,
    "figure-23": shift.figure_23,
    "future-suppression": ahead.future_suppression,
    "future-short-flows": ahead.future_short_flows,
    "future-data-centre": ahead.future_data_centre,
}
