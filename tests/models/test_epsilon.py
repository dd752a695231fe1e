"""The ε-family: its named members, and its balance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab.models import steady_state as ss
from mptcplab.models.checks import ParameterError
from mptcplab.models.control_laws import law_of
from mptcplab.models.predict import predict

PATHS = st.lists(st.tuples(st.floats(1e-5, 0.3), st.floats(1e-3, 1.0)), min_size=1, max_size=5)


def increase(w: np.ndarray, rtt: np.ndarray, epsilon: float) -> np.ndarray:
    """The rule, written out anew."""
    goal = w.sum() ** (2 - epsilon) * (w**epsilon / rtt**2).max() / (w / rtt).sum() ** 2
    return np.asarray(goal ** min(1, 2 - epsilon) * w ** (1 - epsilon) / w.sum() ** (2 - epsilon))


@given(PATHS)
def test_its_members(paths: list[tuple[float, float]]) -> None:
    p, rtt = np.array(paths).T
    np.testing.assert_allclose(ss.epsilon(p, rtt, epsilon=1), ss.lia(p, rtt), rtol=1e-9)
    np.testing.assert_allclose(ss.epsilon(p, rtt, epsilon=2), ss.uncoupled(p, rtt), rtol=1e-9)
    np.testing.assert_allclose(ss.epsilon(p, rtt, epsilon=0.5), ss.mppert(p, rtt, k=-0.5), rtol=1e-8)
    same = np.full_like(rtt, 0.05)
    np.testing.assert_allclose(ss.epsilon(p, same, epsilon=0), ss.coupled(p, same), rtol=1e-9)


@given(PATHS, st.floats(0.3, 2), st.floats(1, 3))
def test_gain_balances_loss(paths: list[tuple[float, float]], epsilon: float, b: float) -> None:
    p, rtt = np.array(paths).T
    w = ss.epsilon(p, rtt, b, epsilon)
    np.testing.assert_allclose(increase(w, rtt, epsilon) / b, p * w / 2, rtol=1e-8)


@given(PATHS, st.floats(0.3, 2))
def test_the_law_is_the_same_read_backwards(paths: list[tuple[float, float]], epsilon: float) -> None:
    p, rtt = np.array(paths).T
    law, parameters = law_of("epsilon", [{"epsilon": epsilon}])
    x = (ss.epsilon(p, rtt, epsilon=epsilon) / rtt)[None]
    log_loss, _ = law.law(x, rtt[None], np.ones((1, 1)), parameters)
    np.testing.assert_allclose(np.exp(log_loss[0]), p, rtol=1e-8)


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("control", ["epsilon", "epsilon-capped"])
def test_the_derivative_by_differences(epsilon: float, control: str) -> None:
    law, parameters = law_of(control, [{"epsilon": epsilon}])
    x, rtt, one = np.array([[900.0, 350.0, 40.0]]), np.array([[0.02, 0.05, 0.1]]), np.ones((1, 1))
    log_loss, jacobian = law.law(x, rtt, one, parameters)
    for r in range(3):
        nudged = x * np.exp(1e-6 * (np.arange(3) == r))
        difference = (law.law(nudged, rtt, one, parameters)[0] - log_loss)[0] / 1e-6
        np.testing.assert_allclose(jacobian[0, :, r], difference, atol=1e-5)


def test_shares_by_hand() -> None:
    # Losses 1 : 4. ε = 2: √4 = 2 to 1; ε = 1: 4 to 1; ε = 1/2: 16 to 1.
    for epsilon, share in ((2.0, 2 / 3), (1.0, 4 / 5), (0.5, 16 / 17)):
        found = predict([0.01, 0.04], [0.04, 0.04], "epsilon", epsilon=epsilon)
        assert found.shares[0] == pytest.approx(share)
    with pytest.raises(ParameterError, match="epsilon"):
        predict([0.01], [0.04], "epsilon", epsilon=2.5)
