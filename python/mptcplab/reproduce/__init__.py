"""A paper as a living study: what it printed, what we find, and whether it holds.

A paper's folder `papers/NAME/` has a README, `published.toml` (see `published`) and the package `study`, whose `ITEMS`
maps the id of an item to a function from a `Context` to an `Outcome`.
"""

from mptcplab.reproduce.context import Context
from mptcplab.reproduce.outcome import Claim, Outcome, Verdict, compare, problems
from mptcplab.reproduce.papers import Paper, PaperError, load_paper, paper_names
from mptcplab.reproduce.published import Item, Published, PublishedError, Value

__all__ = [
    "Claim",
    "Context",
    "Item",
    "Outcome",
    "Paper",
    "PaperError",
    "Published",
    "PublishedError",
    "Value",
    "Verdict",
    "compare",
    "load_paper",
    "paper_names",
    "problems",
]
