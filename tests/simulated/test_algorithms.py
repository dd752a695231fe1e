"""Whatever the registry says the simulator runs, it runs: names, variants and queues all the way down to the core."""

import mptcplab
import pytest
from mptcplab import Scenario, registry

TEXT = """
    duration = "12 s"
    measure = { warmup = "4 s", sample = "never" }
    link.a = { rate = "10 Mbit/s", delay = "10 ms" }
    link.b = { rate = "10 Mbit/s", delay = "15 ms" }
    connection.c.paths = ["a", "b"]
"""


def forms(family: str) -> list[str]:
    """Every algorithm that the simulator runs, in every form that a parameter chooses by name."""
    found = []
    for entry in registry.FAMILIES[family]:
        if "sim" not in entry.engines:
            continue
        found.append(f'"{entry.name}"')
        for parameter in entry.parameters:
            choices = parameter.runs.get("sim", parameter.choices) if parameter.choices else ()
            others = [choice for choice in choices if choice != parameter.default]
            found.extend(f'{{ name = "{entry.name}", {parameter.name} = "{choice}" }}' for choice in others)
    return found


def goodput(*overrides: str) -> float:
    result = mptcplab.run(Scenario.from_toml(TEXT, overrides=overrides))
    assert not result.connections["fallback"].any()
    total: float = result.connections["goodput_bps"].sum()
    return total


@pytest.mark.parametrize("congestion", forms("congestion"))
def test_every_congestion_control_uses_two_clean_paths(congestion: str) -> None:
    # 18.9 Mbit/s of 20 are payload. What couples windows leaves some; the fully coupled control may leave one path, and
    # wVegas grows by a segment a round trip at the most.
    least = 9e6 if "coupled" in congestion or "wvegas" in congestion else 14e6
    # What was queued when the measurement began is part of it.
    assert least < goodput(f"connection.c.congestion={congestion}") < 20e6 * 1420 / 1500 + 1e5


@pytest.mark.parametrize("scheduler", forms("schedulers"))
def test_every_scheduler_delivers(scheduler: str) -> None:
    assert goodput(f"connection.c.scheduler={scheduler}") > 7e6


@pytest.mark.parametrize("path_manager", forms("path-managers"))
def test_every_path_manager_delivers(path_manager: str) -> None:
    assert goodput(f"connection.c.path_manager={path_manager}") > 7e6


def queue_of(kind: str) -> float:
    """The mean queue of one Reno flow's link of 10 Mbit/s, 1000 packets at most."""
    queues = {
        "drop-tail": '{ kind = "drop-tail", limit = "1000 packets" }',
        "red": '{ kind = "red", min = "10 packets", max = "30 packets", limit = "1000 packets" }',
        "codel": '{ kind = "codel" }',
        "fq-codel": '{ kind = "fq-codel" }',
        "pie": '{ kind = "pie" }',
    }
    text = f"""
        duration = "60 s"
        measure = {{ warmup = "30 s", sample = "never" }}
        link.a = {{ rate = "10 Mbit/s", delay = "20 ms", queue = {queues[kind]} }}
        connection.c = {{ paths = ["a"], protocol = "tcp" }}
    """
    result = mptcplab.run(Scenario.from_toml(text))
    down = result.links.filter(direction="down")
    # Reno needs a queue of one BDP, 33 packets, to keep the link busy; after its decrease without one it is at half.
    assert down["utilization"].item() > 0.75
    mean: float = down["queue_mean_packets"].item()
    return mean


def test_codel_keeps_the_standing_queue_near_its_target() -> None:
    """RFC 8289: 5 ms are 4.2 packets of 1500 bytes at 10 Mbit/s; Reno stands above it, drop-tail far above."""
    codel = queue_of("codel")
    assert 1 < codel < 15
    assert queue_of("red") < 40
    assert queue_of("drop-tail") > 20 * codel


def test_pie_holds_its_target() -> None:
    """RFC 8033: 15 ms are 12.5 packets of 1500 bytes at 10 Mbit/s, and a single flow's saw-tooth is around that."""
    assert 8 < queue_of("pie") < 17


def test_a_flow_alone_sees_codel_in_a_queue_of_its_own() -> None:
    assert queue_of("fq-codel") == pytest.approx(queue_of("codel"), rel=0.1)


@pytest.mark.parametrize("queue", ["fq-codel", "drop-tail"])
def test_fair_queueing_gives_each_flow_its_share(queue: str) -> None:
    """A control that keeps its queue short, beside three that fill theirs."""
    text = f"""
        duration = "30 s"
        measure = {{ warmup = "10 s", sample = "never" }}
        link.a = {{ rate = "20 Mbit/s", delay = "10 ms", queue = {{ kind = "{queue}", limit = "500 packets" }} }}
        connection.many = {{ paths = ["a"], protocol = "tcp", congestion = "cubic", count = 3 }}
        connection.one = {{ paths = ["a"], protocol = "mptcp", congestion = "wvegas" }}
    """
    result = mptcplab.run(Scenario.from_toml(text))
    one = result.connections.filter(name="one")["goodput_bps"].item()
    # A delay-based flow is pushed aside in a shared queue, and has a quarter in its own.
    assert (one > 0.9 * 20e6 / 4 * 1420 / 1500) == (queue == "fq-codel")
