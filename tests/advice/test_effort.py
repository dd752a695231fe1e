"""What is done where a run would cost too much: bounded, and true to what it stands for."""

import json
from dataclasses import replace

import mptcplab
import pytest
from mptcplab.advice.advising import ask, settings
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.commands import commands
from mptcplab.advice.effort import BUDGET_HOPS, plan
from mptcplab.advice.question import Question
from mptcplab.advice.simulation import Run, Simulator
from mptcplab.advice.subsets import reaches

FAST = ["a: 200 Mbit/s, 20 ms, queue 60 ms", "b: 200 Mbit/s, 50 ms, queue 60 ms"]


def question(paths: list[str], kind: str = "bulk") -> Question:
    return ask(None, paths, kind, "linux", buffer="20 MB")


@pytest.mark.parametrize("scheme", [("cubic", "min-rtt"), ("bbr", "min-rtt"), ("cubic", "blest")])
def test_a_quarter_of_the_rate_gives_a_quarter_of_the_goodput(scheme: tuple[str, str]) -> None:
    """Both are of the network as it is: within 4 %."""
    whole = question(FAST)
    figures = []
    for scale in (1, 4):
        asked = replace(whole, scale=scale)
        with Simulator(asked, 1) as simulator:
            result = next(simulator.run([Run(Candidate(*scheme, ("a", "b")), 0)]))
        figures.append(result.figures[0].value)
        assert result.carried_bytes[0] > 200e6
    assert figures[1] == pytest.approx(figures[0], rel=0.04)


@pytest.mark.parametrize("rate", ["10 Mbit/s", "1 Gbit/s", "10 Gbit/s", "40 Gbit/s"])
@pytest.mark.parametrize("kind", ["bulk", "mix"])
def test_a_run_fits_into_the_budget_at_any_rate(rate: str, kind: str) -> None:
    paths = [f"{name}: {rate}, {20 * number} ms" for number, name in enumerate("abc", start=1)]
    asked = question(paths, kind)
    found = plan(asked, reaches(asked), BUDGET_HOPS)
    assert found.run_hops <= BUDGET_HOPS / 50 * 1.01
    if rate == "10 Mbit/s":
        assert (found.scale, found.length) == (1, 1.0)
        assert found.words(15.0) is None
    else:
        assert found.scale > 1
        assert f"1/{found.scale} of the rates" in (found.words(15.0) or "")


def test_random_loss_does_not_scale_so_runs_are_shorter() -> None:
    asked = question(["a: 1 Gbit/s, 20 ms, 0.1 %", "b: 1 Gbit/s, 40 ms"])
    found = plan(asked, reaches(asked), BUDGET_HOPS)
    assert found.scale == 1
    # Twenty round trips at least.
    assert 20 * 0.04 / 15 <= found.length < 0.5
    assert "instead of 15 s" in (found.words(15.0) or "")


def test_few_packets_in_flight_do_not_scale() -> None:
    """10 Gbit/s over 0.1 ms are 83 packets."""
    asked = question(["a: 10 Gbit/s, 0.1 ms", "b: 10 Gbit/s, 0.1 ms"])
    found = plan(asked, reaches(asked), BUDGET_HOPS)
    assert found.scale == 1
    assert found.length < 0.05


def test_what_was_simulated_is_what_the_commands_set() -> None:
    """A window of 16 MiB has send buffers of 26 MiB, a quarter of both at a quarter of the rate."""
    large = Candidate("cubic", "linux", ("a", "b"), (), True, 2**24)
    assert 'sysctl -w net.ipv4.tcp_wmem="4096 16384 27262976"' in commands(large, ("a", "b"))["ip"]
    asked = ask(None, FAST, "bulk", "linux")
    for scale, send_mib in ((1, 26.0), (4, 6.5)):
        asked.scale = scale
        (told,) = json.loads(asked.description(large, 0))["connections"]
        assert told["scheduler"]["send_buffer"] == send_mib
        assert told["receive_buffer_bytes"] == 2**24 // scale
    default = replace(large, window_bytes=0)
    assert not any("tcp_wmem" in line for line in commands(default, ("a", "b"))["ip"])
    assert json.loads(asked.description(default, 0))["connections"][0]["scheduler"]["send_buffer"] == 1.0


@pytest.mark.parametrize("window_bytes", [2**24, 2**26])
def test_the_kernels_scheduler_scales_with_its_send_buffers(window_bytes: int) -> None:
    """2 x 200 Mbit/s over 20 and 50 ms, whole and at a quarter: within 4 %."""
    whole = ask(None, FAST, "bulk", "linux")
    setting = Candidate("cubic", "linux", ("a", "b"), (), True, window_bytes)
    figures = []
    for scale in (1, 4):
        with Simulator(replace(whole, scale=scale), 1) as simulator:
            figures.append(next(simulator.run([Run(setting, 0)])).figures[0].value)
    assert figures[1] == pytest.approx(figures[0], rel=0.04)
    assert figures[0] > 0.85 * 389e6


def test_a_backup_beside_two_members_carries_nothing() -> None:
    """As keys for `run --set`: 5 Mbit/s each of two paths, and nothing over the third."""
    asked = ask(None, ["a: 5M, 9 ms", "b: 5M, 20 ms", "c: 5M, 40 ms"], "bulk", "linux")
    mixed = Candidate("cubic", "linux", ("a", "b"), ("c",), True)
    made = asked.scenario(Candidate("cubic", "linux", ("a", "b", "c"), (), True)).with_(settings(asked, mixed))
    shares = dict(mptcplab.run(made).subflows.select("path", "share").iter_rows())
    assert shares["c"] == 0
    assert shares["a"] == pytest.approx(0.5, abs=0.02)
    with Simulator(asked, 1) as simulator:
        result = next(simulator.run([Run(mixed, 0)]))
    assert result.carried_bytes[2] == 0


def test_a_far_path_beside_a_fast_one_does_not_make_every_run_long() -> None:
    """Twenty round trips of 600 ms are 12 s of 1 Gbit/s, 1.5 million packets; a run may cost 750,000 hops."""
    asked = question(["a: 1 Gbit/s, 20 ms, 0.1 %", "b: 2 Mbit/s, 600 ms"])
    found = plan(asked, reaches(asked), BUDGET_HOPS)
    assert found.run_hops == pytest.approx(1.5 * BUDGET_HOPS / 50)
    assert found.length < 20 * 0.6 / 15
