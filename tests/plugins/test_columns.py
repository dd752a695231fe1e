"""A congestion control's own numbers as columns of `samples`, from Rust and from Python."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from mptcplab import Result, Scenario, run
from mptcplab.cli.app import invoke
from mptcplab.plots import figures
from mptcplab.results.columns import polars_schema

WVEGAS = ["queueing_delay_s", "backlog_segments", "backlog_target_segments"]
HEAD = "from mptcplab.plugins import *\n"
OWN = (
    HEAD
    + """
class Own(Rule):
    columns = (Column("base_rtt_s", "s", "least RTT seen"), Column("losses", "", "losses so far"))
    def __init__(self):
        self.losses = {}
    def increase(self, subflows, r):
        return 1 / subflows[r].cwnd
    def decrease(self, subflows, r):
        self.losses[r] = self.losses.get(r, 0) + 1
        return subflows[r].cwnd / 2
    def show(self, subflows, r, now_ns):
        return [subflows[r].min_rtt_ns / 1e9, self.losses.get(r)]
"""
)
LINE = 'congestion = { plugin = "own.py:Own" }'
NEIGHBOUR = '\n[connection.neighbour]\npaths = ["wifi"]\nprotocol = "tcp"\ncongestion = "reno"\n'


def of_control(result: Result, connection: str) -> pl.DataFrame:
    """The samples of its subflows."""
    return result.samples.filter(kind="subflow", connection=connection)


def test_the_columns_of_a_control_stand_last_and_are_null_elsewhere(write: Callable[[str, str], Path]) -> None:
    result = run(Scenario.load(write("", f'congestion = "wvegas"{NEIGHBOUR}')))
    assert result.samples.columns == [*polars_schema("samples"), *WVEGAS]
    own = of_control(result, "download").filter(pl.col("time_s") > 1)
    assert own.select(pl.col(WVEGAS).is_not_null().all()).row(0) == (True, True, True)
    # The mean delay of a round is no more than the queues hold: 50 and 100 ms.
    assert own.filter(path="wifi")["queueing_delay_s"].is_between(0, 0.05).all()
    assert own["backlog_target_segments"].is_between(2, 10).all()
    others = result.samples.filter((pl.col("kind") == "link") | (pl.col("connection") == "neighbour"))
    assert others.height > 0
    assert others.select(pl.col(WVEGAS).is_null().all()).row(0) == (True, True, True)


def test_a_result_without_such_a_control_has_none(write: Callable[[str, str], Path]) -> None:
    result = run(Scenario.load(write("", 'congestion = "ewtcp"')))
    assert result.samples.schema == polars_schema("samples")


def test_they_are_saved_loaded_and_drawn(write: Callable[[str, str], Path], tmp_path: Path) -> None:
    result = run(Scenario.load(write(OWN, LINE)), repeat=2)
    result.save(tmp_path / "out")
    again = Result.load(tmp_path / "out")
    assert again.samples.equals(result.samples)
    drawn = {figure.name: figure for figure in figures(again)}
    assert drawn["losses"].caption.startswith("Losses so far")
    assert "base_rtt_s (s)" in str(drawn["base_rtt_s"].panels[0].spec)
    assert (tmp_path / "out/plots/base_rtt_s.svg").exists()
    assert result.plot.column("losses").to_dict()["datasets"]


def test_a_plugin_shows_what_it_counted(write: Callable[[str, str], Path]) -> None:
    result = run(Scenario.load(write(OWN, LINE)))
    own = of_control(result, "download").filter(pl.col("time_s") > 1)
    # Nothing is quicker than the propagation delays, 20 and 60 ms there and back.
    least = own.group_by("path").agg(pl.col("base_rtt_s").min()).sort("path")
    assert least["base_rtt_s"].to_list() == pytest.approx([0.060, 0.020], rel=0.1)
    losses = own.filter(path="wifi")["losses"]
    assert losses.is_sorted()
    assert losses[-1] > 1


def test_showing_changes_nothing_else(write: Callable[[str, str], Path]) -> None:
    shown = run(Scenario.load(write(OWN, LINE)))
    plain = run(Scenario.load(write(OWN.replace("    columns", "    others"), LINE)))
    assert plain.samples.schema == polars_schema("samples")
    assert shown.samples.drop("base_rtt_s", "losses").equals(plain.samples)


WRONG = {
    "no tuple": ("columns = (Column", "columns = [1] or (Column", "columns = [1]", "a tuple of Column"),
    "a name with a space": ('"losses"', '"the losses"', "the losses", "a name such as"),
    "a name that is taken": ('"losses"', '"srtt_s"', "srtt_s", "does not have yet"),
    "twice": ('"losses"', '"base_rtt_s"', "base_rtt_s", "does not have yet"),
    "no show": ("def show", "def shows", "without show"),
}
ANSWERS = {
    "too few": ("[1.0]", "answered [1.0]", "for each of its columns: 2"),
    "words": ("['a', 'b']", "answered ['a', 'b']"),
    "infinite": ("[1, float('inf')]", "inf", "a finite number or None"),
    "it raises": ("[1, 1 / 0]", "ZeroDivisionError", "failed in show", "at 0.1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_columns_that_cannot_be(case: str, write: Callable[[str, str], Path], capsys: pytest.CaptureFixture) -> None:
    before, after, *told = WRONG[case]
    assert invoke(["run", str(write(OWN.replace(before, after), LINE))]) == 2
    error = capsys.readouterr().err
    assert all(each in error for each in told), error


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_that_make_no_sense(
    case: str, write: Callable[[str, str], Path], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    answer, *told = ANSWERS[case]
    text = OWN.replace("[subflows[r].min_rtt_ns / 1e9, self.losses.get(r)]", answer)
    assert invoke(["run", str(write(text, LINE)), "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert all(each in error for each in told), error
    assert not (tmp_path / "out").exists()
