"""`mptcplab compare --vary`, `summary` and the end of `sweep`: settings, likes, effects, files."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import mptcplab
import polars as pl
import pytest
from mptcplab import MetricError, Scenario, Sweep, cli
from mptcplab.comparison import varied

SCENARIO = """
title = "Two paths"
duration = "4 s"

[link.one]
rate = "8 Mbit/s"
delay = "5 ms"
queue = "50 ms"
loss = "0.5 %"

[link.two]
rate = "4 Mbit/s"
delay = "20 ms"
queue = "50 ms"

[connection.m]
paths = ["one", "two"]

[connection.other]
paths = ["one"]
protocol = "tcp"

[measure]
warmup = "1 s"
"""
CONTROL, SCHEDULER = "connection.m.congestion", "connection.m.scheduler"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "two.toml"
    place.write_text(SCENARIO, encoding="utf-8")
    return place


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def called(*arguments: object) -> tuple[int, str, str]:
        status = cli.invoke([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        # Sentences are folded to the width of the terminal.
        out = captured.out if "--json" in arguments else re.sub(r"\s+", " ", captured.out)
        return status, out, captured.err

    return called


Call = Callable[..., tuple[int, str, str]]


def test_the_document_is_what_runs_of_the_same_seeds_give(file: Path, call: Call) -> None:
    status, out, err = call(
        "compare", file, "--vary", f"{CONTROL}=lia,olia", "--repeat", 3, "--jobs", 2, "--seed", 5, "--json"
    )
    assert status == 0, err
    document = json.loads(out)
    assert document["factors"] == {CONTROL: ["lia", "olia"]}
    assert document["baseline"] == {CONTROL: "lia"}
    assert document["metric"] == "m.goodput_bps"
    assert document["blocks"] == {"kind": "seed", "numbers": [5, 6, 7]}
    for entry in document["settings"]:
        scenario = Scenario.load(file).with_(entry["settings"])
        goodputs = mptcplab.run(scenario, seed=5, repeat=3).connections.filter(name="m")["goodput_bps"]
        assert entry["n"] == 3
        assert entry["mean"] == pytest.approx(goodputs.mean())
        assert entry["interval"][0] < entry["mean"] < entry["interval"][1]
    first, second = document["settings"]
    assert first["difference"] is None
    assert second["difference"]["mean"] == pytest.approx(second["mean"] - first["mean"])


def test_settings_that_send_the_same_packets_are_grouped_and_others_are_not(file: Path, call: Call) -> None:
    # One path leaves a scheduler nothing to choose; another control is another run.
    arguments = ("--set", 'connection.m.paths=["one"]', "--vary", f"{SCHEDULER}=min-rtt,round-robin,blest")
    status, out, err = call("compare", file, *arguments, "--vary", f"{CONTROL}=reno,cubic", "--repeat", 2, "--json")
    assert status == 0, err
    settings = json.loads(out)["settings"]
    like = {tuple(each["settings"].values()): each["same_packets_as"] for each in settings}
    assert like["min-rtt", "reno"] == [
        at for at, each in enumerate(settings) if at and each["settings"][CONTROL] == "reno"
    ]
    status, out, err = call("compare", file, *arguments, "--repeat", 2)
    assert "same packets" in out
    assert "sent the same packets in every run (schedulers differ only where" in out
    different = mptcplab.compare(Scenario.load(file), vary={CONTROL: ["lia", "wvegas"]}, repeat=2, jobs=1)
    assert [each.same_packets_as for each in different.settings] == [(), ()]


def test_effects_are_means_over_the_other_factors(file: Path) -> None:
    found = mptcplab.compare(
        Scenario.load(file),
        vary={CONTROL: ["lia", "reno"], "link.two.rate": ["2 Mbit/s", "4 Mbit/s"]},
        repeat=3,
        jobs=1,
        baseline={"congestion": "reno"},
    )
    means = [each.mean.mean for each in found.settings if each.mean is not None]
    control, rate = found.effects
    assert [level.mean for level in control.levels] == pytest.approx([sum(means[:2]) / 2, sum(means[2:]) / 2])
    assert [level.mean for level in rate.levels] == pytest.approx([sum(means[::2]) / 2, sum(means[1::2]) / 2])
    assert control.levels[1].difference is None
    assert rate.levels[0].difference is None
    assert rate.levels[1].difference is not None
    assert rate.levels[1].difference.mean == pytest.approx(rate.levels[1].mean - rate.levels[0].mean)
    # Squares of both factors and of what they do together make up the whole.
    assert 0 < control.explains + rate.explains <= 1 + 1e-9
    assert rate.explains > control.explains


def test_engines_are_a_factor_like_others(file: Path, call: Call) -> None:
    arguments = ("--engines", "sim,model", "--vary", f"{CONTROL}=lia,reno", "--repeat", 2, "--json")
    status, out, err = call("compare", file, *arguments, "--set", 'connection.m.paths=["two"]')
    assert status == 0, err
    document = json.loads(out)
    assert document["factors"] == {CONTROL: ["lia", "reno"], "engine": ["sim", "model"]}
    assert [each["settings"]["engine"] for each in document["settings"]] == ["sim", "model"] * 2


def test_until_adds_seeds_or_says_how_many_more_it_would_take(file: Path, call: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    vary = ("--vary", f"{CONTROL}=lia,reno", "--repeat", 2)
    status, text, err = call("compare", file, *vary, "--until", "4 %", "--most", 60, "--out", out)
    assert status == 0, err
    document = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    halves = [(each["interval"][1] - each["interval"][0]) / 2 / each["mean"] for each in document["settings"]]
    assert max(halves) <= 0.04
    assert "All intervals are within ± 4 %" in text
    count = document["settings"][0]["n"]
    assert 2 < count <= 60
    assert pl.read_parquet(out / "connections" / "*.parquet")["seed"].n_unique() == count
    status, text, _ = call("compare", file, *vary, "--until", "0.1 %", "--most", 4)
    assert status == 0
    assert "the most allowed; ± 0.1 % would take about" in text


def test_what_out_holds_is_a_sweep_that_can_be_continued_and_summarised(file: Path, call: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    vary = ("--vary", f"{CONTROL}=lia,reno")
    assert call("compare", file, *vary, "--repeat", 2, "--out", out)[0] == 0
    names = {"comparison.json", "comparison.parquet", "report.html", "plots", "connections", "sweep.toml"}
    assert names <= {each.name for each in out.iterdir()}
    assert {"means.svg", "differences.svg", "cdf.png", "cdf.pdf"} <= {each.name for each in (out / "plots").iterdir()}
    assert pl.read_parquet(out / "comparison.parquet")["n"].to_list() == [2, 2]
    status, text, _ = call("summary", out, "--json")
    assert status == 0
    assert json.loads(text) == json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    refused = call("compare", file, *vary, "--repeat", 3, "--out", out)
    assert refused[0] == 2
    assert "--resume" in refused[2]
    assert call("compare", file, *vary, "--repeat", 3, "--out", out, "--resume")[0] == 0
    assert pl.read_parquet(out / "comparison.parquet")["n"].to_list() == [3, 3]
    # The sweep file there is one that can be run.
    assert Sweep.load(out / "sweep.toml").crossed() == [{CONTROL: "lia"}, {CONTROL: "reno"}]


def test_a_sweep_ends_with_the_comparison_of_its_variants_over_its_networks(
    file: Path, call: Call, tmp_path: Path
) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'scenario = "two.toml"\nrepeat = 2\n[design]\nkind = "lhs"\npoints = 4\n'
        f'[factor]\n"link.one.rate" = ["4 Mbit/s", "8 Mbit/s"]\n[variant]\n"{CONTROL}" = ["lia", "reno"]\n',
        encoding="utf-8",
    )
    out = tmp_path / "out"
    status, text, err = call("sweep", sweep, "--out", out, "--jobs", 2)
    assert status == 0, err
    assert "Goodput of m (Mbit/s), higher is better; 4 networks, 95% intervals" in text
    assert (out / "report.html").exists()
    found = mptcplab.Dataset(out).summary()
    assert found.block == "network"
    of_networks = (
        mptcplab.Dataset(out)
        .connections.filter(name="m")
        .group_by("point", CONTROL)
        .agg(pl.col("goodput_bps").mean())
        .pivot(CONTROL, index="point", values="goodput_bps")
    )
    apart = (of_networks["reno"] - of_networks["lia"]).mean()
    difference = found.settings[1].difference
    assert difference is not None
    assert difference.mean == pytest.approx(apart)
    assert difference.n == 4
    by_seed = mptcplab.Dataset(out).compare([CONTROL, "link.one.rate"], metric="link.one.down.utilization")
    assert len(by_seed.settings) == 8
    assert by_seed.block == "seed"


def test_a_grid_without_variants_compares_its_points_with_their_units(file: Path) -> None:
    sweep = Sweep.build(
        Scenario.load(file), factors={"link.one.rate": ["4 Mbit/s", "8 Mbit/s"]}, design={"kind": "grid"}, repeat=2
    )
    found = mptcplab.sweep(sweep, jobs=1).summary()
    assert [each.settings for each in found.settings] == [{"link.one.rate": "4 Mbit/s"}, {"link.one.rate": "8 Mbit/s"}]


def test_transfers_that_do_not_end_are_left_out_and_counted(file: Path) -> None:
    base = Scenario.load(file).with_({"connection.m.application": {"kind": "file", "size": "3 MB"}})
    found = mptcplab.compare(base, vary={"link.one.rate": ["8 Mbit/s", "100 kbit/s"]}, repeat=2, jobs=1)
    assert found.metric.name == "m.completion_s"
    assert found.unfinished > 0
    assert any("are left out" in line for line in found.lines())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--vary", "connection.m.scheduler=min-rtt,blost"), 'did you mean "blest"?'),
        (("--vary", "connection.n.scheduler=min-rtt"), 'found "n"'),
        (("--vary", "connection.m.scheduler"), "expected KEY=A,B…"),
        (("--vary", f"{CONTROL}=lia,lia"), "expected each value once"),
        (("--vary", f"{CONTROL}=lia,,reno"), "found an empty value"),
        (("--vary", f"{CONTROL}=lia,reno", "--metric", "goodputt"), 'did you mean "goodput"?'),
        (("--vary", f"{CONTROL}=lia,reno", "--metric", "n.goodput"), "there is no connection 'n'"),
        (
            ("--vary", f"{CONTROL}=lia,reno", "--metric", "completion"),
            "m never ends: give it an application with a size",
        ),
        (("--vary", f"{CONTROL}=lia,reno", "--metric", "other.completion"), "other never ends"),
        (("--vary", f"{CONTROL}=lia,reno", "--baseline", "congestion=cubic"), "congestion=cubic"),
        (
            (
                "--vary",
                f"{CONTROL}=lia,reno",
                "--vary",
                f"measure.sample={','.join(f'{n + 100} ms' for n in range(101))}",
            ),
            "at most 200",
        ),
        (("--vary", f"{CONTROL}=lia,reno", "--until", "2 ms"), 'expected a percentage, such as "2 %"'),
        (("--metric", "goodput"), "--vary KEY=A,B"),
        (("--vary", f"{CONTROL}=lia,reno", "--resume"), "--out DIR"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(
    file: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    def none(*_: object, **__: object) -> None:
        pytest.fail("something runs")

    monkeypatch.setattr(varied, "carry_out", none)
    out_arguments = () if "--metric" in arguments[:1] or "--resume" in arguments else ("--out", tmp_path / "out")
    status, out, err = call("compare", file, "--repeat", 1, *arguments, *out_arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert not (tmp_path / "out").exists()


def test_what_may_end_in_one_setting_can_be_compared_by_its_end(file: Path) -> None:
    vary = {"connection.m.stop": ["2 s", "4 s"]}
    found = mptcplab.compare(Scenario.load(file), vary=vary, metric="completion", repeat=1, jobs=1)
    first, second = found.settings
    assert first.mean is not None
    assert second.mean is None
    assert any("not known in 1 of 2 runs" in line for line in found.lines())
    assert not any("the same completion" in line for line in found.lines())


def test_all_values_that_are_wrong_are_said_at_once(file: Path, call: Call) -> None:
    _, _, err = call("compare", file, "--vary", f"{CONTROL}=lai,olai", "--vary", f"{SCHEDULER}=blost,min-rtt")
    assert err.count("error:") == 3
    assert "--vary: connection.m.congestion" in err


def test_the_summary_of_what_is_no_dataset(call: Call, tmp_path: Path) -> None:
    status, _, err = call("summary", tmp_path)
    assert status == 2
    assert "no finished dataset" in err


def test_a_factor_that_there_is_not(file: Path) -> None:
    dataset = mptcplab.sweep(Sweep.build(Scenario.load(file), {CONTROL: ["lia", "reno"]}), jobs=1)
    with pytest.raises(MetricError, match="the runs differ by"):
        dataset.compare(["connection.m.congestian"])
