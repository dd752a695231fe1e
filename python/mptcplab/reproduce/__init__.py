"""A paper as a living study: what it printed, what we find, and whether it holds.

A paper's folder `papers/NAME/` has a README, `published.toml` (see `published`) and the package `study`, whose `ITEMS`
maps the id of an item to a function from a `Context` to an `Outcome`.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mptcplab.reproduce.context import Context
from mptcplab.reproduce.judge import (
    Bistable,
    Check,
    Deviation,
    Deviations,
    Equality,
    Exact,
    Found,
    Known,
    Number,
    Order,
    Ratio,
    Share,
    Single,
    Trend,
    Verdict,
    at_least,
    at_most,
    below,
    bistable,
    by_rank,
    correlation_of,
    deviations,
    every,
    fact,
    jain,
    known,
    mean_of,
    median_of,
    part_of,
    quantile_of,
    resampled,
    single,
    slightly,
    steps,
    within,
)
from mptcplab.reproduce.outcome import Claim, Outcome, problems
from mptcplab.reproduce.papers import Paper, PaperError, load_paper, paper_names
from mptcplab.reproduce.published import Item, Published, PublishedError, Value

if TYPE_CHECKING:
    from mptcplab.reproduce.report import Repetition

__all__ = [
    "Bistable",
    "Check",
    "Claim",
    "Context",
    "Deviation",
    "Deviations",
    "Equality",
    "Exact",
    "Found",
    "Item",
    "Known",
    "Number",
    "Order",
    "Outcome",
    "Paper",
    "PaperError",
    "Published",
    "PublishedError",
    "Ratio",
    "Share",
    "Single",
    "Trend",
    "Value",
    "Verdict",
    "at_least",
    "at_most",
    "below",
    "bistable",
    "by_rank",
    "correlation_of",
    "deviations",
    "every",
    "fact",
    "jain",
    "known",
    "load_paper",
    "mean_of",
    "median_of",
    "paper_names",
    "part_of",
    "problems",
    "quantile_of",
    "resampled",
    "single",
    "slightly",
    "steps",
    "within",
]


class _Callable(ModuleType):
    """`mptcplab.reproduce` is this package and, called, the function of that name."""

    def __call__(self, paper: str, **options: Any) -> "Repetition":  # noqa: ANN401 - those of the function
        from mptcplab.reproduce.repeat import reproduce

        return reproduce(paper, **options)


sys.modules[__name__].__class__ = _Callable
