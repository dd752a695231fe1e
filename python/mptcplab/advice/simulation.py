"""One run of one candidate: the simulation, and what is kept of it."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from mptcplab import _core
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.question import Question
from mptcplab.advice.traffic import Figure, figure

_WAITED: Final = ("waited_first_s", "waited_retransmission_s", "waited_timeout_s", "waited_reinjection_s")
_HEADERS_BYTES: Final = 40
_NOW_AND_THEN: Final = ("ping", "rate")
OVERHEAD_HOPS: Final = 2500
"""What a run costs beside its packets, in packet hops: it is described, read and started."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run."""

    score: float
    """Mean of the logarithms of the merits: see mptcplab.advice.traffic."""
    figures: tuple[Figure, ...]
    """Of each connection that is advised on."""
    carried_bytes: tuple[float, ...]
    """By path: what these connections sent, headers and retransmissions too."""
    queueing_s: tuple[float | None, ...]
    """By path: mean of the RTT samples less the path's own round trip; None where nothing was sent.

    Without connections that send now and then: an acknowledgment there waits for the next message, not in a queue."""
    waiting_s: float
    """Mean time that a byte waits for those before it."""
    waited_for_s: tuple[tuple[float, ...], ...]
    """By path, what of it was for data that the path brought as new, retransmitted, after a timeout, reinjected."""
    timeouts: int
    retransmitted: float
    """Of the segments sent, those sent again on their subflow."""
    reinjected: float
    """Of the segments sent, those with data that another subflow had carried before."""
    neighbours_bps: float
    """Goodput of all other connections together."""
    work_hops: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run to carry out."""

    candidate: Candidate
    pair: int
    part: float = 1.0


class Simulator:
    """Carries out runs, some at a time; what comes out does not depend on how many."""

    def __init__(self, question: Question, jobs: int) -> None:
        self.question = question
        self.work_hops = 0
        self._jobs = jobs
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(max_workers=self._jobs)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def run(self, runs: Sequence[Run]) -> Iterator[RunResult]:
        """All of them, in their order; who waits for one lets the next ones run."""
        for result in self._pool.map(self._one, runs) if self._pool is not None else map(self._one, runs):
            self.work_hops += result.work_hops + OVERHEAD_HOPS
            yield result

    def _one(self, run: Run) -> RunResult:
        text = self.question.description(run.candidate, run.pair, run.part)
        result = _read(self.question, json.loads(text), json.loads(_core.simulate(text)["summary"]))
        return _unscaled(result, self.question.scale) if self.question.scale > 1 else result


def _read(question: Question, description: dict[str, Any], summary: dict[str, Any]) -> RunResult:
    duration_s = description["duration_ns"] / 1e9
    names = [each["name"] for each in description["connections"]]
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for row in summary["connections"]:
        rows[names[row["kind"]]].append(row)
    targets = [each for each in description["connections"] if each["name"] in question.targets]
    figures = tuple(figure(each, rows[each["name"]], duration_s) for each in targets)
    score = math.fsum(math.log(each.merit) for each in figures) / len(figures)
    own = [row for name in question.targets for row in rows[name]]
    subflows = [subflow for row in own for subflow in row["subflows"]]
    sent = max(1, sum(subflow["segments_sent"] for subflow in subflows))
    return RunResult(
        score,
        figures,
        tuple(_carried_bytes(name, description, own) for name in question.paths),
        tuple(_queueing_s(question, name, description, own) for name in question.paths),
        _mean(row["out_of_order_delay_mean_s"] for row in own),
        tuple(_waited_for_s(name, description, own) for name in question.paths),
        sum(subflow["timeouts"] or 0 for subflow in subflows),
        sum(subflow["retransmissions"] or 0 for subflow in subflows) / sent,
        sum(subflow["reinjections"] or 0 for subflow in subflows) / sent,
        math.fsum(row["goodput_bps"] or 0.0 for name in names if name not in question.targets for row in rows[name]),
        summary["work"]["packet_hops"],
    )


def _unscaled(result: RunResult, by: int) -> RunResult:
    """The same at the rates of the network as it is; times stay."""
    figures = tuple(replace(each, value=each.value * by) if each.unit == "bit/s" else each for each in result.figures)
    return replace(
        result,
        score=math.fsum(math.log(each.merit) for each in figures) / len(figures),
        figures=figures,
        carried_bytes=tuple(each * by for each in result.carried_bytes),
        neighbours_bps=result.neighbours_bps * by,
    )


def _carried_bytes(path: str, description: dict[str, Any], own: Iterable[dict[str, Any]]) -> float:
    """What these connections sent on a path: their data segments, each as a full packet."""
    return math.fsum(
        subflow["segments_sent"] * (description["connections"][row["kind"]]["mss_bytes"] + _HEADERS_BYTES)
        for row in own
        for subflow in row["subflows"]
        if description["paths"][subflow["path"]]["name"] == path
    )


def _waited_for_s(path: str, description: dict[str, Any], own: Sequence[dict[str, Any]]) -> tuple[float, ...]:
    """The mean over the connections."""
    rows = [
        subflow for row in own for subflow in row["subflows"] if description["paths"][subflow["path"]]["name"] == path
    ]
    return tuple(math.fsum(row[column] or 0.0 for row in rows) / max(1, len(own)) for column in _WAITED)


def _queueing_s(
    question: Question, path: str, description: dict[str, Any], own: Iterable[dict[str, Any]]
) -> float | None:
    """Mean over subflows on the path, weighted by what they sent."""
    places = [place for place, each in enumerate(description["paths"]) if each["name"] == path]
    found = [
        (subflow["rtt_mean_s"], subflow["segments_sent"])
        for row in own
        if description["connections"][row["kind"]]["application"]["kind"] not in _NOW_AND_THEN
        for subflow in row["subflows"]
        if subflow["path"] in places and subflow["rtt_mean_s"] and subflow["segments_sent"]
    ]
    if not found:
        return None
    delays = [
        description["links"][place][side]["delay_ns"] for place in question.links_of(path) for side in ("down", "up")
    ]
    mean = math.fsum(rtt * weight for rtt, weight in found) / math.fsum(weight for _, weight in found)
    return float(max(0.0, mean - sum(delays) / 1e9))


def _mean(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else 0.0
