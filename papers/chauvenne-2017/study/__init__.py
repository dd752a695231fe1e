"""Chauvenne and Libioulle, *MultiPath TCP Connections: Analysis and Models* (UCLouvain, 2017), repeated."""

from collections.abc import Callable, Mapping
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import (
    bulk_items,
    choice_items,
    design_items,
    fairness_items,
    future_items,
    loss_items,
    model_items,
    repeat_items,
    request_items,
    sensitivity_items,
    small_items,
)

ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    "table-3.1": design_items.table_3_1,
    "figure-3.2": design_items.figure_3_2,
    "figure-3.3": bulk_items.figure_3_3,
    "figure-3.4": bulk_items.figure_3_4,
    "figure-3.5": bulk_items.figure_3_5,
    "figure-3.6": bulk_items.figure_3_6,
    "figure-3.7": bulk_items.figure_3_7,
    "figure-3.8": bulk_items.figure_3_8,
    "figure-3.9": repeat_items.figure_3_9,
    "figure-3.10": repeat_items.figure_3_10,
    "figure-3.11": repeat_items.figure_3_11,
    "figure-3.12": repeat_items.figure_3_12,
    "table-3.2": sensitivity_items.table_3_2,
    "figure-4.1": small_items.figure_4_1,
    "figure-4.2": small_items.figure_4_2,
    "figure-4.3": small_items.figure_4_3,
    "figure-4.4": small_items.figure_4_4,
    "figure-4.5": small_items.figure_4_5,
    "figure-4.6": small_items.figure_4_6,
    "figure-4.7": small_items.figure_4_7,
    "figure-4.8": small_items.figure_4_8,
    "table-4.1": sensitivity_items.table_4_1,
    "table-5.1": loss_items.table_5_1,
    "figure-5.1": loss_items.figure_5_1,
    "figure-5.2": loss_items.figure_5_2,
    "figure-5.3": loss_items.figure_5_3,
    "table-5.2": sensitivity_items.table_5_2,
    "table-5.3": fairness_items.table_5_3,
    "table-5.4": fairness_items.table_5_4,
    "figure-5.5": choice_items.figure_5_5,
    "table-5.5": choice_items.table_5_5,
    "examples-6.1": model_items.examples,
    "figure-6.3": model_items.figure_6_3,
    "figure-6.4": model_items.figure_6_4,
    "figure-c.1": request_items.figure_c_1,
    "figure-c.2": request_items.figure_c_2,
    "table-c.1": request_items.table_c_1,
    "future-queue": future_items.future_queue,
    "future-rate": future_items.future_rate,
    "future-controls": future_items.future_controls,
}
