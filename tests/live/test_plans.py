"""What needs no privilege: how an emulation is judged, and the hosts that a scenario gets."""

import math

import mptcplab
import pytest
from mptcplab.engines.linux.layout import Pair
from mptcplab.engines.live import timing
from mptcplab.scenario import Scenario, describe

from studies import engines

TEXT = """
duration = "1 s"
[link.a]
rate = "12 Mbit/s"
delay = "10 ms"
[link.b]
down.rate = "6 Mbit/s"
up.rate = "12 Mbit/s"
delay = "3 ms"
[connection.m]
paths = ["a", "b"]
path_manager = "fullmesh"
"""


def described(*overrides: str) -> dict:
    return describe.description(Scenario.from_toml(TEXT, "x.toml", overrides).document, 1, False)


def emulation(p99_ns: int, **more: object) -> dict:
    lateness = {"packets": 10, "mean_ns": 20_000, "p99_ns": p99_ns, "max_ns": 5_000_000}
    return {
        "lateness": lateness,
        "received": 20,
        "unrouted": 0,
        "refused": 0,
        "cpu_ns": 100_000,
        "real_time": True,
    } | more


def test_the_smallest_rtt_is_that_of_a_full_packet_over_the_shorter_path() -> None:
    # Path b: 3 ms each way, 12,000 bits at 6 Mbit/s and at 12 Mbit/s: 6 + 2 + 1 ms. Path a: 20 + 1 + 1 ms.
    assert timing.smallest_rtt_s(described()) == pytest.approx(0.009)
    assert timing.smallest_rtt_s(described('connection.m.paths=["a"]')) == pytest.approx(0.022)


@pytest.mark.parametrize(("p99_ns", "valid"), [(890_000, True), (910_000, False)])
def test_a_run_is_invalid_beyond_a_tenth_of_the_smallest_rtt(p99_ns: int, valid: bool) -> None:
    judged = timing.judge(described(), emulation(p99_ns), 0)
    assert judged.valid is valid
    assert any(note.startswith("INVALID") for note in judged.notes) is not valid
    assert judged.to_dict()["valid"] is valid


def test_packets_that_hosts_dropped_make_a_run_invalid_and_others_are_told() -> None:
    assert not timing.judge(described(), emulation(1000), 3).valid
    judged = timing.judge(described(), emulation(1000, unrouted=2, refused=1, real_time=False), 0)
    assert judged.valid
    assert len(judged.notes) == 4


def test_each_path_has_an_interface_and_packets_find_it_by_the_clients_address() -> None:
    pair = Pair(2, described()["connections"][0])
    assert [str(each.addresses[0]) for each in pair.client_interfaces()] == ["10.2.0.1", "10.2.1.1"]
    ports = pair.ports([7, 8, 9], 10)
    assert [port["tun"] for port in ports] == [7, 8, 9]
    assert ports[1]["routes"] == [{"destination": "10.2.255.1", "path": 1, "down": False, "port": 12}]
    assert [(route["destination"], route["path"], route["port"]) for route in ports[2]["routes"]] == [
        ("10.2.0.1", 0, 10),
        ("10.2.1.1", 1, 11),
    ]
    assert [str(address) for address in pair.joining] == ["10.2.1.1"]


def test_subflows_of_one_path_have_an_address_each() -> None:
    manager = 'connection.m.path_manager={ name = "ndiffports", subflows = 3 }'
    pair = Pair(0, described(manager)["connections"][0])
    assert [str(address) for address in pair.joining] == ["10.0.0.2", "10.0.0.3"]


def test_the_grid_of_engines_covers_its_ranges_and_runs_on_sim() -> None:
    chosen = engines.points(32)
    paths = [path for point in chosen for path in point]
    assert all(1 <= path.rate_mbps <= 50 and 10 <= path.rtt_ms <= 200 for path in paths)
    assert all(0.5 <= path.queue_bdp <= 4 and 0 <= path.loss <= 0.01 for path in paths)
    assert min(path.rate_mbps for path in paths) < 5
    assert max(path.rate_mbps for path in paths) > 45
    scenario = Scenario.from_toml(engines.files({0: chosen[0]}, "reno"), "x.toml")
    found = mptcplab.run(scenario).connections
    assert found["name"].to_list() == ["m0-0", "m0-1", "m0-2"]
    assert found["completion_s"][0] > 0


def test_engines_are_compared_over_pairs_of_runs() -> None:
    # Runs with the same seed belong together: 22/20 and −25 %; their ratios 1.2 and 1.0 have a standard error of 0.1.
    reference = {("bulk", 0): [10.0, 10.0], ("bulk", 1): [4.0, 8.0, 99.0], ("64 kB", 0): [1.0, math.nan]}
    other = {("bulk", 0): [12.0, 10.0], ("bulk", 1): [3.0, 6.0], ("64 kB", 0): [1.0, 1.0], ("bulk", 2): [1.0]}
    apart = engines.differences(reference, other)
    assert apart == {
        ("bulk", 0): (pytest.approx(0.1), pytest.approx(0.1)),
        ("bulk", 1): (pytest.approx(-0.25), pytest.approx(0.0)),
    }
    (row,) = engines.rows("reno", apart)
    assert (row["median"], row["worst"], row["points"]) == ("17.5%", "-25.0%", "2")
