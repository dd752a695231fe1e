"""Two runs with captures, and why they part: `mptcplab compare --explain`."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.capture.explain import Explanation, explain
from mptcplab.capture.settings import Capture
from mptcplab.engines.runner import captures, run

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario


@dataclass(frozen=True)
class Side:
    """One of the two."""

    name: str
    """As the answer calls it."""
    scenario: "Scenario"
    engine: str = "sim"


def explained(first: Side, second: Side, *, seed: int | None = None) -> Explanation:
    """Run both with captures and compare what their hosts send.

    Raises ValueError for a run whose packets cannot be captured, and what `mptcplab.run` raises.
    """
    for side in (first, second):
        captures(side.engine, side.scenario)
    with tempfile.TemporaryDirectory(prefix="mptcplab-explain-") as place:
        directories = []
        for number, side in enumerate((first, second)):
            directories.append(Path(place, str(number)))
            directories[-1].mkdir()
            run(side.scenario, side.engine, seed=seed, capture=Capture(directories[-1]))
        return explain(directories[0], directories[1], (first.name, second.name))
