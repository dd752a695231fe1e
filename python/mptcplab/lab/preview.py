"""Long runs are seen as they are computed: their beginnings are run first, each four times as long as the one before.

The beginnings take a third of the whole run's time together.
"""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from mptcplab.scenario.beginning import beginning

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

_LONG_S: Final = 2.0
"""What takes longer is shown from its beginning on."""
_FIRST_S: Final = 0.7
"""About how long the first beginning takes."""
_EACH: Final = 4


class LongError(Exception):
    """The run that was begun will take long; `part` of it can be computed in a moment."""

    def __init__(self, part: float) -> None:
        super().__init__(part)
        self.part = part


def watched(tell: Callable[[float], None]) -> Callable[[float], None]:
    """As `tell`; raises LongError as soon as it is seen that the run will take long."""
    began_s = time.monotonic()

    def look(part: float) -> None:
        tell(part)
        whole_s = (time.monotonic() - began_s) / max(part, 1e-9)
        if whole_s > _LONG_S and part < 0.5:
            raise LongError(_FIRST_S / whole_s)

    return look


def beginnings(scenario: "Scenario", part: float) -> Iterator["Scenario"]:
    """Shorter runs of the scenario, the first about so long a part of it."""
    while part < 0.5:
        shorter = beginning(scenario, part * scenario.duration_ns / 1e9)
        if shorter is None:
            return
        yield shorter
        part *= _EACH
