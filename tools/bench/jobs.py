"""Two jobs beside one, in turn: how many times as fast the same runs are done, by the clock on the wall.

python -m tools.bench.jobs run|sweep
"""

import hashlib
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mptcplab
from mptcplab.sweeps.carry_out import carry_out
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.planned import plan

from tools.bench.transfers import SCENARIO

ROUNDS = 3
"""Of one and two jobs; the median of the ratios is taken."""
TRANSFERS = 4000
"""Of a round of `run`: each of 2 MB, as in W6."""
DOWNLOADS = 200
"""Of a round of `sweep`: each of 30 s."""


def transfers(jobs: int) -> str:
    """Many short runs on threads, as `mptcplab run --repeat --jobs`."""
    result = mptcplab.run(mptcplab.Scenario.from_toml(SCENARIO), repeat=TRANSFERS, jobs=jobs)
    return _digest(result.connections["completion_s"].to_list())


def downloads(jobs: int) -> str:
    """Longer runs in processes, as `mptcplab sweep --jobs`; each into the journal."""
    scenario = mptcplab.Scenario.from_toml(
        SCENARIO, overrides=["duration=30 s", "connection.download.application=bulk", "link.wifi.loss=0.1 %"]
    )
    planned = [plan(scenario, seed) for seed in range(DOWNLOADS)]
    with tempfile.TemporaryDirectory() as directory, Journal(Path(directory)) as journal:
        carry_out(planned, journal, jobs=jobs)
        answers = [json.loads(journal.read(run.name)) for run in planned]
    return _digest([answer["connections"] for answer in answers])


def _digest(values: list[object]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


KINDS = {"run": transfers, "sweep": downloads}


def measure(work: Callable[[int], str]) -> tuple[list[float], str]:
    """One over two jobs of each round, and the digest of the results, which are the same for both."""
    ratios: list[float] = []
    digests = {work(2)}
    for _ in range(ROUNDS):
        took_s = []
        for jobs in (1, 2):
            began_s = time.perf_counter()
            digests.add(work(jobs))
            took_s.append(time.perf_counter() - began_s)
        ratios.append(took_s[0] / took_s[1])
    if len(digests) > 1:
        raise RuntimeError("two jobs give other results than one")
    return ratios, digests.pop()


def main(kind: str) -> None:
    """Measures one kind and prints it."""
    ratios, digest = measure(KINDS[kind])
    answer = {
        "two_jobs": statistics.median(ratios),
        "ratios": ratios,
        "cores": len(os.sched_getaffinity(0)),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "digest": digest,
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
