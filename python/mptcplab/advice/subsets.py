"""Which sets of paths can matter, by what none of them can exceed: capacity, receive window, distance, bytes to carry.

The bounds are laws, not estimates: no control and no scheduler carries more than the rates of its links, holds more
than the receive window in flight, answers before the light does, or loads a page without its bytes. A set whose bound
is below what another set has shown in the same run is not simulated.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from mptcplab.advice.question import AUTO_WINDOW_BYTES, Question
from mptcplab.advice.traffic import MIX_RUNS_ON, PAGE_BYTES, VIDEO_BPS

_PAYLOAD: Final = 1460 / 1500


@dataclass(frozen=True, slots=True)
class Reach:
    """A path at its best within what is known of it."""

    name: str
    rate_bps: float
    """In the direction of the data."""
    back_bps: float
    rtt_s: float


def reaches(question: Question) -> dict[str, Reach] | None:
    """Of every path; None where links change during a run, so that no bound is known."""
    if question.base.get("event"):
        return None
    direction = question.direction
    other = "up" if direction == "down" else "down"
    links = question.links(0)
    specs = {spec.name: spec for spec in question.specs}
    found = {}
    for path in question.paths:
        sides = [links[place] for place in question.links_of(path)]
        if any(side[way]["trace"] is not None for side in sides for way in (direction, other)):
            return None
        if path in specs:
            spec = specs[path]
            down, up = spec.down_bps * spec.rate.high, spec.up_bps * spec.rate.high
            forth, back = (down, up) if direction == "down" else (up, down)
            found[path] = Reach(path, forth, back, spec.rtt_s.low)
            continue
        forth, back = (min(side[way]["rate_bps"] for side in sides) for way in (direction, other))
        rtt_s = sum(side[way]["delay_ns"] for side in sides for way in ("down", "up")) / 1e9
        found[path] = Reach(path, forth, back, rtt_s)
    return found


def window_of(question: Question) -> float:
    """Bytes that may be in flight: what Linux's buffer grows to where the question has no size."""
    sizes = [each["receive_buffer_bytes"] for each in question.told_connections()]
    return float(min(AUTO_WINDOW_BYTES if size is None else size for size in sizes))


def goodput_bound_bps(paths: Sequence[Reach], window_bytes: float) -> float:
    """Each path at its rate, the nearest first, while what is in flight fits into the window."""
    total, left = 0.0, window_bytes * 8
    for path in sorted(paths, key=lambda each: each.rtt_s):
        takes = min(path.rate_bps, left / max(path.rtt_s, 1e-9))
        total += takes
        left = max(0.0, left - takes * path.rtt_s)
    return total * _PAYLOAD


def bound(question: Question, members: Sequence[Reach], window_bytes: float) -> float | None:
    """What a score over these paths cannot exceed; None for traffic of which no bound is known."""
    bulk = math.log(goodput_bound_bps(members, window_bytes))
    nearest_s = max(1e-9, min(path.rtt_s for path in members))
    # A handshake and a request, each a round trip, or all its bytes.
    page_s = max(PAGE_BYTES * 8 / sum(path.rate_bps for path in members), 2 * nearest_s)
    # In a mix a page that the end overtakes counts what it has waited.
    asked_s = question.length * question.traffic.duration_s / MIX_RUNS_ON
    bounds: Mapping[str, float] = {
        "bulk": bulk,
        "video": min(bulk, math.log(VIDEO_BPS)),
        "web": -math.log(page_s),
        "calls": -math.log(nearest_s),
        "mix": (bulk - math.log(min(page_s, asked_s)) - math.log(nearest_s)) / 3,
    }
    kind = question.traffic.kind
    return bounds.get(_kind_of(question) if kind == "scenario" else kind)


def _kind_of(question: Question) -> str:
    """Of a file with one connection that sends all the time."""
    described = [each for each in question.told_connections() if each["name"] in question.targets]
    application: Mapping[str, Any] = described[0]["application"]
    return "bulk" if len(described) == 1 and described[0]["count"] == 1 and application["kind"] == "bulk" else "unknown"


def subsets(paths: Sequence[str]) -> list[tuple[str, ...]]:
    """Every set of two or more paths."""
    return [chosen for size in range(2, len(paths) + 1) for chosen in combinations(paths, size)]


def ordered(
    question: Question, known: Mapping[str, Reach] | None, window_bytes: float
) -> list[tuple[tuple[str, ...], float]]:
    """All sets with their bounds, those with the largest bound first, and of the same bound the smaller set."""
    found = []
    for members in subsets(question.paths):
        limit = None if known is None else bound(question, [known[path] for path in members], window_bytes)
        order = members if known is None else tuple(sorted(members, key=lambda path: (known[path].rtt_s, path)))
        found.append((order, math.inf if limit is None else limit))
    return sorted(found, key=lambda each: (-round(each[1], 9), len(each[0])))
