"""Minitopo's files: the values of its documentation, and what has no counterpart, with its line."""

from pathlib import Path
from typing import Any

import pytest
from mptcplab import Scenario, ScenarioError
from mptcplab.cli.app import invoke
from mptcplab.scenario import minitopo

TOPOLOGY = """desc:Two paths
topoType:MultiIf
leftSubnet:10.0.
#path_x:delay,queueSize,bw
path_c2r_0:10,10,5
path_c2r_1:40,30,5,1
"""


def written(place: Path, topology: str, experiment: str | None = None) -> Scenario:
    (place / "topo").write_text(topology)
    file = None
    if experiment is not None:
        file = place / "xp"
        file.write_text(experiment)
    return Scenario.from_toml(minitopo.convert(place / "topo", file))


def wrong(place: Path, topology: str, experiment: str | None = None) -> list[tuple[str, int | None, str]]:
    with pytest.raises(ScenarioError) as error:
        written(place, topology, experiment)
    return [(Path(problem.file).name, problem.line, problem.key) for problem in error.value.problems]


def named(value: Any) -> str:
    """An algorithm's name, whether it has parameters or not."""
    name: str = value if isinstance(value, str) else value["name"]
    return name


def test_a_topology_alone(tmp_path: Path) -> None:
    """Minitopo's buffer is the product, 9 and 34 packets, and what the link sends in the 22 and 68 ms of the queue."""
    scenario = written(tmp_path, TOPOLOGY)
    assert scenario == Scenario.from_toml("""
title = "Two paths"
duration = "60 s"
[link.c2r-0]
rate = "5 Mbit/s"
delay = "10 ms"
queue = "27250 B"
[link.c2r-1]
rate = "5 Mbit/s"
delay = "40 ms"
queue = "93500 B"
loss = "1 %"
[connection.flow]
paths = ["c2r-0", "c2r-1"]
congestion = "olia"
""")


def test_a_queue_that_is_not_given_is_the_product_of_bandwidth_and_delay(tmp_path: Path) -> None:
    # 5 Mbit/s for 20 ms are 12,500 bytes: 8.3 packets of 1,500.
    scenario = written(tmp_path, "path_0:10,5\n")
    assert scenario.to_dict()["link"]["path-0"]["queue"] == "9 packets"


def test_iperf(tmp_path: Path) -> None:
    experiment = "xpType:iperf\niperfTime:8\niperfParallel:2\ncongctrl:lia\nsched:roundrobin\nrmem:9000 300000 300000\n"
    flow = written(tmp_path, TOPOLOGY, experiment)
    assert flow.duration_ns == 8_000_000_000
    (table,) = flow.to_dict()["connection"].values()
    assert named(table["congestion"]) == "lia"
    assert named(table["scheduler"]) == "round-robin"
    assert (table["direction"], table["count"], table["receive_buffer"]) == ("up", 2, "150 kB")


@pytest.mark.parametrize(
    ("experiment", "size"),
    [("xpType:https\nfile_size:20\n", 20 * 1024), ("xpType:nc\nddIBS:2k\nddCount:100\n", 204_800)],
)
def test_files(tmp_path: Path, experiment: str, size: int) -> None:
    scenario = written(tmp_path, TOPOLOGY, experiment)
    (connection,) = scenario.description()["connections"]
    assert connection["application"]["size_bytes"] == size


def test_tcp_takes_the_first_path(tmp_path: Path) -> None:
    scenario = written(tmp_path, TOPOLOGY, "mptcpEnabled:0\ncongctrl:cubic\n")
    (table,) = scenario.to_dict()["connection"].values()
    assert (table["protocol"], table["paths"], named(table["congestion"])) == ("tcp", ["c2r-0"], "cubic")


@pytest.mark.parametrize(
    ("topology", "experiment", "paths"),
    [
        (TOPOLOGY.replace("5,1\n", "5,1,1\n"), "", ["c2r-0", "c2r-1"]),
        (TOPOLOGY, "backup_path_0:1\n", ["c2r-1", "c2r-0"]),
    ],
)
def test_backups(tmp_path: Path, topology: str, experiment: str, paths: list[str]) -> None:
    (table,) = written(tmp_path, topology, experiment).to_dict()["connection"].values()
    assert (named(table["path_manager"]), table["paths"]) == ("backup", paths)


def test_a_link_that_goes_and_comes_back(tmp_path: Path) -> None:
    """Netem's clock is two seconds ahead, and a command says all that netem does: without a delay there is none."""
    changes = (
        "changeNetem:yes\nnetemAt_c2r_0:4,loss 100%\nnetemAt_c2r_0:6,delay 10ms loss 2 limit 50000\n"
        "netemAt_c2r_1:5,delay 20ms\n"
    )
    events = written(tmp_path, TOPOLOGY + changes).to_dict()["event"]
    assert [(event["at"], event["link"]) for event in events] == [("2 s", "c2r-0"), ("3 s", "c2r-1"), ("4 s", "c2r-0")]
    assert events[0]["set"] == {"delay": "0 s", "down": True}
    assert events[1]["set"] == {"delay": "20 ms", "loss": "0 %"}
    assert events[2]["set"] == {"delay": "10 ms", "down": False, "loss": "2 %"}
    assert "event" not in written(tmp_path, TOPOLOGY + changes.replace("yes", "false")).to_dict()


def test_links_of_the_server_make_a_path_for_each_pair_of_addresses(tmp_path: Path) -> None:
    scenario = written(tmp_path, TOPOLOGY + "path_r2s_0:5,50,50\npath_r2s_1:5,50,50\n", "xpType:iperf\n")
    assert [scenario.document.path_links(path) for path in scenario.document.connections["flow"].paths] == [
        ("c2r-0", "r2s-0"),
        ("c2r-0", "r2s-1"),
        ("c2r-1", "r2s-0"),
        ("c2r-1", "r2s-1"),
    ]


def test_several_subflows_beside_tcp_on_each_link(tmp_path: Path) -> None:
    topology = TOPOLOGY.replace("MultiIf", "MultiIfMultiClient")
    experiment = "xpType:iperfScenario\niperfScenarioFMSublows:3\nsnaplenPcap:100\n"
    scenario = written(tmp_path, topology, experiment)
    connections = scenario.document.connections
    assert scenario.duration_ns == 50_000_000_000
    assert len(connections["flow"].paths) == 6
    assert [scenario.document.path_links(path) for path in connections["flow"].paths[2:4]] == [("c2r-0",), ("c2r-1",)]
    table = scenario.to_dict()["connection"]
    assert [(table[name]["start"], table[name]["stop"]) for name in ("flow1", "flow2")] == [
        ("10 s", "30 s"),
        ("20 s", "40 s"),
    ]
    # The other hosts are of that topology alone.
    assert wrong(tmp_path, TOPOLOGY, experiment) == [("xp", 1, "xpType")]
    assert wrong(tmp_path, topology, "xpType:iperf\n") == [("xp", 1, "xpType")]


def test_messages_are_pings(tmp_path: Path) -> None:
    experiment = "xpType:msg\nmsgClientSleep:0.25\nmsgServerSleep:0\nmsgNbRequests:20\nmsgBytes:1000\n"
    scenario = written(tmp_path, TOPOLOGY, experiment)
    (connection,) = scenario.description()["connections"]
    assert connection["application"] == {"kind": "ping", "size_bytes": 1000, "interval_ns": 250_000_000}
    assert scenario.duration_ns == 6_000_000_000
    assert wrong(tmp_path, TOPOLOGY, experiment.replace("ServerSleep:0", "ServerSleep:1")) == [
        ("xp", 3, "msgServerSleep")
    ]


def test_every_fault_has_its_line_and_key(tmp_path: Path) -> None:
    topology = "topoType:MultiIfCong\npath_0:10,x,5\nleftSubnt:3\nfoo\nchangeNetem:yes\nnetemAt_0:soon,loss 1%\n"
    experiment = "xpType:vlc\n\nsched:defalt\n"
    assert set(wrong(tmp_path, topology, experiment)) == {
        ("topo", 1, "topoType"),
        ("topo", 2, "path_0"),
        ("topo", 3, "leftSubnt"),
        ("topo", 4, ""),
        ("topo", 6, "netemAt_0"),
        ("xp", 1, "xpType"),
        ("xp", 3, "sched"),
    }
    assert wrong(tmp_path, "desc:nothing\n") == [("topo", None, "")]
    assert wrong(tmp_path, TOPOLOGY + "path_c2r_1:1,1,1\n") == [("topo", 7, "path_c2r_1")]
    assert wrong(tmp_path, TOPOLOGY, "rmem:1 2\n") == [("xp", 1, "rmem")]
    three = TOPOLOGY.replace("5,1\n", "5,1,1\n") + "path_c2r_2:1,5\n"
    assert wrong(tmp_path, three) == [("topo", None, "")], "one backup and two others"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "topo").write_text(TOPOLOGY)
    (tmp_path / "xp").write_text("xpType:iperf\nclientPcap:yes\n")
    out = tmp_path / "scenario.toml"
    assert invoke(["import", "minitopo", str(tmp_path / "topo"), str(tmp_path / "xp"), "--out", str(out)]) == 0
    assert "# Without a counterpart: clientPcap." in out.read_text()
    assert Scenario.load(out).duration_ns == 10_000_000_000
    assert invoke(["import", "minitopo", str(tmp_path / "topo"), "--out", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert invoke(["import", "minitopo", str(tmp_path / "no")]) == 2
