"""Answers on real simulations: the right side of clear cases, the same for the same seed, and usable."""

import json
import math
import re
from pathlib import Path

import mptcplab
import pytest
from mptcplab import Advice, AdviceError, Scenario
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.commands import commands
from mptcplab.advice.report import page, rows
from mptcplab.advice.traffic import figure
from mptcplab.cli.app import invoke
from mptcplab.scenario.applications import Ping

EQUAL = ["one: 10/5 Mbit/s, 20 ms, queue 50 ms", "two: 10/5 Mbit/s, 20 ms, queue 50 ms"]
AS_GOOD = math.log(0.98)
"""Of TCP the better known control wins within 2 % (docs/advise.md)."""
UNEVEN = ["good: 20/10 Mbit/s, 10 ms, queue 30 ms", "bad: 0.2/0.2 Mbit/s, 400 ms, 4 %, queue 30 ms"]


@pytest.fixture(scope="module")
def equal() -> Advice:
    return mptcplab.advise(paths=EQUAL, traffic="bulk", budget=0.3)


@pytest.fixture(scope="module")
def uneven() -> Advice:
    return mptcplab.advise(paths=UNEVEN, traffic="web", budget=0.3, metered=["bad"], caps=["bad: 1 GB/day"])


def test_two_equal_paths_are_joined(equal: Advice) -> None:
    """One path carries 10 Mbit/s less 4 % of headers; together they come near twice as much."""
    best = equal.best
    assert not best.candidate.is_tcp
    value = best.values["bulk"]
    assert 1.7 * 9.6e6 < value.mean < 2 * 9.6e6
    assert value.low * (1 - 1e-9) <= value.mean <= value.high * (1 + 1e-9)
    assert math.exp(best.gain.mean) == pytest.approx(value.mean / equal.best_single_path.values["bulk"].mean, rel=0.02)
    assert best.below_best_path == 0
    assert sum(best.shares.values()) == pytest.approx(1)


def test_a_path_that_only_harms_is_left_alone(uneven: Advice) -> None:
    best = uneven.best
    assert best.candidate.paths[0] == "good"
    assert best.shares["bad"] < 0.01
    assert best.gain.low >= AS_GOOD


def test_the_answer_is_never_below_the_best_path(equal: Advice, uneven: Advice) -> None:
    """One path, with others as backup, need not be better than TCP on it."""
    for advice in (equal, uneven):
        for each in advice.recommended:
            one = each.candidate.is_tcp or len(each.candidate.paths) == 1
            assert each.gain.low >= (AS_GOOD if one else 0)


def test_everybody_who_was_dropped_has_a_reason(equal: Advice) -> None:
    kept = {each.candidate for each in (*equal.recommended, equal.best_single_path)}
    dropped = dict(equal.dropped)
    assert not kept & set(dropped)
    assert len(kept) + len(dropped) >= 180
    assert {each.stock for each in dropped} == {True, False}
    assert all(reason.strip() for reason in dropped.values())


def test_the_answer_is_the_same_with_any_jobs(equal: Advice) -> None:
    again = mptcplab.advise(paths=EQUAL, traffic="bulk", budget=0.3, jobs=1)
    assert again.to_json() == equal.to_json()
    other = mptcplab.advise(paths=EQUAL, traffic="bulk", budget=0.3, seed=2)
    assert other.to_json() != equal.to_json()


def test_the_settings_are_those_of_run(equal: Advice, tmp_path: Path) -> None:
    file = tmp_path / "saved.toml"
    file.write_text(equal.scenario().to_toml(), encoding="utf-8")
    scenario = Scenario.load(file)
    assert scenario.with_(equal.best.settings) == scenario
    goodput = mptcplab.run(scenario).connections["goodput_bps"][0]
    assert goodput == pytest.approx(equal.best.values["bulk"].mean, rel=0.05)


def test_numbers_of_sentences_are_those_of_the_answer(equal: Advice) -> None:
    value = equal.best.values["bulk"].mean
    spoken = re.match(r"([0-9.]+) Mbit/s against ([0-9.]+) Mbit/s", equal.best.reasons[0])
    assert spoken is not None
    assert float(spoken[1]) == pytest.approx(value / 1e6, rel=0.02)
    assert float(spoken[2]) == pytest.approx(equal.best_single_path.values["bulk"].mean / 1e6, rel=0.02)
    _, cells = rows(equal)
    assert cells[0][0] == equal.best.label


def test_linux_is_advised_on_what_it_can_do() -> None:
    advice = mptcplab.advise(paths=EQUAL, traffic="calls", purpose="linux", budget=0.2)
    tried = [each for each in advice.results if not each.is_tcp]
    assert {each.scheduler for each in tried} == {"linux"}
    assert any("sysctl" in command for command in advice.best.commands["ip"])


def test_a_scenario_file_keeps_its_traffic_and_neighbours() -> None:
    scenario = Scenario.load("wifi-lte").with_(duration="6 s")
    advice = mptcplab.advise(scenario, budget=0.1)
    assert advice.question.targets == ("download",)
    assert advice.best.neighbours is None or advice.best.neighbours > 0
    scenario.with_(advice.best.settings)


def test_a_call_takes_a_round_trip_and_two_messages() -> None:
    """8 ms, and 1,052 bytes (52 are headers) at 20 and at 90 Mbit/s: no queue, no delayed acknowledgment."""
    paths = ["fibre: 90/20 Mbit/s, 8 ms", "lte: 40/10 Mbit/s, 45 ms"]
    advice = mptcplab.advise(paths=paths, traffic="calls", budget=0.05)
    expected_s = 0.008 + 8 * 1052 / 20e6 + 8 * 1052 / 90e6
    assert advice.best_single_path.candidate.paths == ("fibre",)
    assert advice.best_single_path.values["call"].mean == pytest.approx(expected_s, rel=0.001)


def test_an_acknowledgment_that_waits_for_the_next_message_is_no_queue() -> None:
    """400 kbit/s on 20 and 10 Mbit/s: with `redundant` the second path's RTT samples are 15 ms longer than its RTT."""
    paths = ["wifi: 20/10 Mbit/s, 10 ms, 1.5 %", "lte: 20/10 Mbit/s, 40 ms"]
    advice = mptcplab.advise(paths=paths, traffic="calls", budget=0.05)
    assert all(value is None for value in advice.best.queueing_s.values())
    assert not any("queues" in sentence for sentence in advice.best.reasons)


def test_a_download_has_a_figure_of_its_queues(equal: Advice) -> None:
    assert all(value is not None for value in equal.best.queueing_s.values())
    assert page(equal).count('class="plot"') == 2


def test_messages_that_the_end_overtakes_count_as_the_others() -> None:
    """30 ms, and 1,052 bytes at 2 Mbit/s each way: two of 600 messages are under way when the call ends after 12 s."""
    paths = ["near: 2/2 Mbit/s, 30 ms, queue 50 ms", "far: 1/1 Mbit/s, 80 ms, queue 50 ms"]
    advice = mptcplab.advise(paths=paths, traffic="calls", purpose="linux", budget=0.02)
    value = advice.best_single_path.values["call"].mean
    assert value == pytest.approx(0.030 + 2 * 8 * 1052 / 2e6, rel=0.001)


def rows_of(starts_s: list[float], times_s: list[float], begun: int) -> list[dict[str, object]]:
    return [{"transfers": {"start_s": starts_s, "completion_s": times_s, "begun": begun}}]


def test_a_call_that_hangs_at_its_end_has_waited() -> None:
    """Answers took 20 ms; four more messages, from 0.2 s on, have none at 1 s: 0.8, 0.7, 0.6 and 0.5 s."""
    call = {"application": {"kind": "ping", "interval_ns": 100_000_000}, "stop_ns": 1_000_000_000}
    hanging = figure(call, rows_of([0.0, 0.1], [0.02, 0.02], 6), 2.0)
    assert hanging.value == pytest.approx((0.04 + 0.8 + 0.7 + 0.6 + 0.5) / 6)
    assert figure(call, rows_of([0.8, 0.9], [0.02, 0.02], 2), 2.0).value == pytest.approx(0.02)
    assert figure(call, rows_of([], [], 3), 2.0).value == 1.0


def test_a_page_that_the_end_overtakes_counts_as_the_others() -> None:
    """Pages of 1.2 s, a second apart, until 12 s: the last began at 10.8 s or, where it hangs, at 7.2 s. Not 18 s."""
    mix = {"application": {"kind": "web", "think_ns": 1_000_000_000, "pages": None}, "stop_ns": 12_000_000_000}
    assert figure(mix, rows_of([6.4, 8.6], [1.2, 1.2], 3), 18.0).value == pytest.approx(1.2)
    assert figure(mix, rows_of([2.8, 5.0], [1.2, 1.2], 3), 18.0).value == pytest.approx((2.4 + 4.8) / 3)
    three = {"application": {"kind": "web", "pages": 3}, "stop_ns": None}
    assert figure(three, rows_of([0.0, 2.2], [1.2, 1.2], 3), 30.0).value == pytest.approx((2.4 + 30) / 3)


def test_a_request_that_the_end_overtakes_has_waited() -> None:
    """One after the other, without a pause: from 0.5 to 3 s."""
    asked = {"application": {"kind": "requests"}, "stop_ns": None}
    assert figure(asked, rows_of([0.1, 0.3], [0.2, 0.2], 3), 3.0).value == pytest.approx((0.4 + 2.5) / 3)


def test_a_scenario_file_can_carry_other_traffic() -> None:
    """The fastest path has 30 Mbit/s down and 5 up, of which a call of 400 kbit/s takes less than a third."""
    scenario = Scenario.load("wifi-lte").with_(duration="6 s")
    advice = mptcplab.advise(scenario, traffic="calls", budget=0.05)
    assert advice.question.targets == ("download",)
    call = advice.scenario().document.connections["download"].application
    assert isinstance(call, Ping)
    assert (call.size, call.interval) == (1000, 20_000_000)
    assert advice.scenario().duration_ns == 13_000_000_000
    assert set(advice.scenario().document.connections) == set(scenario.document.connections)
    with pytest.raises(AdviceError, match="sends up; expected bulk"):
        mptcplab.advise(scenario.with_({"connection.download.direction": "up"}), traffic="video")


@pytest.mark.parametrize(
    ("application", "unit"),
    [
        ("bulk", "bit/s"),
        ({"kind": "file", "size": "200 kB"}, "s"),
        ({"kind": "requests", "size": "20 kB"}, "s"),
        ({"kind": "rate", "rate": "1 Mbit/s"}, "s"),
        ({"kind": "ping", "interval": "100 ms"}, "s"),
        ({"kind": "video", "ladder": ["1 Mbit/s", "4 Mbit/s"]}, "bit/s"),
        ({"kind": "web", "objects": [{"size": "30 kB"}, {"size": "20 kB", "count": 4}], "pages": 2}, "s"),
    ],
)
def test_every_application_of_a_file_has_its_figure(application: object, unit: str) -> None:
    changes = {"connection.download.application": application, "measure.warmup": "0 s"}
    scenario = Scenario.load("wifi-lte").with_(changes, duration="4 s")
    value = mptcplab.advise(scenario, purpose="linux", budget=0.02).best.values["download"]
    assert value.unit == unit
    assert 0 < value.low <= value.high


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"paths": EQUAL, "traffic": "gaming"}, "--traffic"),
        ({"paths": EQUAL, "purpose": "windows"}, "--for"),
        ({"paths": EQUAL, "metered": ["three"]}, "--metered"),
        ({"paths": EQUAL, "prefer": "cheap"}, "--prefer"),
        ({"paths": EQUAL, "direction": "sideways"}, "--direction"),
        ({"paths": EQUAL, "direction": "up", "traffic": "web"}, "--direction up"),
        ({"paths": EQUAL, "connection": "x"}, "--connection"),
        ({"paths": EQUAL, "budget": 0.0}, "budget"),
        ({}, "the network"),
        ({"scenario": "wifi-lte", "paths": EQUAL}, "the network"),
        ({"scenario": "wifi-lte", "connection": "neighbour"}, "--connection neighbour"),
        ({"scenario": "one-link"}, "one-link"),
        ({"scenario": "fat-tree"}, "fat-tree"),
    ],
)
def test_a_question_that_is_wrong_says_where(arguments: dict[str, object], where: str) -> None:
    with pytest.raises(AdviceError) as caught:
        mptcplab.advise(**arguments)  # type: ignore[arg-type]
    assert where in str(caught.value)
    assert "; expected " in str(caught.value)


def command(*arguments: str) -> list[str]:
    return ["advise", *(word for path in EQUAL for word in ("--path", path)), "--budget", "0.1", *arguments]


def test_the_command_prints_an_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, saved = tmp_path / "advice", tmp_path / "best.toml"
    assert invoke(command("--traffic", "calls", "--all", "--out", str(out), "--save", str(saved))) == 0
    text = capsys.readouterr().out
    assert "On your kernel: " in text
    assert "Dropped:" in text
    page = (out / "report.html").read_text(encoding="utf-8")
    # Messages tell nothing of queues: the page has the figure of the runs alone.
    assert page.count('class="plot"') == 1
    assert json.loads((out / "advice.json").read_text(encoding="utf-8"))["recommended"]
    assert Scenario.load(saved) == Scenario.load(out / "scenario.toml")
    assert invoke(command("--traffic", "calls", "--out", str(out))) == 0
    (out / "mine.txt").write_text("mine", encoding="utf-8")
    assert invoke(command("--traffic", "calls", "--out", str(out))) == 2


def test_what_is_saved_finds_its_traces_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file elsewhere names them absolutely, a directory has them beside it; both are the network of the question."""
    (tmp_path / "asked" / "traces").mkdir(parents=True)
    place = Path(__file__).parents[2] / "scenarios"
    asked = tmp_path / "asked" / "mine.toml"
    text = (place / "lte-trace.toml").read_text(encoding="utf-8")
    asked.write_text(text.replace('"30 s"', '"3 s"').replace('"5 s"', '"1 s"'), encoding="utf-8")
    (tmp_path / "asked" / "traces" / "lte-down.trace").write_bytes((place / "traces/lte-down.trace").read_bytes())
    monkeypatch.chdir(tmp_path / "asked")
    out, saved = tmp_path / "there" / "advice", tmp_path / "there" / "best.toml"
    saved.parent.mkdir()
    arguments = ["advise", "mine.toml", "--budget", "0.02", "--out", str(out), "--save", str(saved)]
    assert invoke(arguments) == 0
    monkeypatch.chdir("/")
    first, second = (mptcplab.run(Scenario.load(file)).connections for file in (saved, out / "scenario.toml"))
    assert first["goodput_bps"].to_list() == second["goodput_bps"].to_list()


def test_dctcp_is_tried_only_where_queues_mark() -> None:
    marking = {f"link.{name}.queue": {"kind": "dualpi2"} for name in ("wifi", "lte")}
    scenario = Scenario.load("wifi-lte").with_(marking, duration="6 s")
    tried = mptcplab.advise(scenario, budget=0.02)
    assert not any("not tried: DCTCP" in reason for _, reason in tried.dropped)
    plain = mptcplab.advise(Scenario.load("wifi-lte").with_(duration="6 s"), budget=0.02)
    unmarked = {each.congestion for each, reason in plain.dropped if "not tried: DCTCP" in reason}
    assert unmarked == {"dctcp"}
    assert "dctcp" not in {each.congestion for each in plain.results}


def test_the_kernels_bbr_is_version_1() -> None:
    stock = Candidate("bbr", "linux", ("one", "two"), stock=True)
    assert stock.keys()["congestion"] == {"name": "bbr", "variant": "linux"}
    assert "modprobe tcp_bbr" in commands(stock, ("one", "two"))["ip"]
    assert commands(Candidate("bbr", "min-rtt", ("one", "two")), ("one", "two"))["ip"] == ()


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(command("--traffic", "calls", "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    best = document["recommended"][0]
    assert set(best) >= {"settings", "expected", "range", "below_best_path", "reasons", "commands"}
    assert document["best_single_path"]["settings"]["connection.call.protocol"] == "tcp"


@pytest.mark.parametrize(
    "arguments", [("--cap", "one: 20 GB"), ("--traffic", "x"), ("--path", "three: 0 %"), ("--metered", "three")]
)
def test_wrong_input_is_status_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(command(*arguments)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "; expected " in shown.err.replace("\n", " ")


def test_a_direction_has_its_own_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """16 + 1 Mbit/s down and 4 + 12 up, less 4 % of headers."""
    paths = ["--path", "a: 16/4 Mbit/s, 20 ms, queue 50 ms", "--path", "b: 1/12 Mbit/s, 20 ms, queue 50 ms"]
    question = ["advise", *paths, "--traffic", "bulk", "--direction", "both", "--budget", "0.1", "--for", "linux"]
    assert invoke([*question, "--json"]) == 0
    both = json.loads(capsys.readouterr().out)
    for way, most in (("down", 17e6), ("up", 16e6)):
        assert 0.8 * most < both[way]["recommended"][0]["expected"]["value"] < most
    assert invoke(question) == 0
    said = capsys.readouterr().out
    assert said.index("Downloads") < said.index("Uploads") < said.index("Who sends chooses the control")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--traffic", "web"], "the traffic web"),
        (["--traffic", "bulk", "--out", "x"], "found --out or --save"),
    ],
)
def test_both_directions_are_for_transfers(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    paths = ["--path", "a: 16/4 Mbit/s, 20 ms", "--path", "b: 1/12 Mbit/s, 20 ms"]
    assert invoke(["advise", *paths, "--direction", "both", *words]) == 2
    assert said in capsys.readouterr().err.replace("\n", " ")


def test_the_traffic_of_a_file_is_named() -> None:
    text = str(mptcplab.advise(Scenario.load("wifi-lte").with_(duration="6 s"), budget=0.02, purpose="linux"))
    assert text.startswith("connection download: bulk for 6 s: goodput.")
