"""Fluid models: where they settle, theorems 1, 3 and 4 of Khalili 2013 on random networks, and eq. 9."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab.models.checks import ParameterError, UnknownControlError
from mptcplab.models.equilibrium import equilibrium
from mptcplab.models.fluid import FluidModel, trajectory
from mptcplab.models.link_laws import Capacity, PowerLaw
from mptcplab.models.network import Network, Route, User

Generator = Callable[..., Network]


def small(generator: Generator, seed: int, control: str) -> Network:
    return generator(seed, [control], links=(2, 5), users=(2, 5), equal_rtts=True, hard=False)


def start_of(network: Network, seed: int) -> np.ndarray:
    crowd = np.asarray(network.load_matrix.sum(axis=1)).ravel().max()
    return np.random.default_rng(seed).uniform(0.1, 1.0, len(network.rtt_s)) * network.capacity.min() / crowd


@pytest.mark.parametrize("control", ["reno", "uncoupled", "ewtcp", "lia", "balia"])
def test_trajectories_end_in_the_equilibrium(random_network: Generator, control: str) -> None:
    """With equal RTTs LIA's cap does not bind at rest, so that the solver's uncapped law is met."""
    for seed in range(8):
        network = small(random_network, seed, control)
        path = trajectory(network, start_of(network, seed), 2e4, samples=50)
        rest = equilibrium(network, tolerance=1e-9)
        np.testing.assert_allclose(network.user_sums(path.final), rest.user_rates, rtol=1e-4)
        np.testing.assert_allclose(FluidModel(network).derivative(rest.rates) * network.rtt_s**2, 0, atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_theorem_4_olia_climbs_to_the_maximum_of_v(random_network: Generator, seed: int) -> None:
    network = small(random_network, seed, "olia")
    model = FluidModel(network)
    path = trajectory(network, start_of(network, seed), 1e7, samples=400)
    value = np.array([model.utility(rates) for rates in path.rates])
    assert (np.diff(value) >= -1e-6 * abs(value[-1])).all(), "V falls"
    best = model.utility(equilibrium(network).rates)
    assert value[-1] == pytest.approx(best, rel=1e-4)
    # Theorem 3: nothing near the equilibrium, and nothing at random, is better.
    random = np.random.default_rng(seed)
    for _ in range(200):
        other = path.final * random.uniform(0, 2, len(path.final)) + 1e-9
        assert model.utility(other) <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("seed", range(10))
def test_theorem_1_olia_uses_its_best_paths_at_tcps_rate(random_network: Generator, seed: int) -> None:
    network = small(random_network, seed, "olia")
    model = FluidModel(network)
    rates = trajectory(network, start_of(network, seed), 1e7, samples=3).final
    loss = network.crossing.T @ model.link_loss(rates)
    for u, user in enumerate(network.users):
        part = network.routes_of(user.name)
        tcp = np.sqrt(2 / (user.b * loss[part])) / network.rtt_s[part]
        assert rates[part].sum() == pytest.approx(tcp.max(), rel=1e-3), u
        assert rates[part][tcp < 0.98 * tcp.max()].sum() < 1e-3 * rates[part].sum()


def test_different_rtts_lia_keeps_its_cap() -> None:
    """One user, two clean links apart: the trajectory rests where the capped law does, not the free one."""
    users = [User("u", "lia", (Route(("near",), 0.01), Route(("far",), 0.5)))]
    links = {"near": PowerLaw(1000.0, 0.02, 6), "far": PowerLaw(2000.0, 0.0002, 6)}
    rest = trajectory(Network(links, users), np.array([100.0, 100.0]), 1e5).final
    capped = equilibrium(Network(links, [User("u", "lia-capped", users[0].routes)])).rates
    free = equilibrium(Network(links, users)).rates
    np.testing.assert_allclose(rest, capped, rtol=1e-4)
    assert abs(free[1] / capped[1] - 1) > 0.1


@given(st.lists(st.tuples(st.floats(0.5, 100), st.floats(1e-4, 0.1)), min_size=1, max_size=6), st.floats(1e-6, 1e-3))
def test_blurred_alpha_lies_in_the_set_of_equation_9(paths: list[tuple[float, float]], blur: float) -> None:
    """Away from near-ties: sum 0; +1/n on a lone best path unless it is widest; −1/n on a lone widest; 0 elsewhere."""
    w, p = np.array(paths).T
    n = len(w)
    network = Network({"l": PowerLaw(1.0)}, [User("u", "olia", tuple(Route(("l",), 0.1) for _ in range(n)))])
    alpha = FluidModel(network, blur).alpha(w, p, np.full(n, 0.1))
    assert alpha.sum() == pytest.approx(0, abs=1e-12)
    best, widest = p == p.min(), w == w.max()
    near = 40 * blur
    if (np.log(p[~best] / p.min()) < near).any() or (np.log(w.max() / w[~widest]) < near).any():
        return
    if best.sum() == 1 and widest.sum() == 1:
        np.testing.assert_allclose(alpha, (best.astype(float) - widest) / n, atol=1e-9)
    assert (np.abs(alpha[~best & ~widest]) < 1e-9).all()
    assert (alpha[best & ~widest] >= -1e-12).all()
    assert (alpha[widest & ~best] <= 1e-12).all()
    if not (best & widest).any():
        assert alpha[best].sum() == pytest.approx(1 / n)


def test_equation_6_away_from_ties() -> None:
    network = Network({"l": PowerLaw(1.0)}, [User("u", "olia", tuple(Route(("l",), 0.1) for _ in range(3)))])
    alpha = FluidModel(network).alpha(np.array([10.0, 5.0, 2.0]), np.array([0.02, 0.01, 0.03]), np.full(3, 0.1))
    np.testing.assert_allclose(alpha, [-1 / 3, 1 / 3, 0], atol=1e-12)


def test_one_reno_follows_its_closed_form() -> None:
    """At a nearly constant loss p: x' = (1 − (x/x*)²)/rtt², so x = x* tanh(t/(x* rtt²) + artanh(x₀/x*))."""
    p, rtt = 0.02, 0.1
    network = Network({"l": PowerLaw(50.0, p, 1e-9)}, [User("u", "reno", (Route(("l",), rtt),))])
    path = trajectory(network, np.array([20.0]), 5.0, samples=101)
    rest = np.sqrt(2 / p) / rtt
    expected = rest * np.tanh(path.time_s / (rest * rtt**2) + np.arctanh(20 / rest))
    np.testing.assert_allclose(path.rates[:, 0], expected, rtol=1e-5)
    # Within 5 % when tanh = 0.95.
    settled = path.settling_time_s(np.array([rest]))
    assert settled is not None
    assert settled == pytest.approx((np.arctanh(0.95) - np.arctanh(0.2)) * rest * rtt**2, abs=0.05)
    assert trajectory(network, np.array([20.0]), 0.5).settling_time_s(np.array([rest])) is None


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("reno", (100 - 100, 25 - 12.5)),  # 1/rtt² − x²p/2
        ("ewtcp", (25 - 100, 6.25 - 12.5)),  # with 1/4 for two paths
        ("lia", (400 / 9 - 100, 100 / 9 - 12.5)),  # A = 1000/150² = 2/45: A/w = 1/225 is below 1/w² = 1/100
        ("coupled", (50 - 200, 12.5 - 25)),  # x/(rtt·20) − p·x·20/(2rtt)
        ("balia", (400 / 9 - 100, 2500 * 0.002 - 12.5)),  # β = 1 and 2: factors 2·5/10 and 3·6/10
        # 1/(p·rtt²) is 5000 and 2500, the windows are equal: ᾱ = (1 − 1/2)/2 and (0 − 1/2)/2, times 100 and 25.
        ("olia", (400 / 9 - 100 + 25, 25 / 9 - 12.5 - 6.25)),
    ],
)
def test_derivatives_by_hand(control: str, expected: tuple[float, float]) -> None:
    """Rates 100 and 50, RTTs 0.1 and 0.2 s: two windows of 10, X = 150; losses of 2 and 1 %, none from the links."""
    routes = (Route(("l",), 0.1, 0.02), Route(("m",), 0.2, 0.01))
    links = {name: PowerLaw(1e6) for name in ("l", "m")}
    model = FluidModel(Network(links, [User("u", control, routes)]))
    np.testing.assert_allclose(model.derivative(np.array([100.0, 50.0])), expected, rtol=1e-9, atol=1e-9)


def test_delayed_acknowledgments_halve_the_growth() -> None:
    network = Network({"l": PowerLaw(1e6)}, [User("u", "reno", (Route(("l",), 0.1, 0.02),), b=2)])
    np.testing.assert_allclose(FluidModel(network).derivative(np.array([100.0])), [50 - 100], rtol=1e-9)


def test_utility_by_hand() -> None:
    """Two connections of 50 fill a link of 100: C = 0.01·100/9, V = −2/(0.1²·50) − C/2; a loss of 2 % adds 2."""
    for own, cost in ((0.0, 1 / 9), (0.02, 1 / 9 + 2)):
        network = Network({"l": PowerLaw(100.0)}, [User("u", "olia", (Route(("l",), 0.1, own),), 2)])
        model = FluidModel(network)
        assert model.congestion_cost(np.array([50.0])) == pytest.approx(cost, rel=1e-12)
        assert model.utility(np.array([50.0])) == pytest.approx(-4 - cost / 2, rel=1e-12)


def test_two_instants_are_a_trajectory() -> None:
    network = Network({"l": PowerLaw(10.0)}, [User("u", "reno", (Route(("l",), 0.1),))])
    np.testing.assert_array_equal(trajectory(network, np.array([1.0]), 3.0, samples=2).time_s, [0, 3])


def test_what_is_refused() -> None:
    user = User("u", "lia", (Route(("l",), 0.1),))
    soft = Network({"l": PowerLaw(10.0)}, [user])
    with pytest.raises(ParameterError, match="'l' has a hard capacity"):
        FluidModel(Network({"l": Capacity(10.0)}, [user]))
    with pytest.raises(UnknownControlError, match="no fluid model of 'mppert'"):
        FluidModel(Network({"l": PowerLaw(10.0)}, [User("u", "mppert", user.routes)]))
    with pytest.raises(ParameterError, match="take no parameters"):
        FluidModel(Network({"l": PowerLaw(10.0)}, [User("u", "ewtcp", user.routes, parameters={"a": 1.0})]))
    with pytest.raises(ParameterError, match="expected 1 positive rates"):
        trajectory(soft, np.array([0.0]), 1.0)
    with pytest.raises(ParameterError, match="at least 2 instants"):
        trajectory(soft, np.array([1.0]), 1.0, samples=1)
