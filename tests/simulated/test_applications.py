"""The applications from the scenario file to the frames."""

import math

import mptcplab
import pytest
from mptcplab import Scenario

LINK = """
    duration = "20 s"
    measure = { warmup = "5 s", sample = "never" }
    link.a = { rate = "10 Mbit/s", delay = "10 ms", queue = "100 packets" }
    link.b = { rate = "10 Mbit/s", delay = "20 ms", queue = "100 packets" }
    connection.c = { paths = ["a"], protocol = "tcp", application = APPLICATION }
"""


def run(application: str, *overrides: str) -> mptcplab.Result:
    return mptcplab.run(Scenario.from_toml(LINK.replace("APPLICATION", application), overrides=overrides))


def test_requests_are_counted_and_timed() -> None:
    result = run('{ kind = "requests", size = "8 kB", limit = "15 s" }')
    (row,) = result.connections.to_dicts()
    # As tests/applications.rs has it: 46.7872 ms, up to 83.2 us more behind the ACKs of the one before.
    times = row["transfer_times_s"]
    assert len(times) == row["transfers_complete"] == row["transfers_begun"] - 1  # the last one is cut off
    assert all(0.046_787_2 <= time <= 0.046_871 for time in times)
    assert row["transfers_complete"] == pytest.approx(10 / 0.04685, abs=2)
    assert row["transfer_mean_s"] == pytest.approx(sum(times) / len(times))
    assert row["transfer_p50_s"] in times
    assert row["transfer_p50_s"] <= row["transfer_p95_s"] <= row["transfer_p99_s"] == sorted(times)[-3]
    assert min(row["transfer_starts_s"]) >= 5
    assert set(row["transfer_sizes_bytes"]) == {8000}
    assert row["completion_s"] == pytest.approx(15, abs=0.05)
    transfers = result.to_dict()["connections"][0]["transfers"]
    assert transfers == {
        "begun": row["transfers_begun"],
        "complete": row["transfers_complete"],
        "mean_s": row["transfer_mean_s"],
        "p50_s": row["transfer_p50_s"],
        "p95_s": row["transfer_p95_s"],
        "p99_s": row["transfer_p99_s"],
    }


def test_nothing_complete_has_no_times() -> None:
    result = run('{ kind = "requests", size = "1 GB" }')
    (row,) = result.connections.to_dicts()
    # The only one began before the warm-up ended.
    assert (row["transfers_begun"], row["transfers_complete"], row["transfer_times_s"]) == (0, 0, [])
    assert row["transfer_mean_s"] is None
    assert row["transfer_p99_s"] is None


def test_other_applications_have_no_transfers() -> None:
    result = run('"bulk"')
    (row,) = result.connections.to_dicts()
    assert all(value is None for key, value in row.items() if key.startswith("transfer"))
    assert result.to_dict()["connections"][0]["transfers"] is None


def test_a_rate_is_kept() -> None:
    (row,) = run('{ kind = "rate", rate = "4 Mbit/s" }').connections.to_dicts()
    assert row["goodput_bps"] == pytest.approx(4e6, rel=1e-3)
    over_two = ['connection.c.paths=["a", "b"]', "connection.c.protocol=mptcp"]
    (row,) = run('{ kind = "rate", rate = "12 Mbit/s" }', *over_two).connections.to_dicts()
    assert row["goodput_bps"] == pytest.approx(12e6, rel=0.01)


@pytest.mark.parametrize(
    "size",
    [
        '"50 kB"',
        '{ distribution = "exponential", mean = "50 kB" }',
        '{ distribution = "pareto", mean = "50 kB", shape = 2.5 }',
    ],
)
def test_flows_offer_their_load(size: str) -> None:
    """Poisson arrivals at rate l of mean size s load the link by l s (work conservation: any M/G/1 queue)."""
    application = f'{{ kind = "flows", size = {size}, arrivals = {{ distribution = "poisson", rate = "10 /s" }} }}'
    result = run(application, "duration=405 s")
    (row,) = result.connections.to_dicts()
    count, seconds = 4000, 400
    assert row["transfers_begun"] == pytest.approx(count, abs=3 * math.sqrt(count))
    # The sum of n sizes, n Poisson: variance n E[S²]. E[S²]/E[S]² is 1, 2, and (a - 1)²/(a (a - 2)) = 1.8.
    deviation = math.sqrt(2 / count)
    assert row["goodput_bps"] == pytest.approx(10 * 50_000 * 8, rel=3 * deviation)
    assert sum(row["transfer_sizes_bytes"]) * 8 / seconds == pytest.approx(row["goodput_bps"], rel=0.02)
    # 50 kB need slow start's rounds: handshake, and 10 + 20 segments before the last 5 are sent.
    assert row["transfer_mean_s"] > 0.05


def test_flows_over_two_paths() -> None:
    application = '{ kind = "flows", size = "200 kB", arrivals = { distribution = "periodic", rate = "4 /s" } }'
    overrides = ['connection.c.paths=["a", "b"]', "connection.c.protocol=mptcp", "measure.sample=100 ms"]
    result = run(application, *overrides)
    (row,) = result.connections.to_dicts()
    assert row["transfers_begun"] == 60
    assert row["goodput_bps"] == pytest.approx(4 * 200_000 * 8, rel=0.02)
    assert row["out_of_order_delay_mean_s"] > 0
    assert row["out_of_order_delay_p95_s"] >= 0
    assert result.subflows["path"].to_list() == ["a", "b"]
    assert result.subflows["share"].sum() == pytest.approx(1)
    samples = result.samples.filter(kind="subflow")
    sampled = samples.filter(samples["time_s"] > 5.05)
    assert sampled["goodput_bps"].sum() * 0.1 == pytest.approx(result.subflows["goodput_bps"].sum() * 15, rel=1e-6)
