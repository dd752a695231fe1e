"""`--set key=value`."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from mptcplab.scenario import Scenario, ScenarioError

REFUSED = tomllib.loads((Path(__file__).parent / "refused.toml").read_text(encoding="utf-8"))["override"]

TEXT = """\
duration = "30 s"
[link.wifi]
rate = "25 Mbit/s"
delay = "12.5 ms"
[link."l.t e"]
rate = "30 Mbit/s"
delay = "30 ms"
[connection.download]
paths = ["wifi", "l.t e"]
[[event]]
at = "10 s"
link = "wifi"
set = { down = true }
"""


def read(*overrides: str) -> Scenario:
    return Scenario.from_toml(TEXT, "x.toml", overrides)


def refused(*overrides: str) -> list[str]:
    with pytest.raises(ScenarioError) as raised:
        read(*overrides)
    return [str(problem) for problem in raised.value.problems]


@pytest.mark.parametrize("text", ["10 Mbit/s", '"10 Mbit/s"', "'10 Mbit/s'", "  10 Mbit/s  "])
def test_a_string_needs_no_quotes(text: str) -> None:
    link = read(f"link.wifi.rate={text}").document.links["wifi"]
    assert link.direction("down").rate_bps == 10_000_000


def test_what_is_toml_is_read_as_toml() -> None:
    scenario = read(
        "seed=7",
        "event.0.set.down=false",
        'event.0.set={ rate = "1 Mbit/s" }',
        'connection.download.paths=["wifi"]',
        'connection.download.congestion={ name = "mppert", k = -0.5 }',
    )
    assert scenario.seed == 7
    assert scenario.document.events[0].set.rate == 1_000_000
    assert scenario.document.events[0].set.down is None
    assert scenario.document.connections["download"].paths == ("wifi",)
    assert scenario.document.connections["download"].congestion.parameters["k"] == -0.5


def test_a_parameter_stands_beside_the_name_of_its_algorithm() -> None:
    scenario = read("connection.download.congestion=mppert", "connection.download.congestion.k=0.5")
    assert scenario.document.connections["download"].congestion.name == "mppert"
    assert scenario.document.connections["download"].congestion.parameters["k"] == 0.5
    scenario = read("connection.download.scheduler=round-robin", "connection.download.scheduler.segments=3")
    assert scenario.document.connections["download"].scheduler.parameters["segments"] == 3
    assert refused("connection.download.congestion=reno", "connection.download.congestion.k=0.5") == [
        '--set: connection.download.congestion.k: found an unknown parameter "k"; '
        "expected one of the parameters of reno: variant"
    ]


def test_names_with_dots_and_spaces_are_quoted() -> None:
    scenario = read('link."l.t e".down.rate=1 Mbit/s')
    assert scenario.document.links["l.t e"].direction("down").rate_bps == 1_000_000
    assert scenario.document.links["l.t e"].direction("up").rate_bps == 30_000_000


def test_an_equals_sign_in_a_value_and_in_a_name() -> None:
    assert read("title=a = b").title == "a = b"
    assert refused('link."a=b".rate=1') == [
        '--set: link."a=b": found "a=b"; expected the link "wifi" or "l.t e"',
    ]


def test_the_last_of_two_holds() -> None:
    assert read("seed=1", "seed=2").seed == 2


def test_tables_that_the_file_does_not_have_are_made() -> None:
    assert read("measure.warmup=1 s").document.measure.warmup == 1_000_000_000
    link = read("link.wifi.up.loss=1 %").document.links["wifi"]
    assert link.direction("up").loss.written() == "1 %"
    assert link.direction("down").loss.written() == "0 %"
    assert "new" in read('link.new={ rate = "1 Mbit/s", delay = "1 ms" }').document.links


def test_the_scenario_itself_is_not_changed() -> None:
    scenario = read()
    changed = scenario.with_("link.wifi.rate=1 Mbit/s")
    assert scenario == read()
    assert changed != scenario
    assert changed.with_("seed=9").document.links["wifi"].direction("up").rate_bps == 1_000_000
    assert changed.name == scenario.name == "x"


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["set"])
def test_refused(case: dict[str, str], filled: Callable[[str], str]) -> None:
    assert refused(case["set"]) == [filled(case["problem"])]


def test_all_problems_of_overrides_and_file_at_once() -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.from_toml(TEXT.replace('"25 Mbit/s"', "25"), "x.toml", ["nonsense", "seed=x", "link.wifi.delay=1"])
    assert [(problem.file, problem.key, problem.line) for problem in raised.value.problems] == [
        ("--set", "", None),
        ("--set", "seed", None),
        ("x.toml", "link.wifi.rate", 3),
        ("--set", "link.wifi.delay", None),
    ]


def test_a_table_that_only_an_override_has_is_the_overrides() -> None:
    [said] = refused("nolink.x=5")
    assert said.startswith('--set: nolink: found an unknown key "nolink"')
    [said] = refused("connection.download.tcp.nothing.more=5")
    assert said.startswith("--set: connection.download.tcp.nothing")
