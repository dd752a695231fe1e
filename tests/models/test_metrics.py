"""Metrics: bounds, branches, and what is undefined."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab import metrics as m

RATES = st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=8)


@given(RATES, st.floats(0, 1))
def test_aggregation_benefit_is_between_its_ends(capacities: list[float], part: float) -> None:
    value = m.aggregation_benefit(part * sum(capacities), capacities)
    assert value is not None
    assert -1 <= value <= 1 + 1e-9
    assert m.aggregation_benefit(0.0, capacities) == -1
    assert m.aggregation_benefit(max(capacities), capacities) == pytest.approx(0, abs=1e-9)


@given(RATES, st.floats(0, 3))
def test_experimental_benefit_continues_past_one(alone: list[float], part: float) -> None:
    goodput = part * sum(alone)
    value = m.experimental_aggregation_benefit(goodput, alone)
    assert value is not None
    if part >= 1:
        assert value == pytest.approx(part)
    else:
        assert value == pytest.approx(m.aggregation_benefit(goodput, alone), abs=1e-9)


def test_one_path_is_undefined_not_zero() -> None:
    assert m.aggregation_benefit(10.0, [20.0]) is None
    assert m.experimental_aggregation_benefit(10.0, [20.0]) is None


@given(RATES)
def test_jain(rates: list[float]) -> None:
    value = m.jain_index(rates)
    assert 1 / len(rates) - 1e-12 <= value <= 1 + 1e-12
    assert m.jain_index([rates[0]] * 5) == pytest.approx(1)
    assert m.jain_index([rates[0], 0, 0, 0]) == pytest.approx(0.25)


@given(RATES)
def test_shares_and_mean_loss(rates: list[float]) -> None:
    shares = m.path_shares(rates)
    assert shares.sum() == pytest.approx(1)
    loss = np.linspace(0, 0.1, len(rates))
    assert m.mean_loss_rate(loss, rates) == pytest.approx(float((shares * loss).sum()))
    assert math.isnan(m.path_shares([0.0, 0.0])[0])


def test_ratios() -> None:
    assert m.request_ratio(50, 50) == 0
    assert m.request_ratio(0, 5) == -1
    np.testing.assert_allclose(m.normalised_throughput([1.0, 3.0], [2.0, 2.0]), [0.5, 1.5])
    assert 1.5 < m.simult_flows_limit_s(1e6, 5e6, 3e6) < 1.52


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: m.aggregation_benefit(-1.0, [1.0, 2.0]), "not negative"),
        (lambda: m.aggregation_benefit(1.0, [0.0, 2.0]), "must be positive"),
        (lambda: m.aggregation_benefit(1.0, []), "empty"),
        (lambda: m.experimental_aggregation_benefit(math.nan, [1.0, 2.0]), "finite"),
        (lambda: m.request_ratio(0, 0), "undefined"),
        (lambda: m.jain_index([0.0, 0.0]), "undefined"),
        (lambda: m.mean_loss_rate([2.0], [1.0]), "at most 1"),
        (lambda: m.mean_loss_rate([0.1, 0.2], [1.0, 1.0, 1.0]), "same paths"),
        (lambda: m.normalised_throughput([1.0], [0.0]), "positive"),
        (lambda: m.simult_flows_limit_s(1.0, 0.0, 0.0), "never finish"),
    ],
)
def test_what_is_refused(call: object, words: str) -> None:
    with pytest.raises(m.MetricInputError, match=words):
        call()  # type: ignore[operator]
