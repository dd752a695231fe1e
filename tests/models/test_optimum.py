"""The fair optimum and the Pareto test, against a general optimiser and against each other."""

from collections.abc import Callable

import numpy as np
import pytest
from mptcplab.models.checks import ParameterError
from mptcplab.models.equilibrium import equilibrium
from mptcplab.models.link_laws import Capacity
from mptcplab.models.network import Network, Route, User
from mptcplab.models.optimum import optimum
from mptcplab.models.pareto import common_gain, pareto_gain
from scipy.optimize import minimize

Generator = Callable[..., Network]


@pytest.mark.parametrize("alpha", [1.0, 2.0, 4.0])
def test_optimum_is_what_a_general_optimiser_finds(random_network: Generator, alpha: float) -> None:
    """SLSQP on the utilities themselves, capacities and floors as constraints."""
    compared = 0
    for seed in range(12):
        network = random_network(seed, ["olia"], links=(2, 5), users=(2, 5))
        found = optimum(network, alpha=alpha)
        unit = network.capacity.mean()
        load = network.load_matrix.toarray()

        def loss(x: np.ndarray, network: Network = network) -> float:
            total = network.user_sums(x)
            each = np.log(total) if alpha == 1 else total ** (1 - alpha) / (1 - alpha)
            return -float(network.count @ each)

        crowd = load.sum(axis=1).max()
        size = abs(loss(found.rates / unit))
        general = minimize(
            lambda x, f=loss, s=size: f(x) / s,
            # Possible, and away from the answer: 70 % of everything above the floors, and a little on each route.
            (found.floor + 0.7 * (found.rates - found.floor)) / unit + 0.1 * network.capacity.min() / unit / crowd,
            method="SLSQP",
            bounds=[(low, None) for low in found.floor / unit],
            constraints={"type": "ineq", "fun": lambda x, a=load, c=network.capacity / unit: (c - a @ x) / c},
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        if general.success and (load @ general.x <= network.capacity / unit * (1 + 1e-6)).all():
            compared += 1
            ours = loss(found.rates / unit) / size
            assert ours <= general.fun + 1e-5
            assert ours == pytest.approx(general.fun, abs=1e-4)
    assert compared >= 7


def test_optimum_is_pareto_optimal_given_the_probing(random_network: Generator) -> None:
    for seed in range(60):
        found = optimum(random_network(seed, ["lia"]), tolerance=1e-10)
        assert pareto_gain(found.network, found.rates, floor=found.floor).is_optimal()


def test_probing_floor_holds_and_costs(random_network: Generator) -> None:
    least = []
    for seed in range(20):
        network = random_network(seed, ["lia"])
        probing, free = optimum(network), optimum(network, floor_segments=0)
        assert (probing.rates * network.rtt_s >= 1 - 1e-9).all()
        least.append((probing.rates * network.rtt_s).min())
        utility = [-(network.count / result.user_rates).sum() for result in (probing, free)]
        assert utility[0] <= utility[1] + 1e-6 * abs(utility[1])
    assert min(least) == pytest.approx(1, rel=1e-6), "somewhere it costs something"


def test_weights_and_fairness() -> None:
    users = [User(name, "reno", (Route(("l",), 0.1),)) for name in ("one", "two")]
    network = Network({"l": Capacity(3000.0)}, users)
    np.testing.assert_allclose(optimum(network).rates, [1500, 1500], rtol=1e-7)
    np.testing.assert_allclose(optimum(network, alpha=1, weights=np.array([1.0, 2.0])).rates, [1000, 2000], rtol=1e-7)
    np.testing.assert_allclose(optimum(network, alpha=2, weights=np.array([1.0, 4.0])).rates, [1000, 2000], rtol=1e-7)
    with pytest.raises(ParameterError, match="alpha = 0"):
        optimum(network, alpha=0)
    for wrong in ([1.0], [1.0, 0.0], [1.0, np.inf]):
        with pytest.raises(ParameterError, match="expected 2 positive numbers"):
            optimum(network, weights=np.array(wrong))


def test_gain_by_hand() -> None:
    """Two links of 10; the first user wastes 2 of the second on a detour that crosses both, so that both lose."""
    users = [
        User("a", "olia", (Route(("l",), 1.0), Route(("l", "m"), 1.0))),
        User("b", "reno", (Route(("m",), 1.0),)),
    ]
    network = Network({"l": Capacity(10.0), "m": Capacity(10.0)}, users)
    gain = pareto_gain(network, np.array([8.0, 2.0, 8.0]))
    np.testing.assert_allclose(gain.gains, [0, 2], atol=1e-9)
    np.testing.assert_allclose(gain.relative, [0, 2 / 8], atol=1e-9)
    assert gain.total == pytest.approx(2 / 18)
    assert not gain.is_optimal()
    assert pareto_gain(network, np.array([10.0, 0.0, 10.0])).is_optimal()
    # With a floor of 2 on the detour nothing is left to gain.
    assert pareto_gain(network, np.array([8.0, 2.0, 8.0]), floor=np.array([0.0, 2.0, 0.0])).is_optimal()
    # Nobody fills its links: all can gain a quarter.
    part, rates = common_gain(network, np.array([8.0, 0.0, 8.0]))
    assert part == pytest.approx(0.25)
    np.testing.assert_allclose(network.user_sums(rates), [10, 10])


def test_no_single_user_gains_more_than_the_programme_says(random_network: Generator) -> None:
    """The gain found is feasible and nobody loses in it."""
    for seed in range(30):
        network = random_network(seed, ["lia", "reno"], links=(2, 8), users=(2, 10))
        now = equilibrium(network)
        gain = pareto_gain(network, now.rates)
        assert (network.load_matrix @ gain.rates <= network.capacity * (1 + 1e-6)).all()
        assert (network.user_sums(gain.rates) >= now.user_rates * (1 - 1e-6)).all()
        part, rates = common_gain(network, now.rates)
        assert part <= gain.total * (1 + 1e-6) + 1e-6
        assert (network.user_sums(rates) >= now.user_rates * (1 + part) * (1 - 1e-6)).all()


def test_impossible_allocations_are_refused() -> None:
    network = Network({"l": Capacity(10.0)}, [User("a", "reno", (Route(("l",), 1.0),))])
    with pytest.raises(ParameterError, match="'l' carries 11 segments/s, above its 10"):
        pareto_gain(network, np.array([11.0]))
    with pytest.raises(ParameterError, match="less than its floor"):
        pareto_gain(network, np.array([5.0]), floor=np.array([6.0]))
    with pytest.raises(ParameterError, match="rates of shape"):
        pareto_gain(network, np.array([5.0, 1.0]))
    with pytest.raises(ParameterError, match="nothing to compare"):
        pareto_gain(network, np.array([0.0]))
