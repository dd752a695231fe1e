"""How two sets of runs differ, seed by seed: the mean relative difference, with its interval over the seeds.

The runs of a seed are a pair: links lose the same packets, applications start at the same times. A pair's difference
has less noise than the two means have.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mptcplab.analysis.statistics import estimate
from mptcplab.results.result import Result

QUANTITIES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "connections": (("name",), ("goodput_bps", "completion_s")),
    "subflows": (("connection", "path"), ("goodput_bps", "retransmissions")),
}
"""Of each frame what names a row, and what is held against one another."""


@dataclass(frozen=True)
class Effect:
    """What one quantity of a row differs by."""

    what: str
    quantity: str
    reference: float
    value: float
    """Means over the seeds."""
    mean: float | None
    """Of the relative differences; None when a reference is 0, or neither is known."""
    half: float | None
    """Half of the interval's width; None with fewer than two seeds."""
    seeds: int
    same: int
    """Seeds in which the two agree to the last bit."""

    @property
    def differs(self) -> bool:
        """Whether 0 is outside of the interval."""
        return self.mean is not None and self.half is not None and abs(self.mean) > self.half

    def to_dict(self) -> dict[str, Any]:
        """For the JSON document."""
        interval = None if self.mean is None or self.half is None else [self.mean - self.half, self.mean + self.half]
        return {
            "what": self.what,
            "quantity": self.quantity,
            "reference": self.reference,
            "value": self.value,
            "difference": self.mean,
            "interval": interval,
            "seeds": self.seeds,
            "same": self.same,
            "differs": self.differs,
        }


def effects(reference: Result, other: Result) -> list[Effect]:
    """The effects of `other` against `reference`, which ran the same scenario with the same seeds."""
    return list(_effects(reference, other))


def _effects(reference: Result, other: Result) -> Iterator[Effect]:
    for frame, (keys, quantities) in QUANTITIES.items():
        before, after = _values(reference, frame, keys, quantities), _values(other, frame, keys, quantities)
        for (what, quantity), values in before.items():
            pairs = [
                (value, again)
                for repeat, value in values.items()
                if (again := after.get((what, quantity), {}).get(repeat)) is not None
            ]
            if pairs:
                yield effect(what, quantity, pairs)


def effect(what: str, quantity: str, pairs: Sequence[tuple[float, float]]) -> Effect:
    """The effect over pairs of a reference and a value."""
    number = len(pairs)
    same = sum(value == again for value, again in pairs)
    reference, value = (sum(side) / number for side in zip(*pairs, strict=True))
    apart = [again / value - 1 if value else 0.0 if again == value else math.nan for value, again in pairs]
    found = None if math.isnan(sum(apart)) else estimate(np.array(apart))
    mean, half = (None, None) if found is None else (found.mean, found.half)
    return Effect(what, quantity, reference, value, mean, half, number, same)


def _values(
    result: Result, frame: str, keys: Sequence[str], quantities: Sequence[str]
) -> dict[tuple[str, str], dict[int, float]]:
    """Of each row and quantity the value by repeat, the mean over connections of one name."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for row in getattr(result, frame).to_dicts():
        what = " ".join(str(row[key]) for key in keys)
        for quantity in quantities:
            if row[quantity] is not None:
                found.setdefault((what, quantity), {}).setdefault(row["repeat"], []).append(float(row[quantity]))
    return {
        key: {repeat: sum(values) / len(values) for repeat, values in by_repeat.items()}
        for key, by_repeat in found.items()
    }
