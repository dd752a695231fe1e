"""Which events are shown, and in which order of importance."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mptcplab.qlog.reading import Event, Trace

_ROUTINE: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "mptcp:mapping": lambda _: True,
    "mptcp:data_ack": lambda _: True,
    "mptcp:paused": lambda data: data["why"] == "blocked",
    "recovery:metrics_updated": lambda _: True,
    "tcp:segment_sent": lambda data: data["why"] not in ("timeout", "probe"),
    "tcp:window_changed": lambda data: data["why"] in ("acknowledgment", "recovery"),
    "tcp:timer_updated": lambda data: data["change"] != "expired" or data["timer"] in ("delayed_ack", "reordering"),
}
"""What happens with every segment, or follows from what is shown."""


def within(trace: Trace, from_s: float | None, to_s: float | None) -> Iterator[Event]:
    """The events from `from_s` to `to_s`, both included."""
    for event in trace.events:
        if (from_s is None or event.time_s >= from_s) and (to_s is None or event.time_s <= to_s):
            yield event


class Decisions:
    """Leaves out what is routine.

    Of choices that are alike the first is shown, and the first after each other decision; of reinjections and losses in
    a row that are alike, the first.
    """

    def __init__(self) -> None:
        self._choices: set[Any] = set()
        self._run: Any = None

    def shows(self, event: Event) -> bool:
        """Whether the next event is to be shown; to be asked of each in order."""
        data = event.data
        if event.name == "mptcp:scheduled":
            if data["decision"] == "blocked":
                return False
            verdicts = tuple((each["subflow"], each["verdict"]) for each in data["candidates"])
            choice = (data["decision"], data["carried_by"] is None, tuple(data["chosen"]), data["reason"], verdicts)
            known = choice in self._choices
            self._choices.add(choice)
            return not known
        if event.name in ("mptcp:reinjected", "tcp:segment_lost"):
            alike = (event.name, event.group, data.get("why"), data.get("rule"))
            changed, self._run = bool(alike != self._run), alike
            return changed
        routine = _ROUTINE.get(event.name)
        if routine is not None and routine(data):
            return False
        self._choices.clear()
        return True
