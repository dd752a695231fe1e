"""`mptcplab compare`: the same rows for every engine, means, differences, and what is refused before anything runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from mptcplab import Scenario, _core, run
from mptcplab.comparison.side_by_side import EngineComparison, difference, engine_names

Call = Callable[..., Any]

STEADY = """
title = "Two flows"
duration = "20 s"

[link.l]
rate = "10 Mbit/s"
delay = "20 ms"

[link.m]
rate = "10 Mbit/s"
delay = "20 ms"

[connection.two]
paths = ["l", "m"]

[connection.flows]
paths = ["l"]
protocol = "tcp"
count = 3

[measure]
warmup = "5 s"
sample = "never"
"""


@pytest.fixture
def steady(tmp_path: Path) -> Path:
    file = tmp_path / "steady.toml"
    file.write_text(STEADY, encoding="utf-8")
    return file


def test_the_document_has_means_deviations_and_differences(call: Call, steady: Path) -> None:
    done = call("compare", steady, "--engines", "model,sim", "--repeat", 2, "--json")
    assert done.status == 0
    document = json.loads(done.out)
    assert document["engines"] == ["model", "sim"]
    assert [row["name"] for row in document["connections"]] == ["two", "flows"]
    assert [(row["connection"], row["path"]) for row in document["subflows"]] == [
        ("two", "l"),
        ("two", "m"),
        ("flows", "l"),
    ]
    scenario = Scenario.load(steady)
    simulated = run(scenario, repeat=2).connections.filter(pl.col("name") == "flows")
    of_runs = simulated.group_by("repeat").agg(pl.col("goodput_bps").mean())["goodput_bps"]
    cell = document["connections"][1]["goodput_bps"]
    assert cell["sim"]["mean"] == pytest.approx(simulated["goodput_bps"].mean())
    assert cell["sim"]["sd"] == pytest.approx(of_runs.std())
    assert cell["model"]["sd"] == 0
    assert cell["model"]["difference"] == 0
    assert cell["sim"]["difference"] == pytest.approx(cell["sim"]["mean"] / cell["model"]["mean"] - 1)
    assert document["provenance"]["sim"]["engine"] == "sim"
    assert document["notes"]["model"]


def test_the_table_aligns(call: Call, steady: Path) -> None:
    done = call("compare", steady, "--engines", "sim,model")
    assert done.status == 0
    assert done.out.startswith("Two flows: sim against model, 1 run on each; differences to sim\n")
    lines = done.out.splitlines()
    heading = next(line for line in lines if "goodput sim" in line)
    row = next(line for line in lines if line.lstrip().startswith("flows"))
    for name in ("goodput sim", "model", "differs"):
        end = heading.index(name) + len(name)
        assert row[:end][-1].isdigit()
        assert row[end : end + 1] in ("", " ")
    assert "note: model: the scheduler" in done.err


def test_columns_of_a_quantity_go_together(call: Call, steady: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = call("compare", steady, "--engines", "sim,model").out
    assert "columns omitted because the terminal is too narrow: " in out
    for line in out.splitlines():
        assert len(line) <= 80
        if "differs" in line:
            assert line.count("differs") == line.count("model")


def test_set_reaches_every_engine(call: Call, steady: Path) -> None:
    plain, slow = (
        json.loads(call("compare", steady, "--engines", "sim,model", "--json", *changes).out)
        for changes in ((), ("--set", "link.m.rate=5 Mbit/s"))
    )
    for engine in ("sim", "model"):
        before, after = (one["connections"][0]["goodput_bps"][engine]["mean"] for one in (plain, slow))
        assert after < 0.8 * before


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--engines", "model"], 2, "found 'model'; expected at least two engines, such as model,sim"),
        (["--engines", "sim,sim"], 2, "found 'sim' twice"),
        (["--engines", "sim,ns2"], 2, "no engine 'ns2'"),
        (["--set", "connection.flows.congestion=cubic"], 3, 'model: --set: connection.flows.congestion: found "cubic"'),
        (["--set", "link.l.rate=10"], 2, "link.l.rate"),
        (["--repeat", 0], 2, "--repeat"),
    ],
)
def test_what_is_refused_is_refused_before_anything_runs(
    call: Call, steady: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, says: str
) -> None:
    monkeypatch.setattr(_core, "simulate", lambda *_: pytest.fail("it ran"))
    done = call("compare", steady, *arguments)
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith("error: ")
    assert says in done.err


def test_what_the_first_engine_does_not_have_comes_last() -> None:
    """A subflow only one engine knows stands there with nothing beside it."""
    scenario = Scenario.from_toml(STEADY)
    one = scenario.with_("connection.two.path_manager=default")
    comparison = EngineComparison({"first": run(one, "model"), "second": run(scenario, "model")})
    rows = comparison.to_dict()["subflows"]
    assert [(row["connection"], row["path"]) for row in rows] == [("two", "l"), ("flows", "l"), ("two", "m")]
    assert rows[2]["goodput_bps"]["first"]["mean"] is None
    assert rows[2]["goodput_bps"]["second"]["difference"] is None
    assert rows[2]["goodput_bps"]["second"]["mean"] > 0


def test_differences() -> None:
    assert difference(11.0, 10.0) == pytest.approx(0.1)
    assert difference(None, 10.0) is None
    assert difference(1.0, None) is None
    assert difference(1.0, 0.0) is None
    assert engine_names("model, sim") == ["model", "sim"]
