"""Dong's round model: the paper's own numbers, exact small cases, and a simulation of the same rules."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mptcplab import Scenario, run
from mptcplab.models.checks import LengthMismatchError, LossOutOfRangeError, ParameterError, RttError
from mptcplab.models.rounds import (
    RoundModel,
    RoundPath,
    Subflow,
    after_rounds,
    choose_paths,
    lia_growth,
    multipath,
    ready_times_s,
    throughput_curve,
    transfer,
    transfer_time_s,
)

VECTORS: Any = json.loads((Path(__file__).parents[1] / "vectors" / "rounds.json").read_text(encoding="utf-8"))
"""The same for the transport's `dmptcp`."""


@pytest.mark.parametrize("case", VECTORS["capacity"], ids=str)
def test_vectors_of_what_a_subflow_delivers(case: dict[str, Any]) -> None:
    whole, part = divmod(case["rounds"], 1)
    model = RoundModel(
        initial_window=case["window"], initial_threshold=case["threshold"], restart_window=1, segment_bytes=1400
    )
    flow = after_rounds(RoundPath(1.0, case["loss_rate"]), int(whole), model)
    found = flow.delivered_segments + part * flow.mean_window * (1 - case["loss_rate"])
    assert found == pytest.approx(case["segments"], rel=1e-9)


@pytest.mark.parametrize("case", VECTORS["selection"], ids=str)
def test_vectors_of_the_selection(case: dict[str, Any]) -> None:
    paths = [RoundPath(path["rtt_ms"] / 1e3, path["loss_rate"]) for path in case["paths"]]
    model = RoundModel(initial_window=1, restart_window=1, segment_bytes=case["segment_bytes"])
    windows = [path["window"] for path in case["paths"]]
    thresholds = [path["threshold"] for path in case["paths"]]
    assert choose_paths(case["left_bytes"], paths, model, windows, thresholds) == case["selected"]


def test_section_4_2_2_four_rounds_from_a_window_of_8() -> None:
    """8 + 16 + 32 + 64 segments of 1400 B: the paper's "164K" (KiB)."""
    flow = after_rounds(RoundPath(0.02), 4, RoundModel(initial_window=8))
    assert flow.delivered_segments == 120
    assert flow.delivered_segments * 1400 / 1024 == pytest.approx(164, abs=0.1)
    assert flow.time_s == pytest.approx(0.08)


def test_section_4_2_2_only_the_fast_path_is_worth_it() -> None:
    """50 kB at 20 and 80 ms: about 10 kB are out (1 + 2 + 4 segments), 40 kB are left, one path carries 164K."""
    paths = [RoundPath(0.02), RoundPath(0.08)]
    assert (1 + 2 + 4) * 1400 == 9800
    assert choose_paths(40e3, paths, windows=[8, 1]) == [0]
    assert choose_paths(168e3, paths, windows=[8, 1]) == [0]
    assert choose_paths(168001, paths, windows=[8, 1]) == [0, 1]
    assert choose_paths(40e3, paths[::-1], windows=[1, 8]) == [1]  # whatever the order


def test_figure_7_first_round() -> None:
    """From (10, 80): (20, 80) without loss, (5, 5) after a fast retransmit, (1, 5) after a timeout."""
    p = 0.3
    flow = after_rounds(RoundPath(0.02, p), 1, RoundModel(initial_window=10, initial_threshold=80, restart_window=1))
    assert set(flow.states) == {(20, 80), (5, 5), (1, 5)}
    assert flow.states[20, 80] == pytest.approx(0.7**10)
    # Fewer than three of ten arrive.
    timeout = sum(count * 0.7**got * 0.3 ** (10 - got) for got, count in ((0, 1), (1, 10), (2, 45)))
    assert flow.states[1, 5] == pytest.approx(timeout)
    assert sum(flow.states.values()) == pytest.approx(1)
    # Equation 9 instead: the initial window, past its threshold.
    again = after_rounds(RoundPath(0.02, p), 1, RoundModel(initial_window=10, initial_threshold=80))
    assert again.states[10, 10] == pytest.approx(timeout)


def test_equation_3_two_rounds_by_hand() -> None:
    """A window of 4, p = 1/2: 4·½; then 8 with 1/16, 2 with 4/16 (one lost), 4 again with 11/16 (threshold 2)."""
    model = RoundModel(initial_window=4, initial_threshold=64, segment_bytes=1000, ack_bytes=0)
    flow = after_rounds(RoundPath(0.1, 0.5, 8e5), 2, model)
    second = 8 / 16 + 2 * 4 / 16 + 4 * 11 / 16
    assert flow.delivered_segments == pytest.approx((4 + second) / 2)
    # 10 ms on the wire a segment
    assert flow.time_s == pytest.approx(2 * 0.1 + (4 + second) * 0.01)


def simulate(path: RoundPath, rounds: int, model: RoundModel, runs: int, seed: int) -> tuple[float, float]:
    """The same rules, drawn: mean number of segments delivered, and its standard error."""
    random = np.random.default_rng(seed)
    delivered = np.zeros(runs)
    window, threshold = np.full(runs, float(model.initial_window)), np.full(runs, float(model.initial_threshold))
    for _ in range(rounds):
        lost = random.binomial(window.astype(int), path.loss_rate)
        delivered += window - lost
        half = np.maximum(window // 2, 1)
        timeout = (lost > 0) & (window - lost < 3)
        grown = np.where(window < threshold, 2 * window, window + 1)
        threshold = np.where(lost > 0, np.maximum(half, 2), threshold)
        window = np.where(lost == 0, grown, np.where(timeout, 1.0, half))
    return float(delivered.mean()), float(delivered.std() / np.sqrt(runs))


@pytest.mark.parametrize(("p", "threshold"), [(0.01, 64), (0.05, 16), (0.2, 1000), (0.001, 32)])
def test_the_distribution_is_that_of_drawn_rounds(p: float, threshold: int) -> None:
    model = RoundModel(initial_window=2, initial_threshold=threshold, restart_window=1)
    path = RoundPath(0.1, p)
    mean, error = simulate(path, 30, model, 20_000, 1)
    # eq. 3 counts w·(1 − p) of every round
    assert after_rounds(path, 30, model).delivered_segments == pytest.approx(mean, abs=5 * error)


@settings(max_examples=30, deadline=None)
@given(st.just(0.0) | st.floats(1e-9, 0.3), st.integers(1, 32), st.integers(0, 25))
def test_probability_is_kept(p: float, window: int, rounds: int) -> None:
    flow = after_rounds(RoundPath(0.1, p), rounds, RoundModel(initial_window=window, initial_threshold=64))
    assert sum(flow.states.values()) == pytest.approx(1)
    assert all((w >= 1 and t >= w - 1e-9) or t >= 2 for w, t in flow.states)
    assert flow.rounds == rounds


def test_figure_9_curves_rise_to_the_capacity_and_fall_with_delay() -> None:
    sizes = [20e3, 100e3, 1e6, 10e6]
    capacity = 1e6 * 1400 / (1400 + 40 / 2)  # ACKs share the wire in eq. 3
    curves = [throughput_curve(sizes, RoundPath(rtt, 0, 1e6)) for rtt in (0.02, 0.05, 0.1)]
    for curve in curves:
        assert (np.diff(curve) > 0).all()
        assert (curve < capacity).all()
    assert (curves[0] > curves[1]).all()
    assert (curves[1] > curves[2]).all()
    assert curves[0][-1] > 0.98 * capacity


def test_figure_11_loss_lowers_throughput() -> None:
    curve = [throughput_curve([1e7], RoundPath(0.1, p, 1e6))[0] for p in (1e-4, 2e-4, 3e-4, 5e-4, 8e-4, 1e-3)]
    assert (np.diff(curve) < 0).all()


def test_long_runs_follow_the_square_root_law() -> None:
    """A round model without time in timeouts: within 15 % of √(2/p) a round."""
    for p in (0.001, 0.003, 0.01):
        flow = after_rounds(RoundPath(0.1, p), 3000, RoundModel(initial_threshold=32, restart_window=1))
        assert flow.delivered_segments / flow.rounds == pytest.approx(np.sqrt(2 / p), rel=0.15)


def test_lia_growth_and_mptcp() -> None:
    assert lia_growth([10.0, 10.0], [0.1, 0.1]) == pytest.approx(10 / 0.01 / 200**2)  # a quarter of 1/w: 0.025
    assert lia_growth([10.0], [0.1]) == pytest.approx(0.1)
    model = RoundModel(initial_threshold=16, restart_window=1)
    paths = [RoundPath(0.05, 0.01), RoundPath(0.05, 0.01)]
    pair = multipath(paths, 40.0, model)
    one = after_rounds(paths[0], 800, model)
    total = sum(flow.delivered_segments for flow in pair)
    # Coupled: about one TCP in all, clearly less than two.
    assert 0.85 * one.delivered_segments < total < 1.3 * one.delivered_segments
    assert pair[0].delivered_segments == pytest.approx(pair[1].delivered_segments, rel=0.01)
    assert all(flow.time_s <= 40.0 for flow in pair)
    alone = multipath(paths[:1], 40.0, model)
    assert alone[0].delivered_segments == pytest.approx(one.delivered_segments)


def test_lia_grows_by_less_than_a_segment_a_round() -> None:
    flow = Subflow(RoundModel(initial_window=10, initial_threshold=10), RoundPath(0.1))
    flow.next_round(0.03)
    assert flow.mean_window == pytest.approx(10.3)
    flow.next_round(5.0)  # the cap: min(α/w_total, 1/w) is at most one segment a round
    assert flow.mean_window == pytest.approx(11.3)


def test_transfer_time_within_a_round_is_in_proportion() -> None:
    model = RoundModel(initial_window=10, segment_bytes=1000)
    assert transfer_time_s(10_000, RoundPath(0.1), model) == pytest.approx(0.1)
    assert transfer_time_s(20_000, RoundPath(0.1), model) == pytest.approx(0.15)


def test_three_paths_join_in_turn() -> None:
    """C_1(2) = 1 + 2 = 3 segments against the second; C_1(4) + C_2(2) = 15 + 3 against the third."""
    paths = [RoundPath(0.02), RoundPath(0.04), RoundPath(0.08)]
    segment = 1400
    assert choose_paths(3 * segment, paths) == [0]
    assert choose_paths(3 * segment + 1, paths) == [0, 1]
    assert choose_paths(18 * segment, paths) == [0, 1]
    assert choose_paths(18 * segment + 1, paths) == [0, 1, 2]


def test_figure_8_by_hand() -> None:
    """50 kB, windows 1, 2, 4, …: 36 segments. All subflows at once: 20, 40, 60 ms, and 8 + 1 of 29 left at 80 ms.

    Rounds begin at 20, 40, 60, 80, 100 ms and a segment's time each, with 1, 2, 4, 8 and 16; the last 5 or 4 follow at
    120 ms and arrive 10 ms later: about 131 ms.
    """
    paths, model = [RoundPath(0.02, 0, 1e8), RoundPath(0.08, 0, 1e8)], RoundModel(ack_bytes=0)
    ready = ready_times_s([0.02, 0.08], at_once=True)
    both = transfer(50e3, paths, model, ready_s=ready)
    one = transfer(50e3, paths, model, ready_s=ready, select=True)
    assert (both.segments, one.segments) == ((35, 1), (36, 0))
    assert both.used == (0, 1)
    assert one.receiver_s == pytest.approx(0.1311, abs=2e-4)
    # At the receiver nothing is gained; at the sender the acknowledgment of the slow path's segment is missed.
    assert one.receiver_s == pytest.approx(both.receiver_s, abs=2e-4)
    assert both.sender_s - one.sender_s == pytest.approx(0.019, abs=1e-3)


def test_when_subflows_are_ready() -> None:
    assert ready_times_s([0.02, 0.08]) == pytest.approx([0.02, 0.2])
    assert ready_times_s([0.02, 0.08], sender_opens=False) == pytest.approx([0.03, 0.16])
    assert ready_times_s([0.02, 0.08], at_once=True) == pytest.approx([0.02, 0.08])


SIM = """
duration = "60 s"
[link.a]
rate = "100 Mbit/s"
delay = "{delay} ms"
queue = "10000 packets"
up.loss = "{loss} %"
[connection.c]
paths = ["a"]
protocol = "tcp"
direction = "up"
application = {{ kind = "file", size = "{size} kB" }}
tcp = {{ segments_per_ack = 1 }}
[measure]
sample = "never"
"""


@pytest.mark.parametrize("rtt_ms", [10, 50, 200])
@pytest.mark.parametrize("loss", [0.0, 0.0001, 0.001])
@pytest.mark.parametrize("size_kb", [57, 1000])
def test_a_file_takes_as_long_as_simulated(size_kb: int, loss: float, rtt_ms: int) -> None:
    """Within 3 % without loss and 15 % with it: what a loss costs is a matter of its place in the window."""
    text = SIM.format(delay=rtt_ms / 2, loss=loss * 100, size=size_kb)
    simulated = run(Scenario.from_toml(text), "sim", repeat=1 if loss == 0 else 60).connections["completion_s"]
    path = RoundPath(rtt_ms / 1e3, loss, 1e8 * 1448 / 1500)
    model = RoundModel(initial_window=10, restart_window=1, segment_bytes=1448, ack_bytes=0)
    found = transfer(size_kb * 1e3, [path], model).receiver_s
    assert found == pytest.approx(fmean(simulated.to_list()), rel=0.03 if loss == 0 else 0.15)


def test_a_timeout_takes_time_when_it_is_told_to() -> None:
    model = RoundModel(restart_window=1)
    path = RoundPath(0.1, 0.3)
    quick = transfer(5 * 1400, [path], model).receiver_s
    slow = transfer(5 * 1400, [path], replace(model, timeout_s=0.2)).receiver_s
    assert slow > quick + 0.2


def test_what_is_refused() -> None:
    with pytest.raises(RttError):
        RoundPath(0)
    with pytest.raises(LossOutOfRangeError):
        RoundPath(0.1, 1.0)
    with pytest.raises(ParameterError, match="bandwidth"):
        RoundPath(0.1, 0, 0)
    with pytest.raises(ParameterError, match="initial_window = 0"):
        RoundModel(initial_window=0)
    with pytest.raises(ParameterError, match="restart_window"):
        RoundModel(restart_window=0)
    with pytest.raises(ParameterError, match="remaining_bytes"):
        choose_paths(0, [RoundPath(0.1)])
    with pytest.raises(ParameterError, match="at least one path"):
        choose_paths(1, [])
    with pytest.raises(LengthMismatchError, match="1 windows but 2 paths"):
        choose_paths(1, [RoundPath(0.1), RoundPath(0.2)], windows=[1])
    with pytest.raises(LengthMismatchError, match="1 thresholds but 2 paths"):
        choose_paths(1, [RoundPath(0.1), RoundPath(0.2)], thresholds=[1])
    with pytest.raises(LengthMismatchError, match="1 times but 2 paths"):
        transfer(1, [RoundPath(0.1), RoundPath(0.2)], ready_s=[0.0])
    with pytest.raises(ParameterError, match="timeout_s"):
        RoundModel(timeout_s=-1)
    with pytest.raises(ParameterError, match="rounds = -1"):
        after_rounds(RoundPath(0.1), -1)
