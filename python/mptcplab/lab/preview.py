"""Long runs are seen as they are computed: their beginnings are run first, each four times as long as the one before.

The beginning of a run does not depend on what comes after, so a shorter run has the same samples. The beginnings take
a third of the whole run's time together.
"""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from mptcplab.scenario import ScenarioError, units

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
        shorter = shortened(scenario, part * scenario.duration_ns / 1e9)
        if shorter is None:
            return
        yield shorter
        part *= _EACH


def shortened(scenario: "Scenario", until_s: float) -> "Scenario | None":
    """The scenario up to a time; None where it would not be one."""
    document = scenario.document
    until_ns = max(1_000_000, int(until_s * 1e3) * 1_000_000)
    duration = units.write(units.TIME, until_ns)
    changes: dict[str, object] = {"measure.warmup": "0 s"}
    for name, connection in document.connections.items():
        if connection.start[1] >= until_ns:
            return None
        if connection.stop is not None and connection.stop > until_ns:
            changes[f'connection."{name}".stop'] = duration
    try:
        return scenario.with_(changes, duration=duration)
    except ScenarioError:
        return None
