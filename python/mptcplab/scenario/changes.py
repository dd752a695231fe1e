"""Changes of links, for the core: one that takes a time becomes many small ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from mptcplab.scenario.links import WAYS, Loss, Way, percentage_of
from mptcplab.scenario.model import Document, Event

STEP_NS: Final = 100_000_000
"""The distance of the steps of a change that takes a time, at most."""
LEAST_STEPS: Final = 10
KEYS: Final = ("rate", "delay", "loss")
"""What can change over a time."""


@dataclass(frozen=True, slots=True)
class Step:
    """A change at a moment, of one direction or both; a percentage of loss is a number from 0 to 1."""

    at_ns: int
    event: Event
    ways: tuple[Way, ...]
    values: dict[str, Any]
    """Of `KEYS`."""


def steps(document: Document) -> Iterator[Step]:
    """All changes, in the order of the events in the file."""
    found: dict[int, list[Step]] = {}
    now: dict[tuple[str, Way, str], Any] = {}
    for name, link in document.links.items():
        for way in WAYS:
            direction = link.direction(way)
            probability = _or_percentage(direction.loss)
            rate = None if direction.trace is not None else direction.rate_bps
            begin = {"rate": rate, "delay": direction.delay_ns, "loss": probability}
            now |= {(name, way, key): value for key, value in begin.items()}
    for number, event in sorted(enumerate(document.events), key=lambda item: item[1].at):
        ways: tuple[Way, ...] = tuple(way for way in WAYS if event.direction in (None, way))
        targets = {key: target for key in KEYS if (target := _target(event, key)) is not None}
        if event.over is None:
            found[number] = [Step(event.at, event, ways, targets)]
        else:
            begins = {way: {key: now[event.link, way, key] for key in targets} for way in ways}
            ramps = (_ramp(event, way, begins[way], targets, document.duration_ns) for way in ways)
            found[number] = [step for ramp in ramps for step in ramp]
        now |= {(event.link, way, key): target for way in ways for key, target in targets.items()}
    for number in range(len(document.events)):
        yield from found[number]


def overlaps(document_events: tuple[Event, ...], index: int) -> str | None:
    """What another event changes while event `index` takes its time."""
    event = document_events[index]
    assert event.over is not None, "one that takes a time"
    for number, other in enumerate(document_events):
        same_way = None in (event.direction, other.direction) or event.direction == other.direction
        begins = event.at <= other.at < event.at + event.over
        if number == index or other.link != event.link or not same_way or not begins:
            continue
        for key in KEYS:
            if getattr(event.set, key) is not None and getattr(other.set, key) is not None:
                return key
    return None


def _target(event: Event, key: str) -> Any:  # noqa: ANN401
    value = getattr(event.set, key)
    return _or_percentage(value) if isinstance(value, Loss) else value


def _or_percentage(loss: Loss) -> Loss | Fraction:
    probability = percentage_of(loss)
    return loss if probability is None else probability


def _ramp(event: Event, way: Way, begin: dict[str, Any], end: dict[str, Any], duration_ns: int) -> Iterator[Step]:
    """Equal steps in a straight line; what there was at the beginning is known and a number, says `checks.ramps`."""
    assert event.over is not None, "one that takes a time"
    count = max(LEAST_STEPS, -(-event.over // STEP_NS))
    for number in range(1, count + 1):
        at_ns = event.at + event.over * number // count
        part = Fraction(number, count)
        values = {key: begin[key] + (end[key] - begin[key]) * part for key in end}
        whole = {key: value if key == "loss" else round(value) for key, value in values.items()}
        if at_ns < duration_ns:
            yield Step(at_ns, event, (way,), whole)
