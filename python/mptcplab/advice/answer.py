"""The answer: the settings that are recommended, the best single path, and everybody who was dropped."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.advice.candidates import Candidate
from mptcplab.advice.costs import Cost
from mptcplab.advice.effort import Effort
from mptcplab.advice.question import Question
from mptcplab.advice.race import Difference
from mptcplab.advice.simulation import RunResult
from mptcplab.scenario import Scenario
from mptcplab.scenario.errors import dotted

BELOW = math.log(0.97)
"""A run is below the best single path when it gives more than 3 % less."""


@dataclass(frozen=True)
class Value:
    """A measured number: its mean over the runs and how it varies between them."""

    mean: float
    """The geometric mean."""
    low: float
    """The least of the runs."""
    high: float
    """The largest."""
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"value": self.mean, "unit": self.unit, "range": [self.low, self.high]}


@dataclass(frozen=True)
class Recommendation:
    """A setting, and what it gives."""

    candidate: Candidate
    settings: Mapping[str, Any]
    """For `mptcplab run --set`."""
    values: Mapping[str, Value]
    """By connection."""
    gain: Difference
    """To TCP on the better path: mean and bounds of the logarithm of the ratio."""
    below_best_path: float
    """In which part of the runs it is more than 3 % below the best that one path gave in the same run."""
    shares: Mapping[str, float]
    """Of the bytes sent, by path."""
    queueing_s: Mapping[str, float | None]
    waiting_s: float
    neighbours: float | None
    """Goodput of the other connections relative to when this traffic uses the best single path; None without any."""
    reasons: tuple[str, ...]
    left_out: tuple[str, ...]
    """Paths that it does not use."""
    commands: Mapping[str, Sequence[str]]
    """By what sets it: `ip`, `networkmanager`, `networkd`, `uci`; empty for what no stock kernel has."""

    @property
    def label(self) -> str:
        """In words, short."""
        return self.candidate.label

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        first = next(iter(self.values.values()))
        one = len(self.values) == 1
        ratio = math.exp(self.gain.mean)
        return {
            "label": self.label,
            "settings": dict(self.settings),
            "expected": {"value": first.mean if one else ratio, "unit": first.unit if one else "of the best path"},
            "range": [first.low, first.high] if one else [_ratio(self.gain.low), _ratio(self.gain.high)],
            "below_best_path": self.below_best_path,
            "reasons": list(self.reasons),
            "gain": ratio - 1,
            "gain_interval": [_less_one(self.gain.low), _less_one(self.gain.high)],
            "runs": self.gain.pairs,
            "connections": {name: value.to_dict() for name, value in self.values.items()},
            "paths": list(self.candidate.paths),
            "by_path": {
                name: {"share": share, "queueing_s": self.queueing_s[name]} for name, share in self.shares.items()
            },
            "out_of_order_delay_s": self.waiting_s,
            "neighbours": self.neighbours,
            "on": "stock kernel" if self.candidate.stock else "free choice",
            "backup": list(self.candidate.backup),
            "left_out": list(self.left_out),
            "commands": {name: list(lines) for name, lines in self.commands.items()},
        }


@dataclass(frozen=True, repr=False)
class Advice:
    """What came of the question."""

    question: Question
    recommended: tuple[Recommendation, ...]
    """The answer first: for a stock kernel unless it was asked for any. A free choice that is better comes after it."""
    best_single_path: Recommendation
    dropped: tuple[tuple[Candidate, str], ...]
    """Everybody else with the reason."""
    results: Mapping[Candidate, Mapping[int, RunResult]]
    work_hops: int
    costs: tuple[Cost, ...]
    """What can be had for so much over paths that cost money, the cheapest first; empty where none does."""
    effort: Effort

    @property
    def best(self) -> Recommendation:
        """The first of the recommended."""
        return self.recommended[0]

    def __str__(self) -> str:
        """The answer in at most 30 lines."""
        from mptcplab.advice.told import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For a notebook."""
        from mptcplab.advice.told import html

        return html(self)

    def scenario(self) -> Scenario:
        """The network as it was said, with the best settings."""
        return self.question.scenario(self.best.candidate)

    def saved_scenario(self) -> Scenario:
        """The same for a file in any directory: its traces have absolute names."""
        scenario = self.scenario()
        document = scenario.document
        if not document.traces:
            return scenario
        changes: dict[str, Any] = {}
        for name, link in document.links.items():
            for way in ("down", "up"):
                named = link.direction(way).trace
                if named is not None:
                    key = dotted(("link", name, *link.origin(way, "trace")))
                    changes[key] = {"file": str(document.traces[named.file].place.resolve()), "sha256": named.sha256}
        return scenario.with_(changes)

    def to_dict(self, everything: bool = True) -> dict[str, Any]:
        """For JSON. With `everything` also who was dropped and why."""
        question = self.question
        document: dict[str, Any] = {
            "traffic": question.traffic.kind,
            "measured": question.traffic.summary(),
            "for": question.purpose,
            "seed": question.seed,
            "recommended": [each.to_dict() for each in self.recommended],
            "best_single_path": self.best_single_path.to_dict(),
            "packet_hops": self.work_hops,
            "scale": self.effort.scale,
            "simulated_part": self.effort.length,
            "costs": [each.to_dict() for each in self.costs],
        }
        if everything:
            document["dropped"] = [{"label": each.label, "reason": reason} for each, reason in self.dropped]
        return document

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)


def values_of(names: Sequence[str], results: Sequence[RunResult]) -> dict[str, Value]:
    """By connection, of all runs of a candidate."""
    found = {}
    for place, name in enumerate(names):
        numbers = [each.figures[place].value for each in results]
        mean = math.exp(math.fsum(map(math.log, numbers)) / len(numbers))
        found[name] = Value(mean, min(numbers), max(numbers), results[0].figures[place].unit)
    return found


def _ratio(logarithm: float) -> float | None:
    return math.exp(logarithm) if math.isfinite(logarithm) else None


def _less_one(logarithm: float) -> float | None:
    return math.exp(logarithm) - 1 if math.isfinite(logarithm) else None
