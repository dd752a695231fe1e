"""A sweep on a real Dask scheduler and workers, in processes of their own on loopback."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from mptcplab.sweeps import worker
from mptcplab.sweeps.file import Sweep
from mptcplab.sweeps.sweep import make_plan

DASK = Path(sys.executable).parent / "dask"
SECONDS = 120


class Program(Protocol):
    def command(self, *arguments: object) -> list[str]: ...
    def run(self, *arguments: object) -> "subprocess.CompletedProcess[str]": ...
    def dataset(self, directory: Path) -> dict[str, bytes]: ...
    def records(self, directory: Path) -> list[str]: ...


class Cluster:
    """A scheduler and its workers; each is ended by whoever started it."""

    def __init__(self, place: Path) -> None:
        self.file = place / "scheduler.json"
        self.processes = [self._start("scheduler", "--port", "0", "--no-dashboard")]
        until = time.monotonic() + SECONDS
        while not (
            self.file.exists() and self.file.read_text(encoding="utf-8").endswith("}")
        ):  # it is not written at once
            assert self.processes[0].poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        self.address: str = json.loads(self.file.read_text(encoding="utf-8"))["address"]

    def worker(self) -> "subprocess.Popen[bytes]":
        # Without a nanny, which would start a killed worker anew.
        started = self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard")
        self.processes.append(started)
        return started

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()

    def _start(self, kind: str, *arguments: str) -> "subprocess.Popen[bytes]":
        command = [str(DASK), kind, "--scheduler-file", str(self.file), "--host", "127.0.0.1", *arguments]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.close()


def test_a_worker_killed_half_way_changes_nothing(
    sweep_file: Path, tmp_path: Path, program: Program, cluster: Cluster
) -> None:
    text = sweep_file.read_text(encoding="utf-8").replace("points = 5", "points = 30")
    sweep_file.write_text(text, encoding="utf-8")
    victim, other = cluster.worker(), cluster.worker()
    out = tmp_path / "out"
    arguments = ["sweep", sweep_file, "--out", out, "--cluster", cluster.address]
    with subprocess.Popen(
        program.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as session:
        try:
            while len(program.records(out)) < 60:
                assert session.poll() is None, session.communicate()
                time.sleep(0.01)
            victim.kill()
            printed, said = session.communicate(timeout=SECONDS)
        finally:
            session.kill()
    assert session.returncode == 0, said
    assert "120 runs" in printed
    assert other.poll() is None
    assert len(program.records(out)) == 120
    assert program.run("sweep", sweep_file, "--out", tmp_path / "here", "--jobs", 2).returncode == 0
    assert program.dataset(out) == program.dataset(tmp_path / "here")


DEATHS = int(os.environ.get("MPTCPLAB_DEATHS", "4"))


def test_workers_that_die_at_any_time_change_nothing(
    sweep_file: Path, tmp_path: Path, program: Program, cluster: Cluster
) -> None:
    """They die at random times, all of them too, and others come; what Dask gives up is resumed. Nothing is left."""
    text = sweep_file.read_text(encoding="utf-8").replace("points = 5", "points = 30")
    sweep_file.write_text(text, encoding="utf-8")
    dice = random.Random(int(os.environ.get("SOAK_SEED", "1")))
    out = tmp_path / "out"
    arguments = ["sweep", sweep_file, "--out", out, "--cluster", cluster.address, "--resume"]
    workers = [cluster.worker()]
    died = sessions = 0
    status, said = 1, ""
    while status and sessions <= DEATHS:
        sessions += 1
        with subprocess.Popen(
            program.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as session:
            try:
                while session.poll() is None and died < DEATHS:
                    known = len(program.records(out)) if out.exists() else 0
                    until = time.monotonic() + SECONDS
                    while session.poll() is None and len(program.records(out)) < known + dice.randint(1, 30):
                        assert time.monotonic() < until
                        time.sleep(0.01)
                    for victim in workers if dice.random() < 0.5 else workers[:1]:
                        victim.send_signal(dice.choice((signal.SIGKILL, signal.SIGTERM)))
                        died += 1
                    workers = [each for each in workers if each.poll() is None][1:]
                    workers += [cluster.worker() for _ in range(dice.randint(1, 2))]
                _, said = session.communicate(timeout=SECONDS)
            finally:
                session.kill()
        status = session.returncode
        assert status in (0, 1), said
        assert "Traceback" not in said, said
        assert status == 0 or "--resume" in said, said
    assert status == 0, said
    sys.stdout.write(f"{died} workers died in {sessions} sessions\n")
    assert died >= DEATHS
    assert len(set(program.records(out))) == 120
    assert program.run("sweep", sweep_file, "--out", tmp_path / "here", "--jobs", 2).returncode == 0
    assert program.dataset(out) == program.dataset(tmp_path / "here")


def test_a_scheduler_that_dies_ends_the_sweep(
    sweep_file: Path, tmp_path: Path, program: Program, cluster: Cluster
) -> None:
    """With an error, and with what is finished kept."""
    text = sweep_file.read_text(encoding="utf-8").replace("points = 5", "points = 30")
    sweep_file.write_text(text, encoding="utf-8")
    cluster.worker()
    out = tmp_path / "out"
    arguments = ["sweep", sweep_file, "--out", out, "--cluster", cluster.address]
    with subprocess.Popen(
        program.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as session:
        try:
            while len(program.records(out)) < 20:
                assert session.poll() is None, session.communicate()
                time.sleep(0.01)
            cluster.processes[0].kill()
            _, said = session.communicate(timeout=SECONDS)
        finally:
            session.kill()
    assert session.returncode == 1, said
    assert "Traceback" not in said, said
    assert "--resume" in said
    assert program.run("sweep", sweep_file, "--out", out, "--jobs", 2, "--resume").returncode == 0
    assert program.run("sweep", sweep_file, "--out", tmp_path / "here", "--jobs", 2).returncode == 0
    assert program.dataset(out) == program.dataset(tmp_path / "here")


def test_where_no_scheduler_answers_that_is_said(
    sweep_file: Path, tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mptcplab.sweeps.cluster._CONNECT_S", 0.5)
    done = program.run("sweep", sweep_file, "--out", tmp_path / "out", "--cluster", "127.0.0.1:9")
    assert done.returncode == 3
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done.stderr
    assert "dask scheduler" in done.stderr
    assert not (tmp_path / "out").exists()


def test_another_version_is_refused_by_the_worker() -> None:
    from mptcplab.sweeps.cluster import VersionsDifferError, execute_batch

    with pytest.raises(VersionsDifferError, match=r"the sweep has 9\.9"):
        execute_batch(["{}"], "sim", "9.9")


def test_a_run_that_fails_is_an_answer_and_not_the_end(sweep_file: Path) -> None:
    run = make_plan(Sweep.load(sweep_file)).runs[0]
    assert json.loads(worker.execute(run.task)).keys() == {"notes", "connections", "subflows", "links", "took_s"}
    task = json.loads(run.task)
    task["description"]["links"] = []
    assert "error" in json.loads(worker.execute(json.dumps(task)))
