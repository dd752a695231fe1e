"""Shares of max-min fairness in `run` and `compare`, against goodputs worked by hand."""

import json
from pathlib import Path

import mptcplab
import pytest
from mptcplab import Scenario, UnsupportedError, cli
from mptcplab.comparison import max_min
from mptcplab.engines.model.max_min import max_min_bps

SCENARIO = """
duration = "5 s"
[link.one]
rate = "8 Mbit/s"
delay = "5 ms"
queue = "50 ms"
loss = "1 %"
[link.two]
rate = "4 Mbit/s"
delay = "20 ms"
queue = "50 ms"
[connection.m]
paths = ["one", "two"]
[connection.other]
paths = ["two"]
protocol = "tcp"
count = 3
[measure]
warmup = "1 s"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_goodputs_by_hand() -> None:
    """The three have link two for themselves, 1448 of 1500 bytes; `m` has link one, less 1 % and 1420 of 1500 bytes."""
    found = max_min_bps(Scenario.from_toml(SCENARIO))
    assert found["other"] == pytest.approx(4e6 / 3 * 1448 / 1500)
    assert found["m"] == pytest.approx(8e6 * 0.99 * 1420 / 1500)


def test_a_connection_that_needs_less_leaves_the_rest() -> None:
    rate = {"connection.m.application": {"kind": "rate", "rate": "400 kbit/s"}, "connection.m.paths": ["two"]}
    found = max_min_bps(Scenario.from_toml(SCENARIO).with_(rate))
    assert found["m"] == pytest.approx(4e5)
    assert found["m"] * 1500 / 1420 + 3 * found["other"] * 1500 / 1448 == pytest.approx(4e6)


def test_a_run_has_a_table_and_its_document_the_numbers(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["run", str(place), "--max-min"]) == 0
    assert "Max-min fairness" in capsys.readouterr().out
    assert cli.invoke(["run", str(place), "--max-min", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    goodputs = {(row["name"], row["index"]): row["goodput_bps"] for row in document["connections"]}
    assert len(document["max_min"]) == 4
    for row in document["max_min"]:
        assert row["max_min_share"] == pytest.approx(goodputs[row["name"], row["index"]] / row["max_min_bps"])


def test_the_model_gives_rows_too() -> None:
    found = max_min.rows(mptcplab.run(Scenario.from_toml(SCENARIO), "model"))
    assert [row["name"] for row in found] == ["m", "other", "other", "other"]
    # What the links can carry, by any division.
    assert sum(row["goodput_bps"] for row in found) <= 1.001 * sum(row["max_min_bps"] for row in found)


def test_settings_are_compared_by_it_also_when_the_network_differs(tmp_path: Path) -> None:
    base = Scenario.from_toml(SCENARIO)
    key = "link.one.rate"
    found = mptcplab.compare(
        base, vary={key: ["8 Mbit/s", "2 Mbit/s"]}, repeat=2, jobs=1, metric="m.max-min-share", out=tmp_path / "out"
    )
    for setting, rate in zip(found.settings, ("8 Mbit/s", "2 Mbit/s"), strict=True):
        scenario = base.with_({key: rate})
        runs = mptcplab.run(scenario, repeat=2)
        mine = [row["goodput_bps"] for row in runs.rows("connections") if row["name"] == "m"]
        assert setting.mean.mean == pytest.approx(sum(mine) / 2 / max_min_bps(scenario)["m"])
    again = mptcplab.Dataset(tmp_path / "out").compare(metric="m.max_min_share")
    assert again.frame["mean"].to_list() == pytest.approx(found.frame["mean"].to_list())


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"connection.m.application": {"kind": "file", "size": "1 MB"}}, "connection.m.application.kind"),
        ({"connection.m.start": "2 s"}, "connection.m.start"),
        ({"link.two.loss": {"kind": "gilbert-elliott", "good_to_bad": "1 %", "bad_to_good": "20 %"}}, "link.two.loss"),
        ({"link.two.shaper": {"rate": "1 Mbit/s", "burst": "20 kB"}}, "link.two.shaper"),
    ],
)
def test_what_does_not_stay_as_it_is_is_refused(change: dict[str, object], key: str) -> None:
    with pytest.raises(UnsupportedError) as refused:
        max_min_bps(Scenario.from_toml(SCENARIO).with_(change))
    assert [problem.key for problem in refused.value.problems] == [key]


def test_the_command_refuses_before_it_runs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["run", str(place), "--max-min", "--set", "connection.m.stop=3 s"]) == 3
    assert "connection.m.stop" in capsys.readouterr().err
