"""The command with the real simulator: the same bytes in every process and for any number of jobs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import mptcplab
import polars as pl
import pytest
from mptcplab import cli
from mptcplab.engines import runner
from mptcplab.results.columns import FRAMES, polars_schema

PROGRAM = Path(sys.executable).with_name("mptcplab")


def mptcplab_run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [PROGRAM, "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def contents(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


@pytest.mark.slow
def test_two_processes_and_any_jobs_write_the_same_bytes(scenario_file: Path, tmp_path: Path) -> None:
    for name, jobs in (("one", 1), ("again", 1), ("jobs", 2)):
        done = mptcplab_run(scenario_file, "--repeat", 2, "--jobs", jobs, "--out", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, f"wrote {tmp_path / name}/report.html\n")
    one = contents(tmp_path / "one")
    assert one == contents(tmp_path / "again")
    assert one == contents(tmp_path / "jobs")


def test_two_runs_in_one_process_are_equal(scenario: mptcplab.Scenario) -> None:
    one, two = mptcplab.run(scenario), mptcplab.run(scenario)
    assert one.to_json() == two.to_json()
    assert one.samples.equals(two.samples)


def test_another_seed_is_another_run(scenario: mptcplab.Scenario) -> None:
    lossy = scenario.with_("link.wifi.loss=1 %")
    assert not mptcplab.run(lossy).subflows.equals(mptcplab.run(lossy, seed=8).subflows)


@pytest.mark.slow
def test_what_is_written_runs_again_to_the_same(scenario_file: Path, tmp_path: Path) -> None:
    first = mptcplab_run(scenario_file, "--seed", 12, "--set", "link.wifi.loss=1 %", "--out", tmp_path / "one")
    assert first.returncode == 0
    again = mptcplab_run(tmp_path / "one" / "scenario.toml", "--out", tmp_path / "two")
    assert again.returncode == 0
    for name in FRAMES:
        file = f"{name}.parquet"
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_through_wire_changes_nothing_but_its_mark(scenario: mptcplab.Scenario) -> None:
    plain, checked = mptcplab.run(scenario), mptcplab.run(scenario, through_wire=True)
    assert plain.samples.equals(checked.samples)
    assert checked.provenance.through_wire


def test_the_frames_are_within_physical_bounds(scenario: mptcplab.Scenario) -> None:
    result = mptcplab.run(scenario)
    for name in FRAMES:
        own = {"lia_alpha": pl.Float64} if name == "samples" else {}  # of the control
        assert getattr(result, name).schema == pl.Schema({**polars_schema(name), **own})
    # 25 (later 10) and 30 Mbit/s; nothing delivers more than the links carry.
    assert 20e6 < result.connections["goodput_bps"].sum() < 55e6
    assert result.links["utilization"].is_between(0, 1).all()
    shares = result.subflows.group_by("connection", "index").agg(pl.col("share").sum())
    assert shares["share"].to_list() == pytest.approx([1.0] * shares.height)
    # Both ways over the shorter path take 25 ms at least.
    assert result.subflows["rtt_mean_s"].min() >= 0.025  # type: ignore[operator]
    # Samples every 100 ms for 4 s: 4 subflows and 4 directions of links at the most.
    assert result.samples.filter(kind="link").height == 40 * 4


def test_the_columns_of_samples_are_the_same_arrays_each_time(scenario: mptcplab.Scenario) -> None:
    outcome = mptcplab._core.simulate(json.dumps(scenario.description()))
    for samples in (outcome["subflow_samples"], outcome["link_samples"]):
        assert samples is not None
        columns = samples.columns()
        assert len(columns["time_s"]) > 0
        assert samples.columns() is columns
    never = scenario.with_("measure.sample=never")
    outcome = mptcplab._core.simulate(json.dumps(never.description()))
    assert outcome["subflow_samples"] is outcome["link_samples"] is None


def test_a_description_that_is_none_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="duration_ns"):
        mptcplab._core.simulate("{}")


def test_an_exception_of_the_progress_call_ends_the_simulation(scenario: mptcplab.Scenario) -> None:
    class EnoughError(Exception):
        pass

    def progress(_: float) -> None:
        raise EnoughError

    long = scenario.with_("duration=3600 s", "measure.sample=never")
    with pytest.raises(EnoughError):
        mptcplab._core.simulate(json.dumps(long.description()), progress)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_a_long_run_and_writes_nothing(scenario_file: Path, tmp_path: Path) -> None:
    command = [PROGRAM, "run", scenario_file, "--set", "duration=100000 s", "--set", "measure.sample=never"]
    arguments = [*map(str, command), "--out", str(tmp_path / "out")]
    # On a terminal the bar appears when the simulator says for the first time how far it is: from then on it is
    # within the simulation, which would take minutes.
    terminal, end = os.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=end, text=True, env=environment) as process:
        try:
            os.close(end)
            wait_for(terminal, b"on sim")
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            wait_for(terminal, b"interrupted after 0 of 1 runs")
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
            os.close(terminal)
    assert (process.returncode, out) == (1, "")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [scenario_file.name]


def test_a_second_ctrl_c_says_that_nothing_is_kept(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It comes while the first makes a result of the runs that had finished."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    monkeypatch.setattr(runner._Series, "all", interrupted)
    assert cli.invoke(["run", str(scenario_file), "--out", str(out)]) == 1
    assert "error: interrupted after 0 of 1 runs" in capsys.readouterr().err
    monkeypatch.setattr(runner.Interrupted, "__init__", interrupted)
    assert cli.invoke(["run", str(scenario_file), "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "error: interrupted a second time, while runs were being ended: nothing is kept" in said
    assert not out.exists()


def wait_for(terminal: int, text: bytes) -> None:
    """Read what is written to the terminal until `text` was; an error when all who write have gone before."""
    seen = b""
    while text not in seen:
        seen += os.read(terminal, 4096)
