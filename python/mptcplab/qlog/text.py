"""Traces as aligned lines of text."""

from dataclasses import dataclass

from mptcplab.qlog import choosing, moment, words
from mptcplab.qlog.reading import CONNECTION, Trace


@dataclass(frozen=True)
class View:
    """What is shown."""

    from_s: float | None = None
    to_s: float | None = None
    subflow: str | None = None
    """Events of this subflow, and of the connection."""
    why: bool = False
    """With each choice, what stood against every subflow."""
    everything: bool = False
    """Routine too."""


def lines(trace: Trace, view: View) -> list[str]:
    """The heading of one end and a line for each event; empty where there is none."""
    decisions, chosen = choosing.Decisions(), []
    for event in choosing.within(trace, view.from_s, view.to_s):
        shown = decisions.shows(event)
        if (shown or view.everything) and _wanted(event.group, view):
            chosen.append(event)
    if not chosen:
        return []
    width = max(len(event.group) for event in chosen)
    told = [trace.title]
    for event in chosen:
        told.append(f"{event.time_s:>12.6f} s  {event.group:<{width}}  {words.say(trace, event)}")
        if view.why and event.name == "mptcp:scheduled":
            told += [f"{'':>16}{'':<{width}}  {words.candidate(trace, each)}" for each in event.data["candidates"]]
    return told


def _wanted(group: str, view: View) -> bool:
    return view.subflow is None or group in (view.subflow, CONNECTION)


def at(trace: Trace, at_s: float, path: str | None = None) -> list[str]:
    """What one end knew and decided at a time, about `path` if it is given; empty where it decided nothing by then."""
    if not any(event.name == "tcp:segment_sent" and event.time_s <= at_s for event in trace.events):
        return []
    return moment.explain(trace, at_s, path)
