"""What the tests of results, reports and the command share."""

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from mptcplab import _core
from mptcplab.results.result import Result
from mptcplab.scenario import Scenario

from tests import left
from tests.networks import WIFI_AND_LTE

# No test is about the time that it takes, and the same cases are drawn everywhere, so that a red run can be repeated.
settings.register_profile("any machine", deadline=None, derandomize=True)
settings.load_profile("any machine")

LIVE = (
    "bpf/",
    "capture/test_live.py",
    "interop/",
    "live/",
    "probe/test_probe.py",
    "stack/",
    "stack_engine/",
    "testbed/test_any_session.py",
    "testbed/test_testbed.py",
)
"""Tests on the real clock and real packets: not beside those that use all cores."""
SLOW = (
    "test_add_an_algorithm.py",
    "test_readme.py",
    "test_add_a_queue.py",
    "speed/",
    "test_site.py",
    "papers/",
    "test_notebooks.py",
    "validation/",
)
"""Tests that compile, or take more than five seconds; in the order in which they begin, the longest first."""
LONG = (
    "lab/test_page.py",
    "cli/test_killed.py",
    "cli/test_full_disk.py",
    "test_names.py",
    "lab/test_api.py",
    "lab/test_names.py",
)
"""Files of many tests that together take half a minute or more: they begin next."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests by their place, and begin with the slow ones, so that two workers end at about the same time."""

    def rank(item: pytest.Item) -> int:
        try:
            place = item.path.relative_to(Path(__file__).parent).as_posix()
        except ValueError:  # a study's own test
            return len(SLOW) + len(LONG)
        if place.startswith(LIVE):
            item.add_marker(pytest.mark.live)
        for number, slow in enumerate(SLOW):
            if place.startswith(slow):
                item.add_marker(pytest.mark.slow)
                return number
        return len(SLOW) + (LONG.index(place) if place in LONG else len(LONG))

    items.sort(key=rank)


@pytest.fixture(scope="module", autouse=True)
def _no_process_is_left() -> Iterator[None]:
    """No test leaves processes, also when it fails: they would disturb those that follow."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    os.environ[left.MARK] = mark
    yield
    del os.environ[left.MARK]
    found = left.remaining(mark)
    left.end(found)
    assert not found, f"processes that the tests of this module left: {found}"


TWO_PATHS = (
    """
title = "Two paths and a neighbour"
duration = "4 s"
seed = 7
"""
    + WIFI_AND_LTE
    + """
[connection.download]
paths = ["wifi", "lte"]
protocol = "mptcp"
congestion = "lia"
scheduler = "min-rtt"
path_manager = "fullmesh"

[connection.neighbour]
paths = ["wifi"]
protocol = "tcp"
congestion = "reno"
count = 2

[[event]]
at = "2 s"
link = "wifi"
set = { rate = "10 Mbit/s" }

[measure]
warmup = "1 s"
sample = "100 ms"
"""
)


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    file = tmp_path / "two-paths.toml"
    file.write_text(TWO_PATHS, encoding="utf-8")
    return file


@pytest.fixture
def scenario(scenario_file: Path) -> Scenario:
    return Scenario.load(scenario_file)


def _made_up_outcome(description: Mapping[str, Any]) -> Any:
    """An Outcome in the form of the core with made-up values: for tests of what is done with one.

    Values are functions of time and position alone, so that a test can say what must become of them. The last
    connection is unfinished and knows no out-of-order delay; each subflow's first RTT sample is missing.
    """
    step = description["sample_ns"]
    times = [] if step is None else [at * step / 1e9 for at in range(1, description["duration_ns"] // step + 1)]
    connections = [
        {
            "kind": kind,
            "index": index,
            "start_s": 0.0,
            "goodput_bps": 1e6 * (10 + kind + index) + description["seed"],
            "bytes_delivered": 1_000_000 * (kind + 1),
            "completion_s": None if kind == len(description["connections"]) - 1 else 3.5,
            "sender_completion_s": None,
            "establishment_s": None,
            "longest_silence_s": None,
            "out_of_order_delay_mean_s": 0.002 if kind == 0 else None,
            "out_of_order_delay_p95_s": 0.0123 if kind == 0 else None,
            "fallback": False,
            "transfers": None,
            "subflows": [
                {
                    "path": path,
                    "goodput_bps": 1e6 * (10 + kind + index) / len(connection["paths"]),
                    "share": 1 / len(connection["paths"]),
                    "segments_sent": 1000 + position,
                    "retransmissions": 10,
                    "timeouts": 0,
                    "timeout_times_s": [],
                    "reinjections": position,
                    "loss_rate": 0.01,
                    "rtt_mean_s": 0.025 + 0.04 * position,
                    "cwnd_mean_segments": 33.25,
                    "waited_first_s": 0.0,
                    "waited_retransmission_s": 0.0,
                    "waited_timeout_s": 0.0,
                    "waited_reinjection_s": 0.0,
                }
                for position, path in enumerate(connection["paths"])
            ],
        }
        for kind, connection in enumerate(description["connections"])
        for index in range(connection["count"])
    ]
    links = [
        {
            "link": link,
            "down": down,
            "utilization": 0.97 if down else 0.02,
            "loss_rate": 0.004 if down else 0.0,
            "drops": 12 if down else 0,
            "queue_mean_packets": 41.5,
            "queue_max_packets": 170,
        }
        for link in range(len(description["links"]))
        for down in (True, False)
    ]
    rows = [
        (
            time,
            number,
            position,
            1e6 * (5 + math.sin(time + position)),
            20 + 5 * (10 * time % 4),
            0.025 + 0.04 * position,
        )
        for time in times
        for number, connection in enumerate(connections)
        for position in range(len(connection["subflows"]))
    ]
    link_rows = [(time, link) for time in times for link in range(len(links))]
    return {
        "summary": json.dumps({"connections": connections, "links": links, "work": {}}),
        "subflow_samples": {
            "time_s": np.array([row[0] for row in rows], dtype=np.float64),
            "connection": np.array([row[1] for row in rows], dtype=np.uint32),
            "subflow": np.array([row[2] for row in rows], dtype=np.uint32),
            "goodput_bps": np.array([row[3] for row in rows], dtype=np.float64),
            "cwnd_segments": np.array([row[4] for row in rows], dtype=np.float64),
            "srtt_s": np.array([row[5] if row[0] > times[0] else math.nan for row in rows], dtype=np.float64),
            "in_flight_segments": np.array([20 for _ in rows], dtype=np.uint32),
            "own": {},
        },
        "link_samples": {
            "time_s": np.array([row[0] for row in link_rows], dtype=np.float64),
            "link": np.array([row[1] for row in link_rows], dtype=np.uint32),
            "queue_packets": np.array([int(40 + 30 * math.sin(row[0] + row[1])) for row in link_rows], dtype=np.uint32),
            "queue_bytes": np.array([60_000 for _ in link_rows], dtype=np.uint64),
            "utilization": np.array([0.9 for _ in link_rows], dtype=np.float64),
            "drops": np.array([0 for _ in link_rows], dtype=np.uint32),
        },
    }


@pytest.fixture
def made_up_outcome() -> Callable[[Mapping[str, Any]], Any]:
    """The function that makes an outcome up for a description."""
    return _made_up_outcome


@pytest.fixture
def made_up_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core answers with made-up values."""

    def simulate(description: str, progress: Callable[[float], None] | None = None) -> Any:
        parsed = json.loads(description)
        if progress is not None:
            progress(parsed["duration_ns"] / 2e9)
        return _made_up_outcome(parsed)

    monkeypatch.setattr(_core, "simulate", simulate)


@pytest.fixture
def result(scenario: Scenario, made_up_core: None) -> Result:
    """A result of made-up values."""
    from mptcplab import run

    return run(scenario)
