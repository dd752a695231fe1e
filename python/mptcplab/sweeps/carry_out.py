"""Carries planned runs out: those that the journal does not have, each once, into the journal."""

import json
from collections.abc import Callable, Iterable, Sequence
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
    distinct = {run.name: run for run in planned}
    found = sum(name in journal for name in distinct)
    return Tally(len(distinct), found, sum(run.duration_s for run in distinct.values()))


def carry_out(
    planned: Sequence[Planned],
    journal: Journal,
    *,
    jobs: int,
    workers: Workers | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Carry out what the journal does not have, on `jobs` processes of this machine or on `workers`.

    `progress` gets how many of how many distinct runs are there. Whatever ends this early (Ctrl-C, a kill) leaves all
    finished runs in the journal.

    Raises RunsFailedError after all others are done, WorkerError.
    """
    distinct = {run.name: run for run in planned}
    missing = [run for name, run in distinct.items() if name not in journal]
    done = len(distinct) - len(missing)
    failures: list[tuple[Planned, str]] = []
    if progress is not None:
        progress(done, len(distinct))

    def take(answers: Iterable[Answer]) -> None:
        nonlocal done
        for run, answer in answers:
            if answer.startswith(_ERROR):
                failures.append((run, json.loads(answer)["error"]))
            else:
                journal.append(run.name, answer)
                done += 1
            if progress is not None:
                progress(done, len(distinct))

    try:
        if not missing:
            pass
        elif workers is not None:
            take(workers.answers(missing))
        else:
            with Pool(jobs) as pool:
                take(pool.answers(missing))
    finally:
        journal.sync()
    if failures:
        first, why = failures[0]
        more = f" (and {len(failures) - 1} more runs failed)" if len(failures) > 1 else ""
        raise RunsFailedError(f"the run {first.name[:12]} with seed {first.seed} failed: {why}{more}")
