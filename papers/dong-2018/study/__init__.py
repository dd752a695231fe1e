"""Dong et al., "Reducing transport latency for short flows with multipath TCP" (JNCA 2018), repeated."""

from collections.abc import Callable, Mapping
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import model_items
from .left import left_out

_LATER: Final = left_out("The schedulers that it compares are not built yet.")
_COMPUTED: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    "figure-7": model_items.figure_7,
    "figure-9": model_items.figure_9,
    "figure-10": model_items.figure_10,
    "figure-11": model_items.figure_11,
}
_FIGURES: Final = (2, 3, 4, 5, 8, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 25, 27, 28, 29, 30, 31, 32, 33, 34)
_LEFT: Final = {
    **{f"figure-{number}": _LATER for number in _FIGURES},
    **{f"table-{number}": _LATER for number in (2, 3, 4)},
}

ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {**_LEFT, **_COMPUTED}
