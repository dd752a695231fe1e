"""RTT samples and groups of subflows, as congestion controls in Python have them."""

from collections.abc import Callable
from pathlib import Path

import mptcplab
import polars as pl
import pytest
from mptcplab import Scenario
from mptcplab.cli.app import invoke

LINE = 'congestion = { plugin = "own.py:Own" }'
HEAD = "from mptcplab.plugins import *\n"
SHOWN = """
    columns = (
        Column("rtts", "", ""), Column("rtt_sum_s", "s", ""), Column("recovering", "", ""), Column("last_s", "s", ""))
    def __init__(self):
        self.rtts, self.sums, self.recovering, self.last = {}, {}, {}, {}
    def on_sample(self, subflows, r, sample):
        self.rtts[r] = self.rtts.get(r, 0) + 1
        self.sums[r] = self.sums.get(r, 0) + sample.rtt_ns
        self.recovering[r] = self.recovering.get(r, 0) + sample.recovering
        self.last[r] = sample.now_ns
    def show(self, subflows, r, now_ns):
        assert self.last.get(r, 0) <= now_ns
        return [self.rtts.get(r, 0), self.sums.get(r, 0) / 1e9, self.recovering.get(r, 0), self.last.get(r, 0) / 1e9]
"""
RULE = HEAD + "class Own(Rule):" + SHOWN + "    def increase(self, subflows, r):\n        return 1 / subflows[r].cwnd\n"
WHOLE = (
    HEAD
    + "class Own(CongestionControl):"
    + SHOWN
    + """
    def on_ack(self, subflows, r, ack):
        s = subflows[r]
        more = ack.acked_segments if s.in_slow_start else ack.acked_segments / s.cwnd
        return Window(s.cwnd + (more if ack.cwnd_limited else 0), s.ssthresh)
    def on_loss(self, subflows, r, now_ns):
        return max(2, subflows[r].cwnd / 2)
"""
)
LIA = (
    HEAD
    + """
class Own(Rule):
    def regroup(self, subflows, r, now_ns):
        return {groups}
    def increase(self, subflows, r):
        own = 1 / subflows[r].cwnd
        active = [s for s in subflows if s.active]
        if not subflows[r].active or len(active) == 1:
            return own
        best, rate = 0.0, 0.0
        for s in active:
            per_rtt = 1 / s.srtt_ns
            best = max(best, s.cwnd * per_rtt * per_rtt)
            rate += s.cwnd * per_rtt
        return min(own, best / (rate * rate))
"""
)


@pytest.mark.parametrize("plugin", [RULE, WHOLE])
def test_every_sample_of_the_rtt_is_told_with_its_time(plugin: str, write: Callable[[str, str], Path]) -> None:
    scenario = Scenario.load(write(plugin, LINE)).with_("measure.warmup=0 s")
    result = mptcplab.run(scenario)
    samples = result.samples.filter(kind="subflow")
    last = samples.filter(pl.col("time_s") == samples["time_s"].max()).join(
        result.subflows.select("path", "rtt_mean_s"), on="path"
    )
    assert last.height == 2
    for row in last.iter_rows(named=True):
        # The sender's own mean is of the oldest segment of each acknowledgment, with the receiver's delay.
        assert row["rtts"] > 500
        assert 0.9 * row["rtt_mean_s"] < row["rtt_sum_s"] / row["rtts"] < row["rtt_mean_s"]
        assert 0 < row["recovering"] < row["rtts"] / 2
        assert row["time_s"] - 0.5 < row["last_s"] <= row["time_s"]


@pytest.mark.parametrize(
    ("groups", "built_in"),
    [("[0, 0][:len(subflows)]", "lia"), ("[0, 1][:len(subflows)]", "reno"), ("None", "lia")],
)
def test_groups_are_what_is_coupled(groups: str, built_in: str, write: Callable[[str, str], Path]) -> None:
    scenario = Scenario.load(write(LIA.replace("{groups}", groups), LINE))
    own = mptcplab.run(scenario)
    other = mptcplab.run(scenario.with_(f'connection.download.congestion="{built_in}"'))
    assert own.subflows.equals(other.subflows)
    # LIA itself also tells its α.
    assert own.samples.equals(other.samples.select(own.samples.columns))


def test_groups_may_change_while_it_runs(write: Callable[[str, str], Path]) -> None:
    late = LIA.replace("{groups}", "[0, int(now_ns > 2e9)][:len(subflows)]")
    windows = {}
    for name, plugin in (("late", late), ("never", LIA.replace("{groups}", "None"))):
        samples = mptcplab.run(Scenario.load(write(plugin, LINE))).samples.filter(kind="subflow")
        windows[name] = samples.select("time_s", "path", "cwnd_segments")
    before = pl.col("time_s") <= 2
    assert windows["late"].filter(before).equals(windows["never"].filter(before))
    assert not windows["late"].filter(~before).equals(windows["never"].filter(~before))


@pytest.mark.parametrize(
    ("answer", "told"),
    [("[0]", "a group from 0 to 255"), ("[0, 256]", "answered [0, 256]"), ("'ab'", "None, or a group")],
)
def test_groups_that_cannot_be(
    answer: str, told: str, write: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = LIA.replace("{groups}", f"None if len(subflows) < 2 else {answer}")
    assert invoke(["run", str(write(text, LINE))]) == 1
    error = capsys.readouterr().err
    assert told in error, error
    assert "failed in regroup" in error
