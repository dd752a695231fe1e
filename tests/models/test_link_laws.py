"""Laws of links worked by hand, and what they refuse."""

import numpy as np
import pytest
from mptcplab.models.checks import ParameterError
from mptcplab.models.fluid import FluidModel
from mptcplab.models.link_laws import PowerLaw, RedCurve
from mptcplab.models.network import Network, Route, User


def test_a_power_law_of_the_eighth_power() -> None:
    """At capacity 1 %; at half of it 0.01/2⁸ = 3.90625·10⁻⁵; the integral to y is p(y)·y/9."""
    model = FluidModel(Network({"l": PowerLaw(100.0)}, [User("u", "reno", (Route(("l",), 0.1),))]))
    np.testing.assert_allclose(model.link_loss(np.array([100.0])), [0.01], rtol=1e-12)
    np.testing.assert_allclose(model.link_loss(np.array([50.0])), [3.90625e-5], rtol=1e-12)
    assert model.congestion_cost(np.array([50.0])) == pytest.approx(3.90625e-5 * 50 / 9, rel=1e-12)


def test_a_red_curve_bends_at_its_thresholds() -> None:
    assert RedCurve(25, 50, 0.1).thresholds == (25, 50, 100)
    assert RedCurve(25, 50, 0.1, gentle=False).thresholds == (25, 50, 50)
    # One that reaches 1 at its upper threshold bends only there.
    assert RedCurve(25, 50, 1.0).thresholds == (25, 50)


def test_the_queue_that_a_red_curve_needs() -> None:
    """Between (25, 0), (50, 0.1) and (100, 1): 5 % half way up the first slope, 55 % half way up the second."""
    np.testing.assert_allclose(RedCurve(25, 50, 0.1).queue([0.0, 0.05, 0.1, 0.55]), [25, 37.5, 50, 75])
    # All of the range of losses on one slope, which begins at an empty queue.
    np.testing.assert_allclose(RedCurve(0, 10, 1.0).queue([0.0, 0.5, 0.9]), [0, 5, 9])


@pytest.mark.parametrize(
    ("thresholds", "probability", "words"),
    [
        ((25, 25), 0.1, "expected 0 <= min < max"),
        ((-1, 25), 0.1, "expected 0 <= min < max"),
        ((25, np.inf), 0.1, "expected 0 <= min < max"),
        ((25, 50), 0.0, r"expected a value in \(0, 1\]"),
    ],
)
def test_red_curves_that_are_none(thresholds: tuple[float, float], probability: float, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        RedCurve(*thresholds, probability)
