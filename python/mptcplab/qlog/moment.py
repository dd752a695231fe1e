"""Answers "why did it use this path at that time?": what the subflows were like, and the last choice."""

from dataclasses import dataclass
from typing import Any

from mptcplab.qlog import words
from mptcplab.qlog.choosing import Decisions
from mptcplab.qlog.reading import CONNECTION, Event, Trace

_LAST = 5


@dataclass
class _State:
    state: str = ""
    cwnd_segments: float = 0.0
    srtt_ns: int = 0
    recovery: str = ""
    path: str = ""
    last_sent_s: float | None = None


def explain(trace: Trace, at_s: float, path: str | None = None) -> list[str]:
    """Lines that tell what one end knew and decided at `at_s`, in seconds; empty if it had not begun by then.

    Of several choices at one time the last is told, or the first of `path`, the name of a subflow.
    """
    states: dict[str, _State] = {}
    choice: Event | None = None
    decisions, shown = Decisions(), []
    for event in trace.events:
        if event.time_s > at_s:
            break
        if event.name == "mptcp:scheduled" and event.data["chosen"]:
            if choice is None or choice.time_s < event.time_s or not _takes(trace, choice, path):
                choice = event
        elif event.name != "mptcp:scheduled":
            _follow(states, event)
        if decisions.shows(event) and event.name != "mptcp:scheduled":
            shown.append(event)
    if not states:
        return []
    width = max(map(len, states))
    lines = [f"{trace.title} at {at_s:g} s"]
    for name, state in states.items():
        parts = [state.state or "unknown", f"window {state.cwnd_segments:.1f} segments"]
        parts += [f"RTT {state.srtt_ns / 1e6:.1f} ms"] if state.srtt_ns else []
        parts += [part for part in (state.recovery, state.path) if part]
        parts += [] if state.last_sent_s is None else [f"last sent at {state.last_sent_s:.6f} s"]
        lines.append(f"  {name:<{width}}  {', '.join(parts)}")
    if choice is not None:
        lines.append(f"  {choice.time_s:.6f} s: {words.choice(trace, choice.data)}")
        lines += [f"    {words.candidate(trace, each)}" for each in choice.data["candidates"]]
    if shown:
        lines.append("  before:")
        lines += [f"    {each.time_s:.6f} s  {each.group}: {words.say(trace, each)}" for each in shown[-_LAST:]]
    return lines


def _takes(trace: Trace, choice: Event, path: str | None) -> bool:
    return path in [words.name(trace, each) for each in choice.data["chosen"]]


def _follow(states: dict[str, _State], event: Event) -> None:
    if event.group == CONNECTION:
        return
    state, data = states.setdefault(event.group, _State()), event.data
    match event.name:
        case "tcp:state_changed":
            state.state = str(data["state"])
        case "tcp:window_changed":
            state.cwnd_segments, state.srtt_ns = float(data["cwnd_segments"]), int(data["srtt_ns"])
        case "tcp:segment_sent":
            state.last_sent_s = event.time_s
        case "tcp:recovery_entered":
            state.recovery = f"repairs losses after a {data['after']}"
        case "tcp:recovery_left":
            state.recovery = ""
        case "mptcp:path_state":
            state.path = _path(data)
        case _:
            pass


def _path(data: Any) -> str:  # noqa: ANN401 - from JSON
    notes = ["does not answer"] if data["suspected"] else []
    return ", ".join([*notes, *(["backup"] if data["backup"] else [])])
