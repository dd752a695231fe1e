"""What the ends of a simulated scenario decide up to a time: a run is made once more, with a record of its reasons."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mptcplab import files
from mptcplab.engines import runner
from mptcplab.errors import Error
from mptcplab.qlog.reading import find, read
from mptcplab.scenario.beginning import beginning

if TYPE_CHECKING:
    from mptcplab.qlog.reading import Trace
    from mptcplab.scenario import Scenario

SEGMENTS: Final = 60_000
"""The most segments of a run that is recorded; each takes about 1 kB."""
_BEYOND_S: Final = 0.001
"""Beginnings end at whole milliseconds, and not before the time that is asked about."""


class TooManyError(Error):
    """More was sent by then than can be recorded."""

    def __init__(self, sent: int, most: int) -> None:
        super().__init__(f"{sent} segments were sent by then; at most {most} are recorded")
        self.sent = sent


def decided(
    scenario: "Scenario",
    at_s: float,
    *,
    seed: int | None = None,
    most: int = SEGMENTS,
    progress: Callable[[float], None] = lambda _: None,
) -> "list[Trace]":
    """The traces of all ends of the first `at_s` seconds and a little more, simulated.

    Raises TooManyError when more than `most` segments were sent by then, and what `mptcplab.run` raises.
    """
    shorter = beginning(scenario, min(at_s + _BEYOND_S, scenario.duration_ns / 1e9)) or scenario
    counted = runner.run(shorter, seed=seed, progress=lambda part: progress(part / 4))
    sent = sum(row["segments_sent"] for row in counted.rows("subflows"))
    if sent > most:
        raise TooManyError(sent, most)
    with files.scratch("mptcplab-why-") as folder:
        runner.run(shorter, seed=seed, trace=Path(folder), progress=lambda part: progress(0.25 + part / 2))
        return [read(file) for file in find(Path(folder))]
