"""Worker processes: kept from one call to the next, and busy while further runs are planned."""

import subprocess
import threading
from collections.abc import Iterator

import pytest
from mptcplab.scenario import Scenario
from mptcplab.sweeps.planned import Planned, plan
from mptcplab.sweeps.pool import Pool

TEXT = """
duration = "100 ms"
link.wifi = { rate = "10 Mbit/s", delay = "5 ms", queue = "1 BDP" }
connection.download = { paths = ["wifi"], protocol = "tcp", application = "bulk" }
"""
RUNS = [plan(Scenario.from_toml(TEXT), seed) for seed in range(4)]


def test_a_process_serves_all_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    started = 0
    start = Pool._start

    def counted(pool: Pool) -> "subprocess.Popen[bytes]":
        nonlocal started
        started += 1
        return start(pool)

    monkeypatch.setattr(Pool, "_start", counted)
    with Pool(1) as pool:
        first = {run.name for run, _ in pool.answers(RUNS[:2])}
        second = {run.name for run, _ in pool.answers(RUNS[2:])}
    assert first | second == {run.name for run in RUNS}
    assert started == 1


def test_runs_are_planned_while_others_are_carried_out() -> None:
    answered = threading.Event()
    waited: list[bool] = []

    def planning() -> Iterator[Planned]:
        yield RUNS[0]
        waited.append(answered.wait(60))
        yield RUNS[1]

    with Pool(1) as pool:
        names = []
        for run, _ in pool.answers(planning()):
            names.append(run.name)
            answered.set()
    assert waited == [True]
    assert names == [RUNS[0].name, RUNS[1].name]


def test_what_goes_wrong_in_planning_is_raised_and_the_pool_goes_on() -> None:
    def planning() -> Iterator[Planned]:
        yield RUNS[0]
        raise KeyError("no such network")

    with Pool(2) as pool:
        with pytest.raises(KeyError, match="no such network"):
            list(pool.answers(planning()))
        assert len(list(pool.answers(RUNS))) == len(RUNS)
