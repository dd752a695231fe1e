"""Carries planned runs out: those that the journal does not have, each once, into the journal."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mptcplab.errors import Error
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.planned import Planned
from mptcplab.sweeps.pool import Answer, Pool

_ERROR = b'{"error":'


class RunsFailedError(Error, RuntimeError):
    """Some runs failed; the others are in the journal."""


class Workers(Protocol):
    """Where runs are carried out."""

    def answers(self, runs: Iterable[Planned]) -> Iterable[Answer]:
        """Carry all runs out; answers in any order."""
        ...


@dataclass(frozen=True, slots=True)
class Tally:
    """How much there was to do, counting runs of one name once."""

    runs: int
    found: int
    """In the journal before."""
    simulated_s: float
    """Virtual time of all these runs."""


def tally(planned: Sequence[Planned], journal: Journal) -> Tally:
    """Count what there is to do."""
    distinct: set[bytes] = set()
    found, simulated_s = 0, 0.0
    for run in planned:
        name = bytes.fromhex(run.name)
        if name not in distinct:
            distinct.add(name)
            found += run.name in journal
            simulated_s += run.duration_s
    return Tally(len(distinct), found, simulated_s)


def carry_out(
    planned: Iterable[Planned],
    journal: Journal,
    *,
    jobs: int,
    workers: Workers | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Carry out what the journal does not have, on `jobs` processes of this machine or on `workers`.

    Runs of one name are carried out once. Runs are taken as workers become free: those of a generator are planned
    meanwhile. `progress` gets how many were carried out by this call. Whatever ends this early (Ctrl-C, a kill) leaves
    all finished runs in the journal.

    Raises RunsFailedError after all others are done, WorkerError, and what `planned` raises.
    """
    finished = 0
    failures: list[tuple[Planned, str]] = []

    taken: set[str] = set()
    """Not in the journal yet."""

    def missing() -> Iterator[Planned]:
        for run in planned:
            # In this order: a name that another thread discards is in the journal by then.
            if run.name not in taken and run.name not in journal:
                taken.add(run.name)
                yield run

    def take(answers: Iterable[Answer]) -> None:
        nonlocal finished
        for run, answer in answers:
            if answer.startswith(_ERROR):
                failures.append((run, json.loads(answer)["error"]))
            else:
                journal.append(run.name, answer)
                taken.discard(run.name)
                finished += 1
            if progress is not None:
                progress(finished)

    try:
        if workers is not None:
            take(workers.answers(missing()))
        else:
            with Pool(jobs) as pool:
                take(pool.answers(missing()))
    finally:
        journal.sync()
    if failures:
        first, why = failures[0]
        more = f" (and {len(failures) - 1} more runs failed)" if len(failures) > 1 else ""
        raise RunsFailedError(f"the run {first.name[:12]} with seed {first.seed} failed: {why}{more}")
