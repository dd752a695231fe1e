"""PERT's answer and the queue where it settles: numbers worked by hand, and against the rule played step by step."""

import math

import numpy as np
import pytest
from mptcplab.models.checks import ParameterError
from mptcplab.models.link_laws import Capacity
from mptcplab.models.network import Network, Route, User
from mptcplab.models.pert import Response, settled_delay_s
from mptcplab.models.predict import predict
from mptcplab.models.queues import EarlyResponse, settle

PACKETS_PER_S = 10e6 / 8000  # 10 Mbit/s, packets of 1000 bytes
BUFFER_S = 0.040  # one bandwidth-delay product of 40 ms


def test_the_curve_by_hand() -> None:
    response = Response(BUFFER_S)
    assert response.early(0.005) == 0
    assert response.early(0.0075) == pytest.approx(0.025)
    assert response.early(0.010) == pytest.approx(0.05)
    assert response.early(0.015) == pytest.approx(0.05 + 0.95 / 2)
    assert response.early(0.020) == response.early(0.040) == 1
    assert response.decrease(0.010) == pytest.approx(0.2)
    # At most once a round trip: P = 0.05 and 20 ACKs a round, an answer every 20 + 20 ACKs.
    assert response.answers(0.010, 20) == pytest.approx(1 / 40)
    assert response.equivalent_loss(0.010, 20) == pytest.approx(2 * 0.2 / 40)


def test_the_queue_of_table_7_without_and_with_the_limit() -> None:
    """Ten flows and a multipath flow that takes 0.55 of one on the path: the published queue is 13.2 and 12.8."""
    without = settled_delay_s(Response(BUFFER_S, once_per_rtt=False), PACKETS_PER_S, 0.040, 10.55)
    limited = settled_delay_s(Response(BUFFER_S), PACKETS_PER_S, 0.040, 10.55)
    assert without == pytest.approx(0.0108, abs=5e-5)
    assert without * PACKETS_PER_S == pytest.approx(13.5, abs=0.1)
    assert limited == pytest.approx(0.0128, abs=5e-5)
    assert limited * PACKETS_PER_S == pytest.approx(16.0, abs=0.1)
    assert (without / BUFFER_S, limited / BUFFER_S) == (pytest.approx(0.27, abs=0.005), pytest.approx(0.32, abs=0.005))


def test_a_larger_increase_settles_at_a_longer_queue() -> None:
    response = Response(BUFFER_S)
    for alpha in (1.0, 4.0):
        delay = settled_delay_s(response, PACKETS_PER_S, 0.040, 10, alpha=alpha)
        window = PACKETS_PER_S * (0.040 + delay) / 10
        # What responses take a round trip is what α adds: w²·β·p′ = α.
        assert window**2 * response.decrease(delay) * response.answers(delay, window) == pytest.approx(alpha, rel=1e-5)


def test_the_inverse_is_one() -> None:
    response = Response(BUFFER_S)
    for delay in (0.006, 0.009, 0.012, 0.019, 0.030):
        assert response.delay_s(response.equivalent_loss(delay, 7.0), 7.0) == pytest.approx(delay, rel=1e-6)
    assert response.delay_s(0.9, 7.0) == BUFFER_S
    assert response.delay_s(0.0, 7.0) == 0.005


def test_the_answers_a_round_played() -> None:
    """The renewal argument against a coin a step: an answer, a round of W without, then one with probability P."""
    generator = np.random.default_rng(1)
    for window, p in ((6, 0.3), (20, 0.05), (50, 0.01)):
        gaps = window + generator.geometric(p, 200_000)
        # The ACK that is answered is the first that may be: its round has no other. 1/P counts it, so W + 1/P.
        assert 1 / gaps.mean() == pytest.approx(p / (1 + window * p), rel=0.01)


@pytest.mark.parametrize(("k", "share"), [(1.0, 2 / 3), (0.0, 4 / 5), (-0.5, 16 / 17)])
def test_the_laws_shares_where_windows_differ_two_to_one(k: float, share: float) -> None:
    # Single-path windows are as 1/√p: four times the loss halves them.
    found = predict([0.01, 0.04], [0.04, 0.04], "mppert", k=k)
    assert found.shares[0] == pytest.approx(share)
    assert found.total_segments_per_s == pytest.approx(math.sqrt(2 / 0.01) / 0.04)


def test_a_pert_alone() -> None:
    assert predict([0.01], [0.04], "pert", alpha=2.0, beta=0.2).windows_segments[0] == pytest.approx(math.sqrt(1000))
    for wrong in (2, 0):
        with pytest.raises(ParameterError, match="per_segment"):
            Response(BUFFER_S, per_segment=wrong)
    with pytest.raises(ParameterError, match="largest_delay_s"):
        Response(0)


def test_a_network_of_pert_flows_settles_where_one_link_does() -> None:
    """Table VII: ten PERT flows a link and one MPPERT flow over both."""
    response = Response(BUFFER_S)
    links = {name: Capacity(PACKETS_PER_S) for name in ("one", "two")}
    users = [User(f"background {name}", "pert", (Route((name,), 0.040),), count=10) for name in links]
    users.append(User("multipath", "mppert", tuple(Route((name,), 0.040) for name in links)))
    found = settle(Network(links, users), {name: EarlyResponse(response) for name in links})
    # LIA's law on two equal paths: together one PERT flow, so half of one on each, 10.5 flows a link. The link's price
    # takes the mean window of what crosses it, the closed form that of a whole flow.
    alone = settled_delay_s(response, PACKETS_PER_S, 0.040, 10.5)
    assert found.queue_packets / PACKETS_PER_S == pytest.approx([alone, alone], rel=0.01)
    assert found.user_rates == pytest.approx([PACKETS_PER_S / 10.5] * 3, rel=1e-4)


def test_the_shifted_load_has_the_queue_it_answers_to() -> None:
    """10(10)+10(5): the link with fewer flows gets more of the multipath flow and has the shorter queue."""
    response = Response(BUFFER_S)
    links = {"one": Capacity(PACKETS_PER_S), "two": Capacity(PACKETS_PER_S)}
    users = [
        User("ten", "pert", (Route(("one",), 0.040),), count=10),
        User("five", "pert", (Route(("two",), 0.040),), count=5),
        User("multipath", "mppert", (Route(("one",), 0.040), Route(("two",), 0.040))),
    ]
    found = settle(Network(links, users), {name: EarlyResponse(response) for name in links})
    shares = found.rates[2:] / found.rates[2:].sum()
    assert found.queue_packets[0] > found.queue_packets[1]
    # Published 0.703; the law with windows 2 : 1 has 0.8, and the flow itself fills the emptier link.
    assert 0.68 < shares[1] < 0.82
    assert found.user_rates[2] == pytest.approx(found.user_rates[1], rel=0.02)
