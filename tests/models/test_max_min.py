"""Max-min fairness: numbers worked by hand, progressive filling for single paths, and its definition on any network."""

import numpy as np
import pytest
import scipy.sparse as sp
from mptcplab.models.checks import ParameterError
from mptcplab.models.max_min import max_min
from scipy.optimize import linprog

Rows = list[list[float]]


def fair(load: Rows, capacity: list[float], owner: list[int], weights: list[float] | None = None) -> np.ndarray:
    return max_min(
        sp.csr_array(np.array(load, dtype=np.float64)),
        np.array(capacity, dtype=np.float64),
        np.array(owner),
        weights=None if weights is None else np.array(weights),
    )


def test_a_parking_lot_by_hand() -> None:
    # Links of 10, 4 and 12. The long flow shares 4 with one other: 2 each. It leaves 8 of 10 and 10 of 12.
    load = [[1.0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]
    assert fair(load, [10, 4, 12], [0, 1, 2, 3]) == pytest.approx([2, 8, 2, 10])


def test_several_paths_by_hand() -> None:
    # Links of 2 and 10. One user has both, another the second: 6 each, of the first 2 + 4. With links of 10 and 4 the
    # second user cannot have more than the 4 of its link, and the first leaves it all.
    load = [[1.0, 0, 0], [0, 1, 1]]
    assert fair(load, [2, 10], [0, 0, 1]) == pytest.approx([6, 6])
    assert fair(load, [10, 4], [0, 0, 1]) == pytest.approx([10, 4])


def test_counts_and_weights_by_hand() -> None:
    # Khalili's scenario C with 10 users of both links of 30 and 10 of one: (30 + 30)/20 = 3 each.
    load = [[10.0, 0, 0], [0, 10, 10]]
    assert fair(load, [30, 30], [0, 0, 1]) == pytest.approx([3, 3])
    # A link of 12 with weights 1 and 2; what comes with 20 % more headers gets the same data.
    assert fair([[1.0, 1.0]], [12], [0, 1], [1, 2]) == pytest.approx([4, 8])
    assert fair([[1.0, 1.2]], [22], [0, 1]) == pytest.approx([10, 10])


def test_a_user_that_makes_room_on_one_path_for_another() -> None:
    # A: links 1 and 2; B: links 2 and 3; C: link 3 alone. Capacities 6, 6, 6: 18/3 = 6 each, by moving along the chain.
    load = [[1.0, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1]]
    assert fair(load, [6, 6, 6], [0, 0, 1, 1, 2]) == pytest.approx([6, 6, 6])
    # With 1, 6, 6 the whole is 13/3 each: A takes 10/3 of link 2, B the rest of it and 5/3 of link 3.
    assert fair(load, [1, 6, 6], [0, 0, 1, 1, 2]) == pytest.approx([13 / 3] * 3)


def filled(load: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Progressive filling of single-path flows: Bertsekas & Gallager 1992 §6.5.2, with sums and no programme."""
    rates, rising, left = np.zeros(load.shape[1]), np.ones(load.shape[1], dtype=bool), capacity.copy()
    while rising.any():
        crowd = load[:, rising].sum(axis=1)
        step = (left[crowd > 0] / crowd[crowd > 0]).min()
        rates[rising] += step
        left = left - crowd * step
        full = left < 1e-9 * capacity
        rising &= ~(load[full] > 0).any(axis=0)
    return rates


def test_single_paths_are_those_of_progressive_filling() -> None:
    generator = np.random.default_rng(4)
    for _ in range(100):
        links, flows = generator.integers(1, 8), generator.integers(1, 12)
        load = (generator.random((links, flows)) < 0.4) * generator.integers(1, 4, flows)
        load[generator.integers(links), load.sum(axis=0) == 0] = 1
        capacity = 10 ** generator.uniform(5, 8, links)
        expected = filled(load.astype(float), capacity)
        assert fair(load.tolist(), capacity.tolist(), list(range(flows))) == pytest.approx(expected, rel=1e-6)


def test_nobody_can_gain_without_taking_from_one_who_has_no_more() -> None:
    """The definition, user by user: most that it can have while all that have no more keep what they have."""
    generator = np.random.default_rng(5)
    for _ in range(60):
        users = int(generator.integers(1, 6))
        owner = np.sort(np.concatenate([np.arange(users), generator.integers(users, size=generator.integers(0, 8))]))
        links = int(generator.integers(1, 6))
        load = (generator.random((links, owner.size)) < 0.5).astype(float)
        load[generator.integers(links), load.sum(axis=0) == 0] = 1
        capacity = generator.uniform(1, 100, links)
        found = fair(load.tolist(), capacity.tolist(), owner.tolist())
        of_user = (owner[None, :] == np.arange(users)[:, None]).astype(float)
        for user in range(users):
            kept = np.flatnonzero(found <= found[user] * (1 + 1e-7))
            answer = linprog(
                -of_user[user],
                A_ub=np.vstack([load, -of_user[kept]]),
                b_ub=np.concatenate([capacity, -found[kept] * (1 - 1e-9)]),
            )
            assert answer.status == 0  # what was found fits the links
            assert -answer.fun == pytest.approx(found[user], rel=1e-5)


def test_wrong_input_is_named() -> None:
    for capacity, load in (([0.0], [[1.0]]), ([1.0], [[0.0]]), ([1.0, 1.0], [[1.0]]), ([1.0], [[-1.0]])):
        with pytest.raises(ParameterError):
            fair(load, capacity, [0])
