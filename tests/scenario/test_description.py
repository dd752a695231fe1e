"""What the simulation core is told, against descriptions written by hand (crates/simulator/src/description.rs)."""

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
NONE = {"kind": "none"}
LIA = {"name": "lia", "variant": "paper", "suppress_below": 0.0}
MIN_RTT = {"name": "min-rtt", "reinjection": "none"}
FULLMESH = {"name": "fullmesh", "at_once": False}
TCP = {
    "loss_detection": "rack-tlp",
    "frto": True,
    "rto_backoff": True,
    "nagle": True,
    "pacing": False,
    "abe": False,
    "timestamps": True,
    "initial_window": 10,
    "initial_ssthresh": None,
    "rto_min_ns": 200_000_000,
    "rto_max_ns": 120_000_000_000,
    "segments_per_ack": 2,
    "ack_delay_ns": 40_000_000,
    "quick_acks": 16,
    "retries": 15,
    "syn_retries": 6,
    "window_validation": "rfc7661",
    "mptcp_syn_retries": 2,
}


def connection(**other: Any) -> dict[str, Any]:
    """With the defaults of an MPTCP connection."""
    return {
        "count": 1,
        "protocol": "mptcp",
        "congestion": LIA,
        "scheduler": MIN_RTT,
        "path_manager": FULLMESH,
        "application": {"kind": "bulk"},
        "direction": "down",
        "start_ns": [0, 0],
        "stop_ns": None,
        "mss_bytes": 1460,
        "receive_buffer_bytes": None,
        "ecn": False,
        "checksum": False,
        "tcp": TCP,
        **other,
    }


def tcp(**other: Any) -> dict[str, Any]:
    return connection(
        **{"protocol": "tcp", "congestion": {"name": "reno"}, "path_manager": {"name": "default"}, **other}
    )


def test_wifi_lte() -> None:
    wifi = {
        "rate_bps": 25_000_000,
        "trace": None,
        "delay_ns": 12_500_000,
        "queue": {"kind": "drop-tail", "limit": {"bytes": 125_000}},  # 25 Mbit/s · 0.04 s / 8
        "loss": NONE,
    }
    assert Scenario.load(SCENARIOS / "wifi-lte.toml").description() == {
        "duration_ns": 30_000_000_000,
        "seed": 1,
        "warmup_ns": 5_000_000_000,
        "sample_ns": 100_000_000,
        "through_wire": False,
        "traces": [],
        "media": [],
        "links": [
            {"name": "wifi", "down": wifi, "up": wifi, "middleboxes": [], "medium": None},
            {
                "name": "lte",
                "down": {
                    "rate_bps": 30_000_000,
                    "trace": None,
                    "delay_ns": 32_500_000,
                    "queue": {"kind": "drop-tail", "limit": {"bytes": 150_000}},
                    "loss": NONE,
                },
                "up": {
                    "rate_bps": 5_000_000,
                    "trace": None,
                    "delay_ns": 32_500_000,
                    "queue": {"kind": "drop-tail", "limit": {"bytes": 30_000}},  # 20 · 1500 B, more than 25 kB
                    "loss": NONE,
                },
                "middleboxes": [],
                "medium": None,
            },
        ],
        "paths": [{"name": "wifi", "links": [0], "reversed": []}, {"name": "lte", "links": [1], "reversed": []}],
        "connections": [
            connection(name="download", paths=[0, 1]),
            tcp(name="neighbour", paths=[0], start_ns=[0, 1_000_000_000]),
        ],
        "events": [],
    }


def test_shared_bottleneck() -> None:
    access = {
        "rate_bps": 100_000_000,
        "trace": None,
        "delay_ns": 5_000_000,
        "queue": {"kind": "drop-tail", "limit": {"packets": 100}},
        "loss": NONE,
    }
    shared = {
        "rate_bps": 15_000_000,
        "trace": None,
        "delay_ns": 35_000_000,
        "queue": {
            "kind": "red",
            "limit": {"packets": 300},
            "min_packets": 25.0,
            "max_packets": 75.0,
            "max_probability": 0.1,
            "weight": 0.002,
            "gentle": True,
            "ecn": False,
        },
        "loss": NONE,
    }
    assert Scenario.load(SCENARIOS / "shared-bottleneck.toml").description(seed=0, through_wire=True) == {
        "duration_ns": 120_000_000_000,
        "seed": 0,
        "warmup_ns": 20_000_000_000,
        "sample_ns": 100_000_000,
        "through_wire": True,
        "traces": [],
        "media": [],
        "links": [
            {"name": "access1", "down": access, "up": access, "middleboxes": [], "medium": None},
            {"name": "access2", "down": access, "up": access, "middleboxes": [], "medium": None},
            {"name": "access3", "down": access, "up": access, "middleboxes": [], "medium": None},
            {"name": "shared", "down": shared, "up": shared, "middleboxes": [], "medium": None},
        ],
        "paths": [
            {"name": "first", "links": [0, 3], "reversed": []},
            {"name": "second", "links": [1, 3], "reversed": []},
            {"name": "third", "links": [2, 3], "reversed": []},
        ],
        "connections": [
            connection(name="multipath", paths=[0, 1]),
            tcp(name="single", paths=[2], start_ns=[0, 1_000_000_000]),
        ],
        "events": [],
    }


def test_what_the_ready_made_scenarios_do_not_use() -> None:
    scenario = Scenario.from_toml("""
        duration = "40 s"
        seed = 18446744073709551615
        measure = { sample = "never" }
        [link.unused]
        rate = "8 Mbit/s"
        delay = "10 ms"
        [link.a]
        rate = "8 Mbit/s"
        delay = "10 ms"
        down.loss = { kind = "gilbert-elliott", good_to_bad = "1 %", bad_to_good = "30 %", loss_good = "0.1 %" }
        up.loss = "7 %"
        [link.a.queue]
        kind = "red"
        min = "12 kB"
        max = "20 ms"
        limit = "64 kB"
        at_least = "100 packets"
        gentle = false
        weight = 1
        [path.long]
        links = ["unused", "a"]
        [connection.upload]
        paths = ["a", "long"]
        direction = "up"
        application = { kind = "file", size = "2 MB" }
        stop = "30 s"
        count = 3
        mss = "1380 B"
        receive_buffer = "4 MiB"
        [[event]]
        at = "10 s"
        link = "a"
        set = { down = true }
        [[event]]
        at = "0 s"
        link = "unused"
        direction = "up"
        set = { down = false, rate = "2 Mbit/s", delay = "80 ms", loss = "0 %" }
    """)
    description = scenario.description()
    assert description["seed"] == 2**64 - 1
    assert description["sample_ns"] is None
    red = {
        "kind": "red",
        "limit": {"bytes": 150_000},  # 100 packets of 1500 B are more than 64 kB
        "min_packets": 8.0,  # 12 kB / 1500 B
        "max_packets": 20_000 / 1500,  # 8 Mbit/s · 20 ms = 20 kB
        "max_probability": 0.1,
        "weight": 1.0,
        "gentle": False,
        "ecn": False,
    }
    assert description["links"][1] == {
        "name": "a",
        "down": {
            "rate_bps": 8_000_000,
            "trace": None,
            "delay_ns": 10_000_000,
            "queue": red,
            "loss": {
                "kind": "gilbert-elliott",
                "good_to_bad": 0.01,
                "bad_to_good": 0.3,
                "loss_good": 0.001,
                "loss_bad": 1.0,
            },
        },
        "up": {
            "rate_bps": 8_000_000,
            "trace": None,
            "delay_ns": 10_000_000,
            "queue": red,
            "loss": {"kind": "bernoulli", "probability": 0.07},
        },
        "middleboxes": [],
        "medium": None,
    }
    # The path of the file first, then the link that is used as a path; the link that is not used so is none.
    assert description["paths"] == [
        {"name": "long", "links": [0, 1], "reversed": []},
        {"name": "a", "links": [1], "reversed": []},
    ]
    assert description["connections"] == [
        connection(
            name="upload",
            paths=[1, 0],
            direction="up",
            application={"kind": "file", "size_bytes": 2_000_000},
            stop_ns=30_000_000_000,
            count=3,
            mss_bytes=1380,
            receive_buffer_bytes=4_194_304,
        )
    ]
    nothing = {"dead": None, "rate_bps": None, "delay_ns": None, "loss": None}
    assert description["events"] == [
        {"at_ns": 10_000_000_000, "link": 1, "down": True, "up": True, "set": {**nothing, "dead": True}},
        {
            "at_ns": 0,
            "link": 0,
            "down": False,
            "up": True,
            "set": {"dead": False, "rate_bps": 2_000_000, "delay_ns": 80_000_000, "loss": NONE},
        },
    ]


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


@pytest.mark.parametrize(("mss", "mtu"), [("1000 B", 1500), ("8960 B", 9000)])
def test_codel(mss: str, mtu: int) -> None:
    """It leaves one packet of the largest size in peace."""
    text = f"""
        duration = "1 s"
        link.a = {{ rate = "8 Mbit/s", delay = "1 ms", queue = {{ kind = "codel", target = "2 ms" }} }}
        connection.c = {{ paths = ["a"], mss = "{mss}" }}
    """
    assert Scenario.from_toml(text).description()["links"][0]["up"]["queue"] == {
        "kind": "codel",
        "limit": {"packets": 1000},
        "target_ns": 2_000_000,
        "interval_ns": 100_000_000,
        "mtu_bytes": mtu,
        "ecn": False,
    }


def limits(text: str) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """By link, the limits of its two queues."""
    links = Scenario.from_toml(text).description()["links"]
    return {link["name"]: (link["down"]["queue"]["limit"], link["up"]["queue"]["limit"]) for link in links}


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
