"""PERT beside flows that answer to losses: the law by hand, and a network that keeps it."""

import math

import numpy as np
import pytest
from mptcplab.models.checks import ParameterError
from mptcplab.models.link_laws import Capacity, RedCurve
from mptcplab.models.network import Network, Route, User
from mptcplab.models.pert import Response
from mptcplab.models.pert_mix import Mixed
from mptcplab.models.queues import settle

RESPONSE = Response(0.040)


def test_safe_mode_by_hand() -> None:
    # q = 12 ms: P = 0.05 + 0.95·0.2 = 0.24; a window of 20: p' = 0.24/(1 + 4.8); β = 12/52.
    added, alpha = Mixed(RESPONSE).answer(0.012, 20, 0.05, 0.01)
    assert alpha == pytest.approx(1)
    assert added == pytest.approx(2 * 12 / 52 * 0.24 / 5.8 * (1 - 6 / 52 * 4.8 / 5.8))


def test_compete_mode_makes_up_for_early_responses() -> None:
    # q = 30 ms of 40: P = 1, p' = 1/21, β = 3/7; α = 1 + p'/p, 16 at most.
    added, alpha = Mixed(RESPONSE).answer(0.030, 20, 0.07, 0.01)
    assert alpha == pytest.approx(1 + 1 / 0.21)
    assert added == pytest.approx(2 * 3 / 7 / 21 * (1 - 3 / 14 * 20 / 21))
    assert Mixed(RESPONSE).answer(0.030, 20, 0.07, 0.001)[1] == pytest.approx(16)
    assert Mixed(RESPONSE).answer(0.030, 20, 0.07, 0.0)[1] == pytest.approx(16)
    # Were β a half, the window would be Reno's: 2α/(p + 2 β p') = 2/p.
    assert 2 * alpha / (0.01 + 2 * 0.5 / 21) == pytest.approx(2 / 0.01)


def test_high_speed_mode() -> None:
    assert Mixed(RESPONSE).answer(0.001, 20, 0.04, 0.01) == (0, pytest.approx(32))
    # Half-way over the threshold, by the logarithm.
    assert Mixed(RESPONSE).answer(0.005, 20, 0.04, 0.01)[1] == pytest.approx(math.sqrt(32))
    # Half of the largest delay is the threshold too: compete mode, α = 1 here, has half, high-speed half of the rest.
    assert Mixed(Response(0.010)).answer(0.005, 20, 0.04, 0.01)[1] == pytest.approx(32**0.25)
    # Without a threshold there is no such mode.
    assert Mixed(Response(0.040, low_s=0.0)).answer(0.0, 20, 0.04, 0.01) == (0, pytest.approx(1))


def test_the_acknowledgment_of_a_lone_segment_looks_like_a_queue() -> None:
    mixed = Mixed(RESPONSE, ack_wait_s=0.040)
    assert mixed.seen_s(0.008, 3, 0.05) == pytest.approx(0.008 + 0.040 / 2)
    assert mixed.seen_s(0.008, 19, 0.05) == pytest.approx(0.008 + 0.040 / 10)
    assert mixed.seen_s(0.008, 3, 0.03) == 0.008  # the next round comes before the timer
    assert mixed.seen_s(0.008, 3, 0.040) == 0.008
    assert mixed.seen_s(0.008, 0.5, 0.05) == pytest.approx(0.048)  # not more than every round
    # The largest delay: of the queue alone, or of the timer on a usual queue; on a full one where it fills.
    beta = 0.028 / (0.028 + 0.048)
    assert mixed.answer(0.008, 3, 0.05, 0.01)[0] == pytest.approx(2 * beta / 4 * (1 - beta / 2 * 3 / 4))
    full = Mixed(RESPONSE, ack_wait_s=0.040, fills=True)
    beta = 0.028 / (0.028 + 0.080)
    assert full.answer(0.008, 3, 0.05, 0.01)[0] == pytest.approx(2 * beta / 4 * (1 - beta / 2 * 3 / 4))


def test_a_settled_network_keeps_the_law() -> None:
    red = RedCurve(20, 60, 0.1)
    mixed = Mixed(Response(0.048))
    users = [User("early", "pert", (Route(("l",), 0.04),), 5), User("late", "reno", (Route(("l",), 0.04),), 5)]
    found = settle(Network({"l": Capacity(2500.0)}, users), {"l": red}, mixed={"early": [mixed]})
    delay, window = found.queue_packets[0] / 2500, found.rates * found.rtt_s
    added, alpha = mixed.answer(delay, window[0], found.rtt_s[0], found.link_loss[0])
    assert window[0] == pytest.approx(math.sqrt(2 * alpha / (found.link_loss[0] + added)), rel=1e-5)
    assert window[1] == pytest.approx(math.sqrt(2 / found.link_loss[0]), rel=1e-5)
    assert window[0] < window[1]
    # Without Reno nothing changes for the law; each subflow of MPPERT has its own.
    pair = User("early", "mppert", (Route(("l",), 0.04), Route(("l",), 0.08)), 5)
    two = settle(Network({"l": Capacity(2500.0)}, [pair, users[1]]), {"l": red}, mixed={"early": [mixed, mixed]})
    assert np.isfinite(two.rates).all()


def test_what_is_out_of_range() -> None:
    for wrong in (-1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="ack_wait_s"):
            Mixed(RESPONSE, ack_wait_s=wrong)
    network = Network({"l": Capacity(100.0)}, [User("u", "reno", (Route(("l",), 0.1),))])
    with pytest.raises(ParameterError, match="delay-based control"):
        settle(network, {}, mixed={"u": [Mixed(RESPONSE)]})
