"""Why connections did what they did: the run is made once more up to a time, and what its ends decide is recorded."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from mptcplab.lab import documents
from mptcplab.lab.limits import Limits
from mptcplab.qlog import recorded
from mptcplab.scenario import ScenarioError
from mptcplab.scenario.errors import Problem

if TYPE_CHECKING:
    from mptcplab.qlog import Trace
    from mptcplab.scenario import Scenario

_DECISIONS: Final = 200
"""The most decisions of an end that the page gets, the latest ones."""


def look(
    scenario: "Scenario", at_s: float, connection: str | None, limits: Limits, progress: Callable[[float], None]
) -> dict[str, Any]:
    """What each end of a connection, or of all, knew and decided at `at_s`, in seconds, and decided before.

    `ends` has a table for each end that had sent data: `title`, the `lines` of `mptcplab trace --at`, and `decisions`
    with `time_s`, `group` and `text`. Raises ScenarioError when too many segments were sent by then to record them.
    """
    from mptcplab.qlog import text

    try:
        traces = recorded.decided(scenario, at_s, most=limits.traced, progress=progress)
    except recorded.TooManyError as error:
        found = f"{error.sent} segments sent by {at_s:g} s"
        expected = f"at most {limits.traced}; ask about an earlier time, or use mptcplab run --trace"
        raise ScenarioError([Problem(documents.NAME, "", found, expected)]) from None
    # Connections of one name have numbers behind it: which of its `count`, which of those opened one after another.
    wanted = ".*" if connection is None else rf"{re.escape(connection)}(-\d+){{0,2}}"
    ends = []
    for trace in traces:
        if re.fullmatch(wanted, trace.title.rpartition(", ")[0], re.DOTALL):
            lines = text.at(trace, at_s)
            ends += [{"title": trace.title, "lines": lines, "decisions": _before(trace, at_s)}] if lines else []
    return {"at_s": at_s, "ends": ends}


def _before(trace: "Trace", at_s: float) -> list[dict[str, Any]]:
    from mptcplab.qlog import choosing, words

    chosen = choosing.Decisions()
    shown = [event for event in choosing.within(trace, None, at_s) if chosen.shows(event)]
    return [
        {"time_s": event.time_s, "group": event.group, "text": words.say(trace, event)} for event in shown[-_DECISIONS:]
    ]
