"""Two runs with captures, and why they part: `mptcplab compare --explain`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab import files
from mptcplab.capture.explain import Explanation, Reason, explain
from mptcplab.capture.settings import Capture
from mptcplab.engines.runner import captures, run
from mptcplab.qlog import recorded

if TYPE_CHECKING:
    from mptcplab.capture.divergence import Sent
    from mptcplab.qlog import Trace
    from mptcplab.scenario import Scenario


@dataclass(frozen=True)
class Side:
    """One of the two."""

    name: str
    """As the answer calls it."""
    scenario: "Scenario"
    engine: str = "sim"


def explained(first: Side, second: Side, *, seed: int | None = None) -> Explanation:
    """Run both with captures and compare what their hosts send; a simulated one also says why it acted so.

    Raises ValueError for a run whose packets cannot be captured, and what `mptcplab.run` raises.
    """
    for side in (first, second):
        captures(side.engine, side.scenario)
    with files.scratch("mptcplab-explain-") as place:
        directories = []
        for number, side in enumerate((first, second)):
            directories.append(Path(place, str(number)))
            directories[-1].mkdir()
            run(side.scenario, side.engine, seed=seed, capture=Capture(directories[-1]))
        found = explain(directories[0], directories[1], (first.name, second.name))
    if found.first is None:
        return found
    acted = (found.first.divergence.first, found.first.divergence.second)
    reasons = [_reason(side, sent, found.first.time_s, seed) for side, sent in zip((first, second), acted, strict=True)]
    return replace(found, reasons=tuple(each for each in reasons if each is not None))


def _reason(side: Side, sent: "Sent | None", parted_s: float, seed: int | None) -> Reason | None:
    """What the end that acted knew and decided then; of several connections the one that decided last."""
    from mptcplab.qlog import text

    if side.engine != "sim":
        return None
    at_s = parted_s if sent is None else sent.time_ns / 1e9
    try:
        traces = recorded.decided(side.scenario, at_s, seed=seed)
    except recorded.TooManyError as error:
        return Reason(side.name, (f"not recorded: {error}",))
    acting = [trace for trace in traces if sent is None or trace.title.endswith(", server") == ("server" in sent.host)]
    end = max(acting, key=lambda trace: _last_s(trace, at_s), default=traces[0])
    paths = [name for name in end.names.values() if sent is not None and sent.place.endswith(f"({name})")]
    lines = text.at(end, at_s, next(iter(paths), None))
    return Reason(side.name, tuple(lines)) if lines else None


def _last_s(trace: "Trace", at_s: float) -> float:
    return max((event.time_s for event in trace.events if event.time_s <= at_s), default=-1.0)
