"""Middleboxes on real packets: the same scenario in virtual time, with our stack and with the kernel."""

import mptcplab
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
duration = "5 s"
[link.a]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 ms"
[link.near]
rate = "100 Mbit/s"
delay = "5 ms"
queue = "50 ms"
[link.b]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 ms"
[path.far]
links = ["b", "near"]
[connection.m]
paths = ["a", "far"]
congestion = "reno"
application = { kind = "file", size = "3 MB" }
"""

HARMLESS = {
    "nat": '"nat"',
    "sequence-rewriting": '"sequence-rewriting"',
    "splitting": '{ kind = "splitting", size = "700 B" }',
    "all three": '"nat", "sequence-rewriting", { kind = "splitting", size = "700 B" }',
}
"""A connection does not suffer from them."""

ON_THE_SECOND_PATH = {
    "strip syn": '{ kind = "strip", on = "syn" }',
    "strip data": '{ kind = "strip", on = "data" }',
    "coalescing": '"coalescing"',
    "proactive-acks": '"proactive-acks"',
    "reset-injection": '{ kind = "reset-injection", after = "100 kB" }',
    "syn-filter": '"syn-filter"',
    "captive": '{ kind = "captive", from = "500 ms" }',
}
"""They end a subflow, or make it useless."""

ENGINES = ("sim", pytest.param("stack", marks=live), pytest.param("linux", marks=live))


def run(engine: str, *overrides: str) -> mptcplab.Result:
    return mptcplab.run(Scenario.from_toml(TWO_PATHS, "boxes.toml", overrides), engine=engine)


def on(link: str, boxes: str) -> str:
    return f"link.{link}.middleboxes=[{boxes}]"


def whole(result: mptcplab.Result, *, fallback: bool) -> None:
    """All bytes arrived (the engines sim and stack compare each of them), and by what the receiver says it speaks."""
    (connection,) = result.connections.to_dicts()
    assert (connection["bytes_delivered"], connection["fallback"]) == (SIZE, fallback)
    assert connection["completion_s"] is not None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", HARMLESS)
def test_boxes_that_lose_nothing_cost_little(engine: str, name: str) -> None:
    result = run(engine, on("a", HARMLESS[name]), on("b", HARMLESS[name]))
    whole(result, fallback=False)
    # 3 MB at 20 Mbit/s take 1.2 s; headers (twice as many behind a box that splits) and slow start come on top.
    assert 1.2 < result.connections["completion_s"][0] < 2.4
    assert len(result.subflows) == 2
    assert result.subflows["share"].min() > 0.2  # type: ignore[operator]
    # Slow start overshoots: losses are there, and counted for the right flow behind the NAT too.
    assert result.subflows["loss_rate"].min() > 0  # type: ignore[operator]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ON_THE_SECOND_PATH)
def test_a_box_on_the_second_path_leaves_the_connection_whole(engine: str, name: str) -> None:
    if (engine, name) == ("linux", "proactive-acks"):
        pytest.skip("Linux believes such acknowledgments: the file takes 17 s (docs/engines/linux.md)")
    result = run(engine, on("b", ON_THE_SECOND_PATH[name]))
    whole(result, fallback=False)
    assert result.subflows.filter(path="far")["share"].sum() < 0.3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("where", ["syn", "data"])
def test_options_stripped_on_the_first_path_make_it_tcp(engine: str, where: str) -> None:
    if (engine, where) == ("linux", "data"):
        pytest.skip(
            "Linux's sender goes on as Multipath TCP, and the receiver gets bytes twice (docs/engines/linux.md)"
        )
    result = run(engine, on("a", f'{{ kind = "strip", on = "{where}" }}'))
    whole(result, fallback=True)
    assert result.subflows.filter(path="a")["share"].sum() == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_changed_payload_is_noticed_by_the_checksum(engine: str) -> None:
    box = '{ kind = "payload-rewriting", direction = "down", at = "200 kB", growth = "7 B" }'
    result = run(engine, on("b", box), "connection.m.checksum=true")
    whole(result, fallback=False)
    assert result.subflows.filter(path="far")["share"].sum() < 0.3


@live
def test_each_of_many_connections_behind_a_nat_is_known_by_its_own_address() -> None:
    """The servers see 100.64.0.1 only; what they send still belongs to the connection and the path it is of."""
    flows = 'connection.m.application={ kind = "requests", size = "20 kB" }'
    result = run("stack", on("a", '"nat"'), on("b", '"nat"'), flows, "connection.m.count=3", "duration=3 s")
    assert result.connections["transfers_complete"].min() > 5  # type: ignore[operator]
