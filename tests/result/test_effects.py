"""The effect over pairs of runs."""

import math

import pytest
from mptcplab.results.effects import effect


def test_mean_and_interval_of_pairs() -> None:
    # Differences of 10, 20 and 30 %: mean 20 %, deviation 10 %, and t = 4.3027 for two degrees of freedom.
    found = effect("m", "goodput_bps", [(100, 110), (10, 12), (1, 1.3)])
    assert found.mean == pytest.approx(0.2)
    assert found.half == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert not found.differs
    assert (found.seeds, found.same) == (3, 0)
    assert found.reference == pytest.approx(37)


def test_what_is_the_same_in_every_seed_does_not_differ() -> None:
    found = effect("m", "goodput_bps", [(100, 100), (200, 200)])
    assert (found.mean, found.half, found.same, found.differs) == (0, 0, 2, False)


def test_what_differs_alike_in_every_seed_differs() -> None:
    found = effect("m", "goodput_bps", [(100, 101), (200, 202)])
    assert found.differs
    assert found.to_dict()["interval"] == [pytest.approx(0.01), pytest.approx(0.01)]


def test_one_seed_has_no_interval_and_a_reference_of_nothing_no_ratio() -> None:
    assert effect("m", "goodput_bps", [(100, 101)]).half is None
    assert not effect("m", "goodput_bps", [(100, 101)]).differs
    assert effect("m", "retransmissions", [(0, 3), (1, 1)]).mean is None
    assert effect("m", "retransmissions", [(0, 0), (2, 3)]).mean == pytest.approx(0.25)
