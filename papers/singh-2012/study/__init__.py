"""Singh, "Multipath Probabilistic Early Response TCP" (Texas A&M University, 2012), repeated."""

from collections.abc import Callable, Mapping
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import pooling
from .left import left

_NOT_YET: Final = "The study does not simulate this item yet."
_AHEAD: Final = "The thesis announces this and shows nothing to compare with; the study does not examine it yet."

ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    "figure-1": pooling.figure_1,
    "figure-4": left(_NOT_YET),
    "figure-5": left(_NOT_YET),
    "figure-6": left(_NOT_YET),
    "figure-7": left(_NOT_YET),
    "table-1": left(_NOT_YET),
    "table-2": left(_NOT_YET),
    "figure-11": left(_NOT_YET),
    "figure-12": left(_NOT_YET),
    "figure-13": left(_NOT_YET),
    "figure-14": left(_NOT_YET),
    "figure-15": left(_NOT_YET),
    "table-3": left(_NOT_YET),
    "table-4": left(_NOT_YET),
    "table-5": left(_NOT_YET),
    "table-6": left(_NOT_YET),
    "table-7": left(_NOT_YET),
    "table-8": left(_NOT_YET),
    "figure-16": left(_NOT_YET),
    "table-9": left(_NOT_YET),
    "figure-17": left(_NOT_YET),
    "figure-18": left(_NOT_YET),
    "table-10": left(_NOT_YET),
    "figure-20": left(_NOT_YET),
    "figure-21": left(_NOT_YET),
    "figure-22": left(_NOT_YET),
    "figure-23": left(_NOT_YET),
    "chapter-5": left(_AHEAD),
    "chapter-7": left(_AHEAD),
    "chapter-8": left(_AHEAD),
}
