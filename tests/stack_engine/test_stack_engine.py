"""The engine stack, for real: what it answers beside the engine sim's."""

import os
from pathlib import Path

import pytest
from mptcplab import machine
from mptcplab.engines import catalogue, runner
from mptcplab.qlog import read
from mptcplab.scenario import Scenario, UnsupportedError

MISSING = [finding.what for finding in machine.live() if not finding.good]
live = pytest.mark.skipif(
    bool(MISSING) and not os.environ.get("MPTCPLAB_REQUIRE_LIVE"), reason=f"the engine stack needs {', '.join(MISSING)}"
)

TWO_PATHS = """
title = "two paths"
duration = "4 s"
[link.a]
rate = "8 Mbit/s"
delay = "10 ms"
queue = "1 BDP"
[link.b]
rate = "4 Mbit/s"
delay = "20 ms"
queue = "1 BDP"
[connection.c]
paths = ["a", "b"]
protocol = "mptcp"
congestion = "reno"
path_manager = "fullmesh"
application = "bulk"
direction = "{direction}"
[connection.files]
paths = ["b"]
protocol = "tcp"
congestion = "reno"
application = {{ kind = "requests", size = "20 kB" }}
stop = "3 s"
[connection.voice]
paths = ["a"]
protocol = "tcp"
congestion = "cubic"
application = {{ kind = "rate", rate = "200 kbit/s" }}
direction = "up"
[[event]]
at = "3.5 s"
link = "a"
set = {{ down = true }}
[measure]
warmup = "1 s"
sample = "100 ms"
"""


def scenario(text: str) -> Scenario:
    return Scenario.from_toml(text)


@live
@pytest.mark.parametrize("direction", ["down", "up"])
def test_it_agrees_with_virtual_time(direction: str) -> None:
    two_paths = scenario(TWO_PATHS.format(direction=direction))
    real = runner.run(two_paths, "stack").runs[0][1]
    virtual = runner.run(two_paths, "sim").runs[0][1]
    assert real.connections.columns == virtual.connections.columns
    assert real.samples.columns == virtual.samples.columns
    assert real.connections["name"].to_list() == ["c", "files", "voice"]
    # The machine may be busy: what is compared is far coarser than what it does (docs/engines/stack.md).
    for number in (0, 2):
        ours, theirs = real.connections["goodput_bps"][number], virtual.connections["goodput_bps"][number]
        assert ours == pytest.approx(theirs, rel=0.3)
    assert real.subflows["path"].to_list()[:2] == ["a", "b"]
    assert real.subflows["goodput_bps"].to_list()[:2] == pytest.approx(
        virtual.subflows["goodput_bps"].to_list()[:2], rel=0.4
    )
    assert real.connections["transfers_complete"][1] > 0
    assert not real.connections["fallback"].any()
    assert real.live is not None
    assert real.live["packets"] > 1000
    assert "packets came late" in " ".join(real.notes)


def test_generated_networks_are_refused_by_name() -> None:
    tree = scenario(
        """
title = "tree"
duration = "1 s"
[topology]
kind = "fat-tree"
k = 4
rate = "100 Mbit/s"
delay = "1 ms"
queue = "100 packets"
[traffic]
kind = "permutation"
protocol = "tcp"
congestion = "reno"
application = "bulk"
"""
    )
    problems = [str(problem) for problem in catalogue.ENGINES["stack"].unsupported(tree)]
    assert any("fat-tree" in problem for problem in problems), problems
    if not MISSING:
        with pytest.raises(UnsupportedError):
            runner.run(tree, "stack")


@live
def test_a_traced_run_tells_its_choices_by_the_names_of_its_paths(tmp_path: Path) -> None:
    runner.run(scenario(TWO_PATHS.format(direction="down")), "stack", trace=tmp_path)
    traces = {file.stem: read(file) for file in tmp_path.iterdir()}
    ends = ("client", "server")
    assert {f"{name}-{end}" for name in ("c", "files", "voice") for end in ends} <= set(traces)
    told = traces["c-server"]
    assert set(told.names.values()) == {"a", "b"}
    chosen = [told.names[r] for event in told.events if event.name == "mptcp:scheduled" for r in event.data["chosen"]]
    assert {"a", "b"} == set(chosen)
    assert traces["voice-client"].names == {0: "a"}
    # Each file that is asked for has a connection of its own.
    assert "files-1-server" in traces
