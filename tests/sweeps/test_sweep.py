"""`mptcplab sweep`: the dataset, what is not run again, and any interruption."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import pytest
from mptcplab import Scenario
from mptcplab import run as run_scenario
from mptcplab.sweeps import carry_out as carrying

KILLS = int(os.environ.get("MPTCPLAB_SWEEP_KILLS", "2"))
"""`make soak-sweep` kills more often."""
RUNS = 240


class Program(Protocol):
    def command(self, *arguments: object) -> list[str]: ...
    def run(self, *arguments: object) -> "subprocess.CompletedProcess[str]": ...
    def dataset(self, directory: Path) -> dict[str, bytes]: ...
    def records(self, directory: Path) -> list[str]: ...


def test_the_dataset_of_a_sweep(sweep_file: Path, tmp_path: Path, program: Program) -> None:
    out = tmp_path / "out"
    done = program.run("sweep", sweep_file, "--out", out, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert "5 points, 2 variants, 2 seeds: 20 runs\n" in done.stdout
    connections = pl.read_parquet(out / "connections" / "*.parquet")
    labels = ["point", "link.one.rate", "link.two.delay", "variant", "connection.m.congestion", "repeat", "seed", "run"]
    assert connections.columns[: len(labels)] == labels
    assert connections.height == 20
    assert connections["point"].to_list() == [point for point in range(5) for _ in range(4)]
    assert connections["variant"].to_list() == ["lia", "lia", "olia", "olia"] * 5
    assert connections["congestion"].to_list() == connections["variant"].to_list()
    assert connections["seed"].to_list() == [1, 2] * 10
    assert connections["run"].n_unique() == 20
    assert pl.read_parquet(out / "subflows" / "*.parquet").height == 40
    assert pl.read_parquet(out / "links" / "*.parquet").height == 80

    # A row is what `run` answers for the scenario that design.csv has.
    design = pl.read_csv(out / "design.csv", infer_schema=False)
    row = connections.row(9, named=True)
    values = design.row(row["point"], named=True)
    scenario = Scenario.load(
        tmp_path / "base.toml", [f"{key}={values[key]}" for key in ("link.one.rate", "link.two.delay")]
    )
    alone = run_scenario(scenario.with_(f"connection.m.congestion={row['variant']}"), seed=row["seed"])
    assert alone.connections["goodput_bps"].to_list() == [row["goodput_bps"]]
    assert scenario.document.links["one"].direction("down").rate_bps == row["link.one.rate"]
    assert scenario.document.links["two"].direction("up").delay_ns == round(row["link.two.delay"] * 1e9)

    # A second sweep there is refused, and with --resume runs nothing and leaves the same.
    before = program.dataset(out)
    again = program.run("sweep", sweep_file, "--out", out)
    assert again.returncode == 2
    assert "--resume" in again.stderr
    again = program.run("sweep", sweep_file, "--out", out, "--resume")
    assert again.returncode == 0, again.stderr
    assert "20 runs, 20 of them finished before" in again.stdout
    assert program.dataset(out) == before

    # More seeds: only the new ones are run. With one process the bytes are those of two.
    sweep_file.write_text(sweep_file.read_text(encoding="utf-8").replace("repeat = 2", "repeat = 3"), encoding="utf-8")
    more = program.run("sweep", sweep_file, "--out", out, "--resume", "--jobs", 2)
    assert "30 runs, 20 of them finished before" in more.stdout
    assert len(program.records(out)) == 30
    fresh = program.run("sweep", sweep_file, "--out", tmp_path / "fresh", "--jobs", 1)
    assert fresh.returncode == 0, fresh.stderr
    assert program.dataset(tmp_path / "fresh") == program.dataset(out)


def test_a_sweep_that_is_killed_again_and_again_ends_as_if_nothing_had_been(
    sweep_file: Path, tmp_path: Path, program: Program
) -> None:
    text = (
        sweep_file.read_text(encoding="utf-8").replace("points = 5", "points = 30").replace("repeat = 2", "repeat = 4")
    )
    sweep_file.write_text(text, encoding="utf-8")
    arguments = ["sweep", sweep_file, "--jobs", 2, "--resume", "--out"]
    assert program.run(*arguments, tmp_path / "whole").returncode == 0
    out = tmp_path / "out"
    dice = random.Random(KILLS)
    there = killed = 0
    for _ in range(KILLS):
        # A random part of what is left, and then a random moment: while starting up, within a run, within a write.
        wanted = there + dice.randint(0, (RUNS - there) // 2)
        with subprocess.Popen(
            program.command(*arguments, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as session:
            while len(program.records(out)) < wanted and session.poll() is None:
                time.sleep(0.01)
            time.sleep(dice.uniform(0, 0.2))
            killed += session.poll() is None
            session.kill()
        names = program.records(out)
        assert len(names) >= max(there, wanted), "nothing is lost"
        there = len(names)
    last = program.run(*arguments, out)
    assert last.returncode == 0, last.stderr
    assert killed == KILLS
    names = program.records(out)
    assert len(names) == len(set(names)) == RUNS, "nothing is run twice"
    assert program.dataset(out) == program.dataset(tmp_path / "whole")


def test_ctrl_c_keeps_what_is_finished(sweep_file: Path, tmp_path: Path, program: Program) -> None:
    text = (
        sweep_file.read_text(encoding="utf-8").replace("points = 5", "points = 50").replace("repeat = 2", "repeat = 50")
    )
    sweep_file.write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    with subprocess.Popen(
        program.command("sweep", sweep_file, "--out", out, "--jobs", 2),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as session:
        try:
            while len(program.records(out)) < 3:
                assert session.poll() is None
                time.sleep(0.05)
            session.send_signal(signal.SIGINT)
            _, said = session.communicate(timeout=60)
        finally:
            session.kill()
    assert session.returncode == 1
    there = len(program.records(out))
    assert f"error: interrupted: {there} of 5000 runs are kept; --resume continues" in said
    assert "Traceback" not in said
    assert not (out / "connections").exists()


def test_a_second_ctrl_c_says_what_is_kept(
    sweep_file: Path, tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the runs are counted that the first has left."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    real, count = carrying.carry_out, carrying.tally
    ended: list[int] = []

    def interrupted(*arguments: Any, progress: Any, **more: Any) -> None:
        def tell(done: int) -> None:
            progress(done)
            if done >= 3:
                ended.append(done)
                raise KeyboardInterrupt

        real(*arguments, progress=tell, **more)

    def again(*arguments: Any) -> Any:
        if ended:
            raise KeyboardInterrupt
        return count(*arguments)

    monkeypatch.setattr(carrying, "carry_out", interrupted)
    monkeypatch.setattr(carrying, "tally", again)
    done = program.run("sweep", sweep_file, "--out", out, "--jobs", 1)
    assert done.returncode == 1
    assert f"error: interrupted: all finished runs are kept in {out}; --resume continues" in done.stderr
    kept = program.records(out)
    assert len(kept) >= 3
    monkeypatch.undo()
    assert program.run("sweep", sweep_file, "--out", out, "--jobs", 1, "--resume").returncode == 0
    assert program.records(out)[: len(kept)] == kept, "what was kept is not run again"
    assert program.run("sweep", sweep_file, "--out", whole, "--jobs", 1).returncode == 0
    assert program.dataset(out) == program.dataset(whole)


def test_nothing_computes_on_after_a_kill(sweep_file: Path, tmp_path: Path, program: Program) -> None:
    base = tmp_path / "base.toml"
    base.write_text(base.read_text(encoding="utf-8").replace('"2 s"', '"20000 s"'), encoding="utf-8")
    with subprocess.Popen(
        program.command("sweep", sweep_file, "--out", tmp_path / "out", "--jobs", 2), stdout=subprocess.DEVNULL
    ) as session:
        workers: list[int] = []
        while len(workers) < 2:
            assert session.poll() is None
            time.sleep(0.1)
            children = Path(f"/proc/{session.pid}/task").glob("*/children")
            workers = [int(pid) for file in children for pid in file.read_text(encoding="utf-8").split()]
        time.sleep(0.5)  # for the workers to have asked to go with their parent
        session.kill()
    for _ in range(100):
        if not any(alive(pid) for pid in workers):
            return
        time.sleep(0.1)
    pytest.fail(f"workers {workers} live on")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_directory_of_something_else_is_left_alone(sweep_file: Path, tmp_path: Path, program: Program) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.doc").write_text("precious", encoding="utf-8")
    done = program.run("sweep", sweep_file, "--out", out, "--resume")
    assert done.returncode == 2
    assert "thesis.doc" in done.stderr
    assert [file.name for file in out.iterdir()] == ["thesis.doc"]


def test_files_of_others_in_the_folders_of_a_sweep_are_left_alone(
    sweep_file: Path, tmp_path: Path, program: Program
) -> None:
    sweep_file.write_text('engine = "model"\n' + sweep_file.read_text(encoding="utf-8"), encoding="utf-8")
    out = tmp_path / "out"
    assert program.run("sweep", sweep_file, "--out", out, "--jobs", 1).returncode == 0
    for name in ("links/mine.parquet", "runs/notes.txt", "dataset.part"):
        (out / name).write_text("precious", encoding="utf-8")
    done = program.run("sweep", sweep_file, "--out", out, "--resume", "--jobs", 1)
    assert done.returncode == 2
    assert "dataset.part, runs/notes.txt, links/mine.parquet" in done.stderr
    for name in ("links/mine.parquet", "runs/notes.txt", "dataset.part"):
        assert (out / name).read_text(encoding="utf-8") == "precious"
        (out / name).unlink()
    # What a killed process left is removed.
    (out / "dataset.abcd_123.part").mkdir()
    assert program.run("sweep", sweep_file, "--out", out, "--resume", "--jobs", 1).returncode == 0
    assert not (out / "dataset.abcd_123.part").exists()


def test_the_files_that_describe_a_sweep_are_no_sweep(sweep_file: Path, tmp_path: Path, program: Program) -> None:
    (tmp_path / "base.toml").rename(tmp_path / "scenario.toml")
    sweep_file.write_text(sweep_file.read_text(encoding="utf-8").replace("base", "scenario"), encoding="utf-8")
    before = sweep_file.read_text(encoding="utf-8"), (tmp_path / "scenario.toml").read_text(encoding="utf-8")
    done = program.run("sweep", sweep_file, "--out", tmp_path, "--resume")
    assert done.returncode == 2
    assert "does not contain a sweep" in done.stderr
    assert before == (sweep_file.read_text(encoding="utf-8"), (tmp_path / "scenario.toml").read_text(encoding="utf-8"))


def test_the_model_sweeps_too(sweep_file: Path, tmp_path: Path, program: Program) -> None:
    sweep_file.write_text('engine = "model"\n' + sweep_file.read_text(encoding="utf-8"), encoding="utf-8")
    done = program.run("sweep", sweep_file, "--out", tmp_path / "out", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(tmp_path / "out" / "connections" / "*.parquet")["goodput_bps"].null_count() == 0
