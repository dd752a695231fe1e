"""Sweeps with several kernels: the plan, and what makes them different. Numbers are worked by hand; no guest boots."""

import json
from pathlib import Path

import polars as pl
import pytest
from mptcplab.cli import invoke
from mptcplab.engines.catalogue import find
from mptcplab.kernels import Kernel, store
from mptcplab.scenario import Scenario
from mptcplab.sweeps import kernel_comparison
from mptcplab.sweeps.file import Sweep
from mptcplab.sweeps.sweep import make_plan


@pytest.fixture
def two_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels `a` and `b` in a cache of their own; they cannot boot."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    config = tmp_path / "config"
    config.write_text("CONFIG_TCP_CONG_ADVANCED=y\n")
    for name, key in (("a", "0" * 64), ("b", "1" * 64)):
        place = store.cache() / name
        store.keep(
            Kernel(name, key, "6.12", "a tree", "", "", 1000, {"lia": "", "olia": ""}, "gcc", place),
            config,
            config,
        )


@pytest.fixture
def virtual_file(sweep_file: Path) -> Path:
    base = sweep_file.parent / "base.toml"
    base.write_text(base.read_text().replace('congestion = "lia"', 'congestion = "lia"\nscheduler = "linux"'))
    sweep_file.write_text('engine = "linux-virtual"\n' + sweep_file.read_text())
    return sweep_file


@pytest.mark.usefixtures("two_kernels")
def test_each_kernel_runs_every_point_with_the_same_seeds(virtual_file: Path) -> None:
    made = make_plan(Sweep.load(virtual_file).with_kernels(["a", "b"]))
    assert len(made.runs) == 5 * 2 * 2 * 2
    assert [(label["variant"], label["kernel"], label["repeat"]) for label in made.labels[:5]] == [
        ("lia", "a", 0),
        ("lia", "a", 1),
        ("lia", "b", 0),
        ("lia", "b", 1),
        ("olia", "a", 0),
    ]
    assert [run.engine for run in made.runs[:3]] == ["linux-virtual:a", "linux-virtual:a", "linux-virtual:b"]
    assert made.runs[0].seed == made.runs[2].seed
    assert len({run.name for run in made.runs}) == len(made.runs)


@pytest.mark.usefixtures("two_kernels")
def test_a_scheduler_that_the_scenario_does_not_name_is_the_kernels(virtual_file: Path) -> None:
    base = virtual_file.parent / "base.toml"
    base.write_text(base.read_text().replace('scheduler = "linux"\n', ""))
    run = make_plan(Sweep.load(virtual_file).with_kernels(["a"])).runs[0]
    # What a worker reads must be what the engine accepts.
    again = Scenario.from_toml(json.loads(run.task)["scenario"], "<sweep>")
    assert find(run.engine).unsupported(again) == []


def test_kernels_of_an_engine_without_any_are_refused(
    sweep_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["sweep", str(sweep_file), "--out", str(tmp_path / "out"), "--kernel", "a,b"]) == 2
    assert 'found engine = "sim"; kernels are of engine = "linux-virtual"' in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def frame(rows: list[tuple[int, str, int, float]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "point": point,
                "variant": "",
                "kernel": kernel,
                "repeat": repeat,
                "name": "m",
                "goodput_bps": goodput,
                "completion_s": None,
            }
            for point, kernel, repeat, goodput in rows
        ],
        schema_overrides={"completion_s": pl.Float64},
    )


def test_effects_over_networks() -> None:
    found = kernel_comparison.over(
        frame(
            [
                # +10 % and +12 %: 11 ± 12.7 % (t = 12.706, deviation √2 %).
                *((0, "a", 0, 100.0), (0, "b", 0, 110.0), (0, "a", 1, 100.0), (0, "b", 1, 112.0)),
                # The same.
                *((1, "a", 0, 50.0), (1, "b", 0, 50.0), (1, "a", 1, 60.0), (1, "b", 1, 60.0)),
                # −20 % both times.
                *((2, "a", 0, 50.0), (2, "b", 0, 40.0), (2, "a", 1, 10.0), (2, "b", 1, 8.0)),
                # No pair.
                (3, "a", 0, 1.0),
            ]
        ),
        "a",
        "b",
    )
    (only,) = found
    assert only.known == {(0, ""): pytest.approx(0.11), (1, ""): 0.0, (2, ""): pytest.approx(-0.2)}
    mean, half = only.interval() or (None, None)
    # Mean −3 %; deviation √((0.14² + 0.03² + 0.17²)/2) = 0.1572, times 4.303/√3.
    assert mean == pytest.approx(-0.03)
    assert half == pytest.approx(0.3904, abs=1e-4)
    # First the one whose seeds show it; what is the same is not there at all.
    rounded = [(network, round(value, 9), repeat) for network, value, repeat in kernel_comparison.differing(found, 5)]
    assert rounded == [((2, ""), -0.2, 0), ((0, ""), 0.11, 1)]
    assert [network for network, _, _ in kernel_comparison.differing(found, 1)] == [(2, "")]
    cells = {field.header: field.cells[0] for field in kernel_comparison.table("a", "b", found).fields}
    assert cells == {
        "connection": "m",
        "quantity": "goodput",
        "differs": "-3.00",
        "±": "39.04",
        "median size": "11.00",
        "p90": "20.00",
        "largest": "-20.00",
        "the same": "1/3",
        "differ beyond the seeds": "1/3",
    }
