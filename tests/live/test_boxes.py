"""Middleboxes on real packets: the same scenario in virtual time, with our stack and with the kernel."""

from functools import cache
from typing import Any

import mptcplab
import polars as pl
import pytest
from mptcplab import machine
from mptcplab.scenario import Scenario

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
live = pytest.mark.skipif(
    bool(MISSING),
    reason="no live system here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
)

SIZE = 3_000_000
TWO_PATHS = """
[link.{name}-a]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 ms"
middleboxes = [{first}]
[link.{name}-near]
rate = "100 Mbit/s"
delay = "5 ms"
queue = "50 ms"
[link.{name}-b]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 ms"
middleboxes = [{second}]
[path.{name}-far]
links = ["{name}-b", "{name}-near"]
[connection.{name}]
paths = ["{name}-a", "{name}-far"]
congestion = "reno"
application = {{ kind = "file", size = "3 MB" }}
"""

HARMLESS = {
    "nat": '"nat"',
    "sequence-rewriting": '"sequence-rewriting"',
    "splitting": '{ kind = "splitting", size = "700 B" }',
    "all-three": '"nat", "sequence-rewriting", { kind = "splitting", size = "700 B" }',
}
"""A connection does not suffer from them."""

ON_THE_SECOND_PATH = {
    "strip-syn": '{ kind = "strip", on = "syn" }',
    "strip-data": '{ kind = "strip", on = "data" }',
    "coalescing": '"coalescing"',
    "proactive-acks": '"proactive-acks"',
    "reset-injection": '{ kind = "reset-injection", after = "100 kB" }',
    "syn-filter": '"syn-filter"',
    "captive": '{ kind = "captive", from = "500 ms" }',
}
"""They end a subflow, or make it useless."""

ON_THE_FIRST_PATH = {
    "syn-stripped": '{ kind = "strip", on = "syn" }',
    "data-stripped": '{ kind = "strip", on = "data" }',
}
"""They make it TCP."""

NOT_SO_ON_LINUX = {
    "proactive-acks": "Linux believes such acknowledgments: the file takes 17 s (docs/engines/linux.md)",
    "data-stripped": "Linux's sender goes on as Multipath TCP, the receiver gets bytes twice (docs/engines/linux.md)",
}

REWRITING = '{ kind = "payload-rewriting", direction = "down", at = "200 kB", growth = "7 B" }'

ENGINES = ("sim", pytest.param("stack", marks=live), pytest.param("linux", marks=live))


def two_paths(boxes: dict[str, tuple[str, str]], *overrides: str) -> Scenario:
    """A network for each entry, with these boxes on its first and second path; they have nothing in common."""
    networks = (TWO_PATHS.format(name=name, first=one, second=two) for name, (one, two) in boxes.items())
    return Scenario.from_toml('duration = "5 s"\n' + "".join(networks), "boxes.toml", overrides)


@cache
def harmless(engine: str) -> mptcplab.Result:
    """Apart from the others, since it is about times."""
    return mptcplab.run(two_paths({name: (box, box) for name, box in HARMLESS.items()}), engine=engine)


@cache
def harmful(engine: str) -> mptcplab.Result:
    """All of them in one run, as each takes five seconds on the clock."""
    boxes = {name: ("", box) for name, box in ON_THE_SECOND_PATH.items()}
    boxes |= {name: (box, "") for name, box in ON_THE_FIRST_PATH.items()}
    left_out = NOT_SO_ON_LINUX if engine == "linux" else {}
    boxes = {name: each for name, each in boxes.items() if name not in left_out}
    return mptcplab.run(two_paths(boxes), engine=engine)


def whole(result: mptcplab.Result, name: str, *, fallback: bool) -> tuple[dict[str, Any], pl.DataFrame]:
    """All bytes arrived (the engines sim and stack compare each of them), and by what the receiver says it speaks.

    Gives the connection and its subflows.
    """
    (connection,) = result.connections.filter(name=name).to_dicts()
    assert (connection["bytes_delivered"], connection["fallback"]) == (SIZE, fallback)
    assert connection["completion_s"] is not None
    return connection, result.subflows.filter(connection=name)


def skip_if_not_so(engine: str, name: str) -> None:
    if engine == "linux" and name in NOT_SO_ON_LINUX:
        pytest.skip(NOT_SO_ON_LINUX[name])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", HARMLESS)
def test_boxes_that_lose_nothing_cost_little(engine: str, name: str) -> None:
    connection, subflows = whole(harmless(engine), name, fallback=False)
    # 3 MB at 20 Mbit/s take 1.2 s; headers (twice as many behind a box that splits) and slow start come on top.
    assert 1.2 < connection["completion_s"] < 2.4
    assert len(subflows) == 2
    assert subflows["share"].min() > 0.2  # type: ignore[operator]
    # Slow start overshoots: losses are there, and counted for the right flow behind the NAT too.
    assert subflows["loss_rate"].min() > 0  # type: ignore[operator]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ON_THE_SECOND_PATH)
def test_a_box_on_the_second_path_leaves_the_connection_whole(engine: str, name: str) -> None:
    skip_if_not_so(engine, name)
    _, subflows = whole(harmful(engine), name, fallback=False)
    # The other path carries most: how much more depends on how busy this machine is.
    assert subflows.filter(path=f"{name}-far")["share"].sum() < 0.5


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ON_THE_FIRST_PATH)
def test_options_stripped_on_the_first_path_make_it_tcp(engine: str, name: str) -> None:
    skip_if_not_so(engine, name)
    _, subflows = whole(harmful(engine), name, fallback=True)
    assert subflows.filter(path=f"{name}-a")["share"].sum() == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_changed_payload_is_noticed_by_the_checksum(engine: str) -> None:
    scenario = two_paths({"m": ("", REWRITING)}, "connection.m.checksum=true")
    _, subflows = whole(mptcplab.run(scenario, engine=engine), "m", fallback=False)
    assert subflows.filter(path="m-far")["share"].sum() < 0.3


@live
def test_each_of_many_connections_behind_a_nat_is_known_by_its_own_address() -> None:
    """The servers see 100.64.0.1 only; what they send still belongs to the connection and the path it is of."""
    flows = 'connection.m.application={ kind = "requests", size = "20 kB" }'
    scenario = two_paths({"m": ('"nat"', '"nat"')}, flows, "connection.m.count=3", "duration=3 s")
    result = mptcplab.run(scenario, engine="stack")
    assert result.connections["transfers_complete"].min() > 5  # type: ignore[operator]
