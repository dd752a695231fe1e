"""Single-path formulas: limits, monotony, and the short formula against the long one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab.models.checks import LossOutOfRangeError, ParameterError, RttError
from mptcplab.models.short_flow import handshake, short_flow
from mptcplab.models.single_path import (
    padhye,
    padhye_approximate,
    padhye_window,
    timeout_probability,
    window_balance,
    window_sawtooth,
)

LOSS = st.floats(1e-7, 0.4)


@given(LOSS, st.floats(1, 3))
def test_the_two_square_root_laws_differ_by_a_constant(p: float, b: float) -> None:
    assert window_balance(p, b) / window_sawtooth(p, b) == pytest.approx(np.sqrt(4 / 3))


def test_small_losses_lead_to_the_square_root_law() -> None:
    p = np.array([1e-8, 1e-7, 1e-6])
    np.testing.assert_allclose(padhye(p, 0.1, 0.4) * 0.1, window_sawtooth(p, 2), rtol=3e-3)
    np.testing.assert_allclose(padhye_window(p), np.sqrt(4 / (3 * p)), rtol=1e-2)
    # About 3/w of the indications are timeouts.
    np.testing.assert_allclose(timeout_probability(p, 100.0), 0.03, rtol=0.02)


@given(LOSS, LOSS, st.floats(0.001, 1), st.floats(0.001, 5), st.floats(4, 1000))
def test_padhye_falls_with_loss_and_respects_the_window(
    p: float, q: float, rtt: float, t0: float, limit: float
) -> None:
    low, high = sorted((p, q))
    few, many = (padhye(x, rtt, t0, w_max_segments=limit) for x in (low, high))
    assert many <= few * (1 + 1e-9) or high < low * 1.05  # the two branches of eq. 32 meet with a small step
    assert few <= limit / rtt * (1 + 1e-9)
    assert padhye(p, rtt, t0, delivered=True) < padhye(p, rtt, t0)


@given(st.floats(1e-5, 0.02))
def test_the_short_formula_follows_the_long_one(p: float) -> None:
    assert padhye_approximate(p, 0.1, 0.4) == pytest.approx(padhye(p, 0.1, 0.4), rel=0.2)


def test_a_mean_of_simulated_rounds_agrees_with_padhye() -> None:
    """Section II B drawn at random: rounds, triple duplicates, no timeouts (large windows).

    Padhye takes mean values as if periods were independent; memoryless losses do about 6 % better.
    """
    random = np.random.default_rng(3)
    p, b = 2e-4, 1
    window, sent, rounds = 80.0, 0, 0
    for _ in range(4000):
        until = int(random.geometric(p))  # the segment that is lost
        while until > int(window):
            until -= int(window)
            sent += int(window)
            rounds += 1
            window += 1 / b
        sent += until + int(window) - 1  # the rest of the window follows before the third duplicate
        rounds += 2
        window = max(window / 2, 1.0)
    timeouts_off = padhye(p, 0.1, 1e-9, b=b)
    assert 1.0 < sent / (rounds * 0.1) / float(timeouts_off) < 1.08


@given(st.integers(1, 2000), st.just(0.0) | st.floats(1e-9, 0.3))
def test_longer_transfers_take_longer(segments: int, p: float) -> None:
    one, more = (short_flow(float(n), 0.1, p) for n in (segments, segments + 10))
    assert more.total_s > one.total_s
    assert one.total_s >= 0.2 - 1e-12
    assert one.slow_start_segments <= segments


def test_a_long_transfer_runs_at_padhyes_rate() -> None:
    long = short_flow(1e6, 0.1, 0.01)
    assert 1e6 / long.total_s == pytest.approx(float(padhye(0.01, 0.1, 1.0, delivered=True)), rel=1e-3)


def test_loss_costs_its_parts() -> None:
    flow = short_flow([10.0, 1000.0], 0.1, [0.0, 0.01])
    np.testing.assert_array_equal(flow.first_loss_s > 0, [False, True])
    np.testing.assert_array_equal(flow.avoidance_s > 0, [False, True])
    np.testing.assert_allclose(flow.delayed_ack_s, 0.1)  # an initial window of 1 waits for the delayed ACK
    assert short_flow(10.0, 0.1, initial_window=2.0).delayed_ack_s == 0
    np.testing.assert_allclose(flow.total_s, flow.handshake_s + flow.transfer_s)


def test_what_is_refused() -> None:
    with pytest.raises(LossOutOfRangeError, match="finite only below"):
        handshake(0.1, 0.5)
    with pytest.raises(ParameterError, match="at least 1 segment"):
        short_flow(0.0, 0.1)
    with pytest.raises(ParameterError, match="below the initial window"):
        short_flow(10.0, 0.1, initial_window=4.0, w_max_segments=2.0)
    with pytest.raises(ParameterError, match="hold at least 1"):
        padhye(0.01, 0.1, 0.4, w_max_segments=0.5)
    with pytest.raises(RttError, match="t0_s"):
        padhye(0.01, 0.1, 0.0)
    with pytest.raises(ParameterError, match="a window must be positive"):
        timeout_probability(0.1, -1.0)
    with pytest.raises(ParameterError, match="scale"):
        padhye_approximate(0.1, 0.1, 0.4, scale=0.0)
