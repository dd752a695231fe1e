"""What the core is told of applications, lengths, seeds and parameters."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab import registry
from mptcplab.scenario import Scenario
from mptcplab.scenario.amounts import exact_bytes
from mptcplab.scenario.units import BDP, PACKETS, SIZE, TIME, Amount

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def limits(text: str) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """By link, the limits of its two queues."""
    links = Scenario.from_toml(text).description()["links"]
    return {link["name"]: (link["down"]["queue"]["limit"], link["up"]["queue"]["limit"]) for link in links}


@pytest.mark.parametrize(
    ("application", "description"),
    [
        ('"bulk"', {"kind": "bulk"}),
        ('{ kind = "file", size = "2 kB" }', {"kind": "file", "size_bytes": 2000}),
        ('{ kind = "requests", size = "8 kB" }', {"kind": "requests", "size_bytes": 8000, "limit_ns": None}),
        (
            '{ kind = "requests", size = "8 kB", limit = "30 s" }',
            {"kind": "requests", "size_bytes": 8000, "limit_ns": 30_000_000_000},
        ),
        ('{ kind = "rate", rate = "2 Mbit/s" }', {"kind": "rate", "rate_bps": 2_000_000}),
        (
            '{ kind = "flows", size = "57 kB", arrivals = { distribution = "poisson", rate = "5 /s" } }',
            {
                "kind": "flows",
                "size": {"distribution": "constant", "mean_bytes": 57_000},
                "arrivals": {"distribution": "poisson", "rate_per_s": 5.0},
            },
        ),
        (
            '{ kind = "flows", size = { distribution = "pareto", mean = "57 kB", shape = 1.5 },'
            ' arrivals = { distribution = "periodic", rate = "0.5 /s" } }',
            {
                "kind": "flows",
                "size": {"distribution": "pareto", "mean_bytes": 57_000, "shape": 1.5},
                "arrivals": {"distribution": "periodic", "rate_per_s": 0.5},
            },
        ),
    ],
)
def test_applications(application: str, description: dict[str, Any]) -> None:
    scenario = Scenario.load(SCENARIOS / "one-link.toml", [f"connection.flow.application={application}"])
    assert scenario.description()["connections"][0]["application"] == description


def test_the_bdp_is_of_the_longest_path_in_use() -> None:
    """Round trips: `a` alone 20 ms, `far` alone 200 ms, `b` alone 30 ms; over a+b 50 ms."""
    assert limits("""
        duration = "1 s"
        link.a = { rate = "8 Mbit/s", delay = "10 ms", queue = "1 BDP" }
        link.b = { rate = "8 Mbit/s", down.delay = "10 ms", up.delay = "20 ms", queue = "0.5 BDP" }
        link.far = { down.rate = "16 Mbit/s", up.rate = "8 Mbit/s", delay = "100 ms", queue = "1 BDP" }
        path.both.links = ["a", "b"]
        path.unused.links = ["a", "far"]
        connection.c.paths = ["both"]
        connection.d = { paths = ["a"], protocol = "tcp" }
    """) == {
        "a": ({"bytes": 50_000}, {"bytes": 50_000}),  # 1 MB/s · 50 ms
        "b": ({"bytes": 25_000}, {"bytes": 25_000}),
        "far": ({"bytes": 400_000}, {"bytes": 200_000}),  # used by no connection: its own 200 ms, each with its rate
    }


@pytest.mark.parametrize(
    ("queue", "limit"),
    [
        ('"1 BDP"', {"bytes": 1500}),  # 1 kbit/s · 2 ms is less than a packet
        ('"0 BDP"', {"bytes": 1500}),
        ('"100 ms"', {"bytes": 12}),  # 12.5, rounded down
        ('"127 ms"', {"bytes": 15}),  # 15.875
        ('"0 ms"', {"bytes": 0}),
        ('"64 packets"', {"packets": 64}),
        ('"300 kB"', {"bytes": 300_000}),
        ('{ limit = "100 ms", at_least = "10 packets" }', {"bytes": 15_000}),
        ('{ limit = "20 packets", at_least = "10 packets" }', {"packets": 20}),
        ('{ limit = "5 packets", at_least = "10 packets" }', {"packets": 10}),
        ('{ limit = "5 packets", at_least = "1 kB" }', {"bytes": 7_500}),
        ('{ kind = "drop-tail", limit = "2 KiB" }', {"bytes": 2_048}),
    ],
)
def test_limits(queue: str, limit: dict[str, int]) -> None:
    text = f"""
        duration = "1 s"
        link.a = {{ rate = "1 kbit/s", delay = "1 ms", queue = {queue} }}
        connection.c.paths = ["a"]
    """
    assert limits(text) == {"a": (limit, limit)}


@given(rate=st.integers(1, 10**12), time=st.integers(0, 3600 * 10**9), k=st.fractions(0, 1000, max_denominator=100))
def test_lengths_in_bytes(rate: int, time: int, k: Fraction) -> None:
    """What leaves in the time is the length: eight times the bytes, at the rate, take the time again."""
    length = exact_bytes(Amount(TIME, Fraction(time)), rate, 0)
    assert length * 8 * 10**9 / rate == time
    assert exact_bytes(Amount(BDP, k), rate, time) == max(k * length, 1500)
    assert exact_bytes(Amount(PACKETS, k), rate, time) == 1500 * k
    assert exact_bytes(Amount(SIZE, Fraction(time)), rate, 0) == time


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_no_seed_outside_64_bits(seed: int) -> None:
    with pytest.raises(ValueError, match="a seed must be a whole number from 0 to 18446744073709551615"):
        Scenario.load(SCENARIOS / "one-link.toml").description(seed=seed)


def test_parameters_that_the_core_has_are_handed_over() -> None:
    scenario = Scenario.load(
        SCENARIOS / "two-paths.toml", ['connection.m.congestion={ name = "lia", variant = "linux" }']
    )
    assert scenario.description()["connections"][0]["congestion"] == {
        "name": "lia",
        "variant": "linux",
        "suppress_below": 0.0,
    }


def test_parameters_that_the_core_has_not_are_kept_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    have = registry.FAMILIES["congestion"]
    variant = replace(have[4].parameters[0], runs={"sim": ("paper",)})
    lia = replace(have[4], parameters=(variant,))
    congestion = (*have[:4], lia, *have[5:])
    monkeypatch.setattr(registry, "FAMILIES", {**registry.FAMILIES, "congestion": congestion})
    assert Scenario.load(SCENARIOS / "two-paths.toml").description()["connections"][0]["congestion"] == {"name": "lia"}
