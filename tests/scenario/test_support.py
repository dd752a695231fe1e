"""What an engine cannot do is refused by name; and the table of what there is."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from mptcplab import registry
from mptcplab.scenario import Scenario, UnsupportedError

TEXT = """\
duration = "1 s"
[link.a]
rate = "1 Mbit/s"
delay = "1 ms"
[connection.c]
paths = ["a"]
[[event]]
at = "0 s"
link = "a"
set = { loss = "1 %" }
"""

REFUSED = tomllib.loads((Path(__file__).parent / "refused.toml").read_text(encoding="utf-8"))["sim"]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["set"])
def test_refused_by_name(case: dict[str, str], filled: Callable[[str], str]) -> None:
    scenario = Scenario.from_toml(TEXT, "x.toml", [case["set"]])
    assert [str(each) for each in scenario.unsupported("sim")] == [filled(case["problem"])]
    with pytest.raises(UnsupportedError) as raised:
        scenario.description()
    assert raised.value.engine == "sim"
    assert raised.value.problems == scenario.unsupported("sim")
    assert str(raised.value) == filled(case["problem"])


def test_what_runs_is_not_refused() -> None:
    assert Scenario.from_toml(TEXT).unsupported("sim") == []


def test_the_line_is_named_and_everything_is_said_at_once() -> None:
    text = TEXT.replace('paths = ["a"]', 'paths = ["a"]\nscheduler = "daps"\ncongestion = "epsilon"')
    problems = Scenario.from_toml(text, "x.toml").unsupported("linux")
    assert [(each.file, each.line, each.key, each.found) for each in problems] == [
        ("x.toml", 8, "connection.c.congestion", '"epsilon"'),
        ("x.toml", 7, "connection.c.scheduler", '"daps"'),
    ]


def generated(topology: str, traffic: str) -> list[tuple[str, str, str]]:
    scenario = Scenario.from_toml(f"""
        duration = "1 s"
        topology = {{ kind = "fat-tree", rate = "1 Gbit/s", delay = "20 us", {topology} }}
        traffic = {{ {traffic} }}
    """)
    return [(each.key, each.found, each.expected) for each in scenario.unsupported("sim")]


def test_generated_networks_run_with_every_algorithm() -> None:
    assert generated("k = 4", 'kind = "permutation"') == []
    assert generated('k = 4, queue = { kind = "codel", ecn = true }', 'kind = "random", scheduler = "daps"') == []


def test_generated_networks_have_a_largest_size() -> None:
    assert generated("k = 10", 'kind = "all-to-all"') == []  # 250 · 249 connections
    assert generated("k = 12", 'kind = "all-to-all"') == [
        ("topology.k", "12, which makes 186192 connections", "at most 64512 of them")
    ]
    assert generated("k = 128", 'kind = "permutation"') == [
        ("topology.k", "128, which makes 524288 connections", "at most 64512 of them")
    ]


def test_an_engine_that_nobody_knows() -> None:
    with pytest.raises(ValueError, match="there is no engine 'ns3'; choose from model, sim, stack, linux"):
        Scenario.from_toml(TEXT).unsupported("ns3")


def test_the_registry_is_complete_and_consistent() -> None:
    for family, entries in registry.FAMILIES.items():
        assert entries
        assert len(set(registry.names(family))) == len(entries)
        for entry in entries:
            assert registry.find(family, entry.name) is entry
            assert entry.summary
            assert entry.source
            assert set(entry.engines) <= set(registry.ENGINES)
            for parameter in entry.parameters:
                assert entry.parameter(parameter.name) is parameter
                assert parameter.summary
                assert bool(parameter.choices) == (parameter.kind == "word")
                if parameter.choices and parameter.absent is None:
                    assert parameter.default in parameter.choices
                numeric = parameter.kind not in ("flag", "word", "length", "limit", "largest packet")
                assert numeric == (parameter.minimum is not None) == (parameter.maximum is not None)
            for order in entry.orders:
                assert entry.parameter(order.low) is not None
                assert entry.parameter(order.high) is not None
    assert registry.find("congestion", "nothing") is None
    built = {"reno", "cubic", "ewtcp", "coupled", "lia", "olia", "balia", "wvegas"}
    assert built <= set(registry.names("congestion", "sim"))


@pytest.mark.parametrize(
    ("family", "key"),
    [("congestion", "congestion"), ("schedulers", "scheduler"), ("path-managers", "path_manager")],
)
def test_every_name_of_the_registry_is_accepted(family: str, key: str) -> None:
    for entry in registry.FAMILIES[family]:
        scenario = Scenario.from_toml(TEXT, "x.toml", [f"connection.c.{key}={entry.name}"])
        refused = [problem.key for problem in scenario.unsupported("sim")]
        assert refused == ([] if "sim" in entry.engines else [f"connection.c.{key}"])
