"""Reading scenario files: what is equal, what comes back, and that nothing but a `ScenarioError` is raised."""

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from mptcplab.scenario import Problem, Scenario, ScenarioError

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))

TRACE = Path(__file__).parents[2] / "scenarios" / "traces" / "lte-down.trace"
EVERYTHING = """
title = "Everything that the format can say"
duration = "40 s"
seed = 0

[link.wifi]
rate = "25 Mbit/s"
delay = "12.5 ms"
queue = "100 ms"
loss = "1 %"

[link."l.t e"]
down.rate = "30 Mbit/s"
up.rate = "5 Mbit/s"
delay = "32.5 ms"
queue = { kind = "red", min = "25 packets", max = "50 packets", max_probability = 0.1, limit = "300 packets" }
down.loss = { kind = "gilbert-elliott", good_to_bad = "1 %", bad_to_good = "30 %", loss_good = "0.1 %" }

[link.traced]
trace = "TRACE"
up.rate = "1 Mbit/s"
delay = "0 s"
queue = { kind = "codel", ecn = true }
middleboxes = ["nat", { kind = "coalescing", hold = "2 ms", size = "3 kB" }]

[link.shared]
rate = "20 Mbit/s"
delay = "5 ms"
queue = { limit = "0.5 BDP", at_least = "10 packets" }

[path.home]
links = ["wifi", "shared"]

[connection.download]
paths = ["home", "l.t e"]
congestion = { name = "mppert", k = -0.5 }
scheduler = { name = "min-rtt", reinjection = "orp" }
path_manager = { name = "ndiffports", subflows = 4 }
application = { kind = "file", size = "2 MB" }
direction = "up"
start = ["0 s", "5 s"]
stop = "30 s"
count = 3
mss = "1380 B"
receive_buffer = "4 MiB"
checksum = true
tcp = { loss_detection = "newreno", pacing = true, rto_min = "1 s", segments_per_ack = 1, initial_ssthresh = 100 }

[connection.neighbour]
paths = ["wifi"]
protocol = "tcp"
congestion = "cubic"

[connection.requests]
paths = ["wifi"]
application = { kind = "requests", size = "8 kB", limit = "30 s" }

[connection.rate]
paths = ["traced"]
application = { kind = "rate", rate = "2 Mbit/s" }

[connection.flows]
paths = ["wifi"]
[connection.flows.application]
kind = "flows"
size = { distribution = "pareto", mean = "57 kB", shape = 1.5 }
arrivals = { distribution = "poisson", rate = "5 /s" }

[connection.more]
paths = ["wifi"]
application = { kind = "flows", size = "1 kB", arrivals = { distribution = "periodic", rate = "0.5 /s" } }

[[event]]
at = "10 s"
link = "wifi"
set = { down = true }

[[event]]
at = "20 s"
link = "l.t e"
direction = "up"
set = { down = false, rate = "2 Mbit/s", delay = "80 ms", loss = "5 %" }

[measure]
warmup = "5 s"
sample = "never"
""".replace("TRACE", str(TRACE))

FAT_TREE = """
duration = "1 s"
[topology]
kind = "fat-tree"
k = 8
rate = "1 Gbit/s"
delay = "20 us"
queue = "100 packets"
oversubscription = 4
[traffic]
kind = "stride"
stride = 4
subflows = 4
[traffic.application]
kind = "flows"
size = { distribution = "exponential", mean = "1 MB" }
arrivals = { distribution = "poisson", rate = "5 /s" }
"""


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_ready_made_scenarios_are_right_and_run(path: Path) -> None:
    scenario = Scenario.load(path)
    programs = any(each.application.kind == "program" for each in scenario.document.connections.values())
    assert scenario.unsupported("linux" if programs else "sim") == []
    assert scenario.name == path.stem
    assert scenario.title
    assert path.read_text(encoding="utf-8").startswith("# "), "begins with what it teaches"


def test_there_are_ready_made_scenarios() -> None:
    assert {"wifi-lte", "one-link", "two-equal-paths", "shared-bottleneck", "wifi-dies", "two-paths", "red-queue"} <= {
        path.stem for path in SCENARIOS
    }


@pytest.mark.parametrize("text", [EVERYTHING, FAT_TREE, *(path.read_text(encoding="utf-8") for path in SCENARIOS)])
def test_the_canonical_text_reads_as_the_same_scenario(text: str) -> None:
    source = str(SCENARIOS[0])  # where traces are looked for
    scenario = Scenario.from_toml(text, source)
    again = Scenario.from_toml(scenario.to_toml(), source)
    assert again == scenario
    assert again.to_toml() == scenario.to_toml()
    assert again.sha256() == scenario.sha256()


def test_every_key_that_was_askedis_in_the_canonical_text() -> None:
    written = tomllib.loads(Scenario.from_toml(EVERYTHING).to_toml())
    asked = tomllib.loads(EVERYTHING)

    def compare(here: object, there: object, key: str) -> None:
        if isinstance(here, dict) and isinstance(there, dict):
            for name, value in here.items():
                assert name in there, f"{key}.{name}"
                compare(value, there[name], f"{key}.{name}")
        elif isinstance(here, list) and isinstance(there, list):
            for index, (one, other) in enumerate(zip(here, there, strict=True)):
                compare(one, other, f"{key}.{index}")
        elif here != there:
            assert (here, there) == ("4 MiB", "4194304 B"), key

    # What differs between the directions stands there under `down` and `up`.
    down = asked["link"]["l.t e"].pop("down")
    assert written["link"]["l.t e"]["down"]["rate"] == down["rate"]
    assert written["link"]["l.t e"]["down"]["loss"] == {**down["loss"], "loss_bad": "100 %"}
    assert written["link"]["l.t e"]["up"] == {"rate": "5 Mbit/s", "loss": "0 %"}
    # A name alone where the control has parameters is written with them.
    assert asked["connection"]["neighbour"].pop("congestion") == "cubic"
    assert written["connection"]["neighbour"]["congestion"] == {
        "name": "cubic",
        "fast_convergence": True,
        "variant": "paper",
    }
    asked["link"]["traced"] = {"delay": "0 s"}
    content = TRACE.read_bytes()
    assert written["link"]["traced"]["down"] == {
        "trace": {"file": str(TRACE), "sha256": hashlib.sha256(content).hexdigest()}
    }
    compare(asked, written, "")


def test_two_ways_to_say_the_same_are_equal() -> None:
    one = Scenario.from_toml("""
        duration = "30 s"
        connection.c.paths = ["a"]
        link.a = { rate = "25 Mbit/s", delay = "12.5 ms" }
    """)
    other = Scenario.from_toml("""
        duration = "30000 ms"
        title = "scenario"
        seed = 1
        [link.a]
        down.rate = "25000 kbit/s"
        up.rate = "0.025 Gbit/s"
        delay = "12500 us"
        queue = { kind = "drop-tail", limit = "1.0 BDP" }
        loss = { kind = "bernoulli", probability = "0 %" }
        [connection.c]
        paths = ["a"]
        protocol = "mptcp"
        congestion = { name = "lia", variant = "paper" }
        start = ["0 s", "0 s"]
        application = { kind = "bulk" }
    """)
    assert one == other
    assert hash(one) == hash(other)
    assert one.sha256() == other.sha256()


def test_another_value_is_another_scenario() -> None:
    scenario = Scenario.from_toml(EVERYTHING)
    seen = {scenario.sha256()}
    for change in ("seed=1", "link.wifi.rate=26 Mbit/s", "event.0.at=11 s", "connection.neighbour.count=2", "title=x"):
        seen.add(scenario.with_(change).sha256())
    assert len(seen) == 6
    assert scenario != "a scenario"


def test_defaults_depend_on_the_protocol() -> None:
    text = """
        duration = "1 s"
        link.a = { rate = "1 Mbit/s", delay = "1 ms" }
        connection.m.paths = ["a"]
        connection.t = { paths = ["a"], protocol = "tcp" }
    """
    connections = Scenario.from_toml(text).document.connections
    assert [c.congestion.name for c in connections.values()] == ["lia", "reno"]
    assert [c.path_manager.name for c in connections.values()] == ["fullmesh", "default"]
    assert [c.scheduler.name for c in connections.values()] == ["min-rtt", "min-rtt"]


def test_a_byte_order_mark_and_carriage_returns_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf" + EVERYTHING.replace("\n", "\r\n").encode())
    assert Scenario.load(path) == Scenario.from_toml(EVERYTHING)


VALUES = st.recursive(
    st.text(max_size=12)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.datetimes()
    | st.sampled_from(["1 s", "1 Mbit/s", "1 %", "wifi", "down", "lia", "tcp", "1 BDP", "2 packets", "red", "bulk"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "name", "limit", "size", "rate", "down", "k", "x"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), value=VALUES)
def test_any_value_in_any_place_is_read_or_refused(data: st.DataObject, value: object) -> None:
    table: Any = tomllib.loads(data.draw(st.sampled_from([EVERYTHING, FAT_TREE])))
    here = table
    while True:
        items: list[Any] = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not items:
            break
        key = data.draw(st.sampled_from(items))
        if not isinstance(here[key], dict | list) or data.draw(st.booleans()):
            here[key] = value
            break
        here = here[key]
    problems: list[Problem] = []
    try:
        scenario = Scenario.from_toml(tomli_w.dumps(table))
    except ScenarioError as error:
        problems = error.problems
    else:
        assert Scenario.from_toml(scenario.to_toml()) == scenario
        return
    assert problems
    for problem in problems:
        assert "\n" not in str(problem)
        assert len(problem.found) <= 160


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(ScenarioError):
        Scenario.from_toml(text)


@pytest.mark.parametrize("text", ["seed = " + "9" * 5000, "seed = 0x" + "f" * 5000])
def test_numbers_beyond_reason(text: str) -> None:
    with pytest.raises(ScenarioError):
        Scenario.from_toml(text)
