"""Equilibria with queues: saw-tooths by hand and by numbers, and what agrees in the end."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mptcplab.models.checks import LossOutOfRangeError, ParameterError
from mptcplab.models.equilibrium import equilibrium
from mptcplab.models.link_laws import Capacity, PowerLaw, RedCurve
from mptcplab.models.network import Network, Route, User
from mptcplab.models.queues import DropTail, drop_tail_sawtooth, red_sawtooth, settle


def played(top: float, bottom: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A window that grows by equal steps a round: the window, the time of each round, the queue."""
    u = np.linspace(bottom, top, 200_001)
    u = (u[1:] + u[:-1]) / 2
    return u, np.maximum(u, 1), np.maximum(u - 1, 0)


def test_one_flow_by_hand() -> None:
    """β = 1, from 1 to 2: busy ∫u = 3/2, queue ∫(u² − u) = 7/3 − 3/2 = 5/6, mean 5/9."""
    assert drop_tail_sawtooth(1.0) == (pytest.approx(5 / 9), 1.0)
    # No buffer, from 1/2 to 1: the classic three quarters.
    assert drop_tail_sawtooth(0.0) == (0.0, pytest.approx(3 / 4))


@given(buffer=st.floats(0, 20), flows=st.floats(1, 1000))
def test_the_integrals_are_those_of_a_window_that_is_played(buffer: float, flows: float) -> None:
    top = 1 + buffer
    u, time, queue = played(top, top * (1 - flows**-0.3 / 2))
    mean, utilisation = drop_tail_sawtooth(buffer, flows)
    assert mean == pytest.approx((queue * time).sum() / time.sum(), abs=1e-6)
    assert utilisation == pytest.approx(u.sum() / time.sum(), abs=1e-6)
    assert 0 <= mean <= buffer + 1e-12
    assert 0.75 - 1e-12 <= utilisation <= 1 + 1e-12


@settings(deadline=None)
@given(loss=st.floats(1e-6, 0.5), product=st.floats(5, 5000), flows=st.floats(1, 100), gentle=st.booleans())
def test_red_loses_what_its_curve_says_along_the_sawtooth(
    loss: float, product: float, flows: float, gentle: bool
) -> None:
    curve = RedCurve(25, 50, 0.1, gentle)
    mean, utilisation = red_sawtooth(curve, loss, product, flows)
    # The top is not part of the answer: search it by the mean queue, and compare the loss.
    low, high = 1.0, 1 + 200 / product + 1
    for _ in range(80):
        top = (low + high) / 2
        u, time, queue = played(top, top * (1 - flows**-0.1 / 2))
        low, high = (top, high) if (queue * time).sum() / time.sum() < mean else (low, top)
    assert utilisation == pytest.approx(u.sum() / time.sum(), abs=1e-4)
    lost = (curve.probability(queue * product) * u).sum() / u.sum()
    assert lost == pytest.approx(loss, rel=0.02, abs=1e-5)


def one_flow(*, loss: float = 0.0, capacity: float = 1000.0, count: float = 1.0) -> Network:
    return Network({"l": Capacity(capacity)}, [User("u", "reno", (Route(("l",), 0.1, loss),), count)])


def test_one_flow_and_its_queue() -> None:
    """A product of 100 segments and a buffer of as many: the queue is 55.6, the window 155.6."""
    found = settle(one_flow(), {"l": DropTail(100.0)})
    assert found.queue_packets[0] == pytest.approx(500 / 9, rel=1e-3)
    assert found.rates[0] == pytest.approx(1000, rel=1e-6)
    assert found.rates[0] * found.rtt_s[0] == pytest.approx(100 + 500 / 9, rel=1e-3)
    assert found.link_loss[0] == pytest.approx(2 / (100 + 500 / 9) ** 2, rel=2e-3)


def test_a_short_buffer_leaves_the_link_idle() -> None:
    found = settle(one_flow(), {"l": DropTail(0.0)})
    assert found.rates[0] == pytest.approx(750, rel=1e-3)
    assert found.queue_packets[0] == 0


def test_random_loss_sets_the_rate_where_the_link_is_not_full() -> None:
    """p = 2 %: a window of √(2/0.02) = 10, 100 segments/s of 1000; no queue but a waiting ACK."""
    found = settle(one_flow(loss=0.02), {"l": DropTail(100.0)})
    assert found.rates[0] == pytest.approx(100, rel=1e-6)
    assert found.queue_packets[0] == pytest.approx(0, abs=1e-3)
    waiting = settle(one_flow(loss=0.02), {"l": DropTail(100.0)}, ack_wait_s=0.04)
    # (w − 1)/rtt: the ACK waits for one more segment, 1/x.
    assert waiting.rates[0] == pytest.approx(90, rel=1e-6)
    assert waiting.rtt_s[0] == pytest.approx(0.1 + 1 / 90, rel=1e-6)


@pytest.mark.parametrize("control", ["reno", "lia", "lia-capped", "olia", "balia", "coupled", "ewtcp"])
def test_random_loss_in_the_equilibrium_is_that_of_the_steady_state(control: str) -> None:
    from mptcplab.models.predict import predict

    routes = (Route(("a",), 0.1, 0.01), Route(("b",), 0.15, 0.004))
    network = Network({"a": Capacity(1e5), "b": Capacity(1e5)}, [User("u", control, routes)])
    expected = predict([0.01, 0.004], [0.1, 0.15], control).rates_segments_per_s
    np.testing.assert_allclose(equilibrium(network).rates, expected, rtol=1e-5, atol=1e-4 * expected.max())


@pytest.mark.parametrize("part", np.linspace(0.5, 2.0, 16))
def test_the_queue_fills_without_a_jump_where_random_loss_gives_way(part: float) -> None:
    """A link of `part` of what random loss alone would let through: rates rise with it, and never pass it."""
    capacity = 100 * part
    here, more = (
        settle(one_flow(loss=0.02, capacity=each), {"l": DropTail(20.0)}) for each in (capacity, capacity * 1.01)
    )
    assert here.rates[0] <= more.rates[0] * (1 + 1e-9)
    assert here.rates[0] <= min(capacity, 100) * (1 + 1e-6)
    assert here.queue_packets[0] >= more.queue_packets[0] - 0.3
    if part > 1.05:
        assert here.rates[0] == pytest.approx(100, rel=0.01)


def test_segments_of_two_sizes_share_a_capacity() -> None:
    """Equal windows, half the size: a third of the link."""
    users = [
        User("large", "reno", (Route(("l",), 0.1),)),
        User("small", "reno", (Route(("l",), 0.1),), segment_size=0.5),
    ]
    found = settle(Network({"l": Capacity(150.0)}, users), {"l": DropTail(10.0)}).rates
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] + 0.5 * found[1] <= 150 * (1 + 1e-6)


def test_rates_do_not_depend_on_the_order_of_things() -> None:
    routes = (Route(("a",), 0.05), Route(("b",), 0.1))
    users = [User("m", "lia-capped", routes, 3), User("t", "reno", routes[1:], 2)]
    links = {"a": Capacity(500.0), "b": Capacity(800.0)}
    queues = {"a": RedCurve(20, 40, 0.1), "b": DropTail(60.0)}
    one = settle(Network(links, users), queues)
    two = settle(Network(dict(reversed(links.items())), users[::-1]), dict(reversed(queues.items())))
    np.testing.assert_allclose(one.rates, two.rates[[1, 2, 0]], rtol=1e-5)
    np.testing.assert_allclose(one.queue_packets, two.queue_packets[::-1], rtol=1e-4)


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="a buffer of -1"):
        drop_tail_sawtooth(-1)
    with pytest.raises(ParameterError, match=r"0\.5 flows"):
        drop_tail_sawtooth(1, 0.5)
    with pytest.raises(LossOutOfRangeError, match="loss = 0"):
        red_sawtooth(RedCurve(1, 2, 0.1), 0, 10)
    with pytest.raises(ParameterError, match="queue of -1 segments"):
        DropTail(-1)
    with pytest.raises(ParameterError, match="a queue before 'x'; the links are: 'l'"):
        settle(one_flow(), {"x": DropTail(1)})
    with pytest.raises(ParameterError, match="'l': expected a capacity without a law"):
        settle(Network({"l": PowerLaw(10)}, [User("u", "reno", (Route(("l",), 0.1),))]), {})
    with pytest.raises(ParameterError, match="fills its capacity"):
        settle(one_flow(capacity=10.0, count=5), {"l": DropTail(1)})
    with pytest.raises(ParameterError, match="segment_size"):
        Network({"l": Capacity(1)}, [User("u", "reno", (Route(("l",), 0.1),), segment_size=0)])
    with pytest.raises(LossOutOfRangeError, match=r"p\[0\] = 1"):
        one_flow(loss=1.0)


@pytest.mark.parametrize("control", ["olia", "coupled"])
def test_equal_paths_stay_equal_though_acks_wait(control: str) -> None:
    """A route that is left sends little and so waits longer for its ACKs: that must not keep it left."""
    routes = (Route(("l",), 0.1), Route(("l",), 0.1))
    users = [User("m", control, routes, 2), User("t", "reno", routes[:1])]
    found = settle(Network({"l": Capacity(900.0)}, users), {"l": RedCurve(20, 40, 0.1)}, ack_wait_s=0.04)
    assert found.rates[0] == pytest.approx(found.rates[1], rel=1e-3)


@pytest.mark.parametrize("mixture", [["reno"], ["lia-capped"], ["olia"], ["balia", "coupled", "ewtcp"]], ids="-".join)
def test_random_networks_with_queues_settle(random_network: Callable[..., Network], mixture: list[str]) -> None:
    """Loads within capacities, queues within their limits and only where links lose, RTTs the sum of their parts."""
    for seed in range(15):
        network = random_network(seed, mixture, users=(2, 30), links=(2, 10))
        limits = {name: DropTail(0.05 * law.segments_per_s) for name, law in network.links.items()}
        found = settle(network, limits, floor_segments=0.01)
        assert (found.link_load <= network.capacity * (1 + 1e-6)).all()
        assert (found.queue_packets >= 0).all()
        assert (found.queue_packets <= 0.05 * network.capacity * (1 + 1e-6)).all()
        slack = found.link_load < 0.7 * network.capacity
        assert (found.queue_packets[slack] < 1e-3 * network.capacity[slack]).all()
        delay = network.crossing.T @ (found.queue_packets / network.capacity)
        np.testing.assert_allclose(found.rtt_s, network.rtt_s + delay, rtol=1e-5)
