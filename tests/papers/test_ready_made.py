"""Each paper has a ready-made scenario, and it is the one that the paper's study runs."""

import importlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from mptcplab import Scenario, shipped
from mptcplab.reproduce import load_paper


def part(paper: str, name: str) -> Any:
    load_paper(paper)
    return importlib.import_module(f"mptcplab_papers.{paper.replace('-', '_')}.{name}")


def chauvenne() -> Mapping[str, Any]:
    scenarios = part("chauvenne-2017", "scenarios")
    sharing = part("chauvenne-2017", "sharing")
    queue = part("chauvenne-2017", "networks").queue_packets(15, sharing.QUEUEING_MS)
    made: Mapping[str, Any] = scenarios.shared_bottleneck(
        scenarios.control("lia", "linux"), delay_ms=sharing.DELAY_MS, queue=queue, seconds=60
    )
    return made


def singh() -> Mapping[str, Any]:
    networks = part("singh-2012", "networks")
    made: Mapping[str, Any] = networks.three_users(networks.mppert(0.0), networks.times(quick=True))
    return made


def dong() -> Mapping[str, Any]:
    measure = part("dong-2018", "measure")
    made: Mapping[str, Any] = measure.burst("DMPTCP", (20, 80), [50 * 1024], tcp={"segments_per_ack": 1}, seconds=1)
    return made


def amoruso() -> Mapping[str, Any]:
    made: Mapping[str, Any] = part("amoruso-2021", "lab").Cell("E", ("wifi", "lte"), "down").scenario()
    return made


STUDIES = {
    "chauvenne-2017-shared": chauvenne,
    "singh-2012-three-users": singh,
    "dong-2018-two-paths": dong,
    "amoruso-2021-e": amoruso,
}


def simulated(scenario: Scenario) -> str:
    """What the simulator is told, without names and what is measured."""
    told = scenario.description(seed=1)

    def bare(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{key: value for key, value in row.items() if key != "name"} for row in rows]

    kept = {name: bare(told[name]) for name in ("links", "paths", "connections")}
    return json.dumps([kept, told["duration_ns"]], sort_keys=True)


@pytest.mark.parametrize("name", STUDIES)
def test_it_is_what_the_study_runs(name: str) -> None:
    assert simulated(Scenario.load(name)) == simulated(Scenario.from_dict(dict(STUDIES[name]())))


def test_every_paper_has_one() -> None:
    names = shipped.scenario_names()
    assert [paper for paper in shipped.paper_names() if not any(name.startswith(paper) for name in names)] == []


def test_scenario_e_has_the_same_links_on_a_testbed() -> None:
    """Two files, as one is the study's run and the other needs machines; the network is one."""
    study, testbed = (Scenario.load(name).description(seed=1) for name in ("amoruso-2021-e", "testbed-e"))
    for table in ("links", "paths"):
        bare = [[{key: row[key] for key in row if key != "name"} for row in each[table]] for each in (study, testbed)]
        assert bare[0] == bare[1]
