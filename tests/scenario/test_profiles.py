"""Profiles: what a name stands for, and that a scenario can say the same switch by switch."""

from typing import Any

import pytest
from mptcplab import profiles
from mptcplab.scenario import Scenario, ScenarioError

LINK: dict[str, Any] = {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "20 packets"}
NAMES = [profile.name for profile in profiles.PROFILES]


def scenario(**connection: Any) -> Scenario:
    paths = ["one"] if connection.get("protocol") == "tcp" else ["one", "two"]
    return Scenario.from_dict(
        {"duration": "2 s", "link": {"one": LINK, "two": LINK}, "connection": {"c": {"paths": paths, **connection}}}
    )


def singly(name: str, **connection: Any) -> dict[str, Any]:
    """The connection with each switch written out by hand, as a reader of `mptcplab list profiles` would."""
    profile = profiles.find(name)
    assert profile is not None
    table: dict[str, Any] = dict(connection)
    for switch in profile.switches:
        key, *rest = switch.key.split(".", 1)
        if key in ("congestion", "scheduler"):
            algorithm, parameter = rest[0].rsplit(".", 1)
            if table.get(key, {"congestion": "lia", "scheduler": "min-rtt"}[key]) == algorithm:
                table[key] = {"name": algorithm}
            if isinstance(table.get(key), dict) and table[key]["name"] == algorithm:
                table[key][parameter] = switch.value
        elif rest:
            table.setdefault(key, {})[rest[0]] = switch.value
        else:
            table[key] = switch.value
    return table


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("congestion", ["lia", "olia", "cubic"])
def test_a_profile_is_what_its_switches_say_one_by_one(name: str, congestion: str) -> None:
    named = scenario(profile=name, congestion=congestion)
    assert named == scenario(**singly(name, congestion=congestion))
    assert named != scenario(congestion=congestion)
    assert "profile" not in named.to_toml()
    assert Scenario.from_toml(named.to_toml(), "again.toml") == named


@pytest.mark.parametrize("name", NAMES)
def test_no_switch_stands_twice_and_each_has_a_source(name: str) -> None:
    profile = profiles.find(name)
    assert profile is not None
    keys = [switch.key for switch in profile.switches]
    assert len(set(keys)) == len(keys)
    assert all(switch.source for switch in profile.switches)


@pytest.mark.parametrize("name", NAMES)
def test_tcp_takes_what_concerns_it(name: str) -> None:
    told = scenario(profile=name, protocol="tcp").to_toml()
    assert "orp" not in told
    assert "lia" not in told


def test_what_the_scenario_says_itself_is_stronger() -> None:
    for own in ({"tcp": {"growth": "bytes"}}, {"congestion": {"name": "lia", "variant": "paper"}}):
        connection = scenario(profile="linux-3.0", **own).document.connections["c"]
        if "tcp" in own:
            assert connection.tcp.growth == "bytes"
            assert connection.tcp.loss_detection == "sack"
        else:
            assert connection.congestion.parameters["variant"] == "paper"
            assert connection.scheduler.parameters["reinjection"] == "orp"


def test_a_scheduler_of_another_name_has_none_of_it() -> None:
    connection = scenario(profile="mptcp-0.9x", scheduler="round-robin").document.connections["c"]
    assert connection.scheduler.name == "round-robin"
    assert "reinjection" not in connection.scheduler.parameters


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"profile": "linux-3"}, 'found "linux-3"; expected "linux-3.0"'),
        ({"profile": 3}, "found 3; expected"),
        ({"profile": "htsim", "tcp": 5}, "connection.c.tcp: found 5"),
        ({"profile": "htsim", "tcp": {"rto_min": "5"}}, 'connection.c.tcp.rto_min: found "5"'),
        ({"profile": "linux-3.0", "congestion": ["lia"]}, "connection.c.congestion: found"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(**given)
    assert told in str(refused.value)


def test_generated_traffic_has_profiles_too() -> None:
    topology = {"kind": "fat-tree", "k": 4, "rate": "10 Mbit/s", "delay": "1 ms", "queue": "20 packets"}
    traffic = {"kind": "permutation", "protocol": "tcp", "profile": "htsim"}
    read = Scenario.from_dict({"duration": "1 s", "topology": topology, "traffic": traffic})
    assert 'rto_min = "250 ms"' in read.to_toml()
