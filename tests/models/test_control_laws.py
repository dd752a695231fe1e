"""The laws of the controls worked by hand, and their derivatives against differences."""

import numpy as np
import pytest
from mptcplab.models.checks import ParameterError
from mptcplab.models.control_laws import LAWS, law_of


def losses(control: str, x: list[float], rtt: list[float], b: float = 1.0, **parameters: float) -> np.ndarray:
    law, columns = law_of(control, [parameters])
    log_loss, _ = law.law(np.array([x]), np.array([rtt]), np.array([[b]]), columns)
    return np.exp(log_loss[0])


@pytest.mark.parametrize(
    ("control", "parameters", "expected"),
    [
        ("reno", {}, [2 / 100, 2 / 100]),
        ("ewtcp", {}, [2 / 4 / 100, 2 / 4 / 100]),  # a = 1/4
        ("ewtcp", {"a": 0.5}, [1 / 100, 1 / 100]),
        ("lia", {}, [2 * 2 / 45 / 10] * 2),  # a = (10/0.1²)/150² = 2/45
        ("mppert", {"k": 1.0}, [2 * 4 / 9 / 100] * 2),  # a = (10²/0.1²)/150² = 4/9
        ("mppert", {"alpha": 0.5, "beta": 0.25}, [2 * 2 / 45 / 10] * 2),
        ("pert", {"alpha": 0.5, "beta": 0.25}, [2 / 100, 2 / 100]),
        ("epsilon", {}, [2 * 2 / 45 / 10] * 2),  # as LIA
        ("epsilon", {"epsilon": 2.0}, [2 / 100, 2 / 100]),  # as Reno
        ("olia", {}, [2 / 0.01 / 22_500, 2 / 0.04 / 22_500]),
        ("coupled", {}, [2 / 400, 2 / 400]),
        ("balia", {}, [2 / 0.01 / 22_500, 1.8 * 2 / 0.04 / 22_500]),  # β = 1 and 2
        ("fair", {}, [1 / 22_500, 1 / 22_500]),
        ("fair", {"alpha": 1.0, "weight": 3.0}, [3 / 150, 3 / 150]),
    ],
)
def test_laws_by_hand(control: str, parameters: dict[str, float], expected: list[float]) -> None:
    """Rates 100 and 50, RTTs 0.1 and 0.2 s: two windows of 10, X = 150; half of it with an ACK for two segments."""
    np.testing.assert_allclose(losses(control, [100, 50], [0.1, 0.2], **parameters), expected, rtol=1e-12)
    if control != "fair":
        halved = losses(control, [100, 50], [0.1, 0.2], b=2, **parameters)
        np.testing.assert_allclose(halved, np.array(expected) / 2, rtol=1e-12)


@pytest.mark.parametrize("control", ["lia-capped", "mppert-capped", "epsilon-capped"])
def test_a_cap_asks_for_no_more_than_tcp(control: str) -> None:
    """Windows of 20 and 10, a = 10⁵/1040²: 2a/20 = 0.0092 is above TCP's 2/20², 2a/10 = 0.0185 below 2/10²."""
    found = losses(control, [40, 1000], [0.5, 0.01])
    np.testing.assert_allclose(found, [2 / 400, 2 * 1e5 / 1040**2 / 10], rtol=1e-12)


@pytest.mark.parametrize("control", list(LAWS))
def test_derivatives_are_those_of_the_law(control: str) -> None:
    rng = np.random.default_rng(1)
    x, rtt = rng.uniform(10, 100, (5, 3)), rng.uniform(0.01, 0.3, (5, 3))
    x[0], rtt[0] = [40, 1000, 30], [0.5, 0.01, 0.1]  # where the caps hold on the first route
    law, columns = law_of(control, [{}] * 5)
    b = np.ones((5, 1))
    _, jacobian = law.law(x, rtt, b, columns)
    for route in range(3):
        step = np.exp(1e-5 * np.eye(3)[route])
        up, down = (law.law(each, rtt, b, columns)[0] for each in (x * step, x / step))
        np.testing.assert_allclose(jacobian[:, :, route], (up - down) / 2e-5, atol=1e-6)


def test_which_controls_may_leave_a_route_empty() -> None:
    assert {name for name, law in LAWS.items() if law.empties} == {"olia", "coupled", "fair"}


@pytest.mark.parametrize(
    ("control", "name", "value"),
    [
        ("epsilon", "epsilon", 2.5),
        ("epsilon", "epsilon", 0.0),
        ("mppert", "k", 1.5),
        ("pert", "beta", 1.5),
        ("pert", "alpha", 0.0),
        ("pert", "alpha", np.inf),
        ("ewtcp", "a", -1.0),
        ("fair", "weight", 0.0),
    ],
)
def test_parameters_out_of_range(control: str, name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"{control}: {name} = "):
        law_of(control, [{name: value}])
