"""Dong et al., "Reducing transport latency for short flows with multipath TCP" (JNCA 2018), repeated."""

from collections.abc import Callable, Mapping
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import beyond, downloads, future, long, model_items, points, short, testbed, wireless
from .real import beside, simulated

ENGINES: Final = ("sim", "stack")
"""On `stack`, points of the testbed's items stand beside those of `sim`; all else is on `sim`."""

_STUDIES: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    "figure-2": short.figure_2,
    "figure-3": short.figure_3,
    "figure-4": short.figure_4,
    "figure-5": short.figure_5,
    "figure-7": model_items.figure_7,
    "figure-8": short.figure_8,
    "figure-9": model_items.figure_9,
    "figure-10": model_items.figure_10,
    "figure-11": model_items.figure_11,
    "figure-12": short.figure_12,
    "figure-13": short.figure_13,
    "table-2": short.table_2,
    "figure-14": short.figure_14,
    "table-3": short.table_3,
    "figure-15": short.figure_15,
    "figure-16": short.figure_16,
    "figure-17": short.figure_17,
    "figure-18": short.figure_18,
    "figure-19": short.figure_19,
    "figure-20": long.figure_20,
    "figure-22": short.figure_22,
    "figure-23": long.figure_23,
    "figure-25": long.figure_25,
    "figure-27": testbed.figure_27,
    "figure-28": testbed.figure_28,
    "table-4": testbed.table_4,
    "figure-29": testbed.figure_29,
    "figure-30": testbed.figure_30,
    "figure-31": wireless.figure_31,
    "figure-32": wireless.figure_32,
    "figure-33": wireless.figure_33,
    "figure-34": wireless.figure_34,
    "section-6.2.2": beyond.section,
    "future-size": future.size,
}

ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    name: beside(study, points.BUNDLES[name], downloads.download) if name in points.BUNDLES else simulated(study)
    for name, study in _STUDIES.items()
}
