"""Designs: WSP by hand on a few candidates, what holds for any, and the measures of quality."""

import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mptcplab import designs
from mptcplab.designs import DesignError, quality, select, wsp
from mptcplab.designs.plain import Floats

# On paper: from A (0,0) with d_min 3, B (at 1) and C (at √8 = 2.83) go; D (at 3, just far enough) is the nearest that
# remains. From D (3,0), E (at √5 = 2.24) goes; F (at √13 = 3.61) is nearer than G (at 5). From F (1,3), H (at √2) goes;
# G (at √10 = 3.16) remains and is next. Nothing is left.
CANDIDATES = {
    "A": (0, 0),
    "B": (1, 0),
    "C": (2, 2),
    "D": (3, 0),
    "E": (5, 1),
    "F": (1, 3),
    "G": (0, 6),
    "H": (2, 4),
}  # fmt: skip


def distances(points: Floats) -> list[float]:
    return [math.dist(one, other) for one, other in itertools.combinations(points, 2)]


def test_wsp_by_hand() -> None:
    names = list(CANDIDATES)
    points = np.array(list(CANDIDATES.values()), dtype=np.float64)
    assert "".join(names[at] for at in select(points, 3.0, 0)) == "ADFG"
    # Just above 3, D goes too: from A the nearest that remains is F (√10), then G (√10), and E alone is far from both.
    assert "".join(names[at] for at in select(points, 3.001, 0)) == "AFGE"
    # From G, H (√8) goes and F (√10) is next; from F, C (√2) goes and B (at 3) is next; from B, A and D go, E stays.
    assert "".join(names[at] for at in select(points, 3.0, names.index("G"))) == "GFBE"


def test_wsp_takes_all_candidates_at_distance_0_and_one_at_an_endless_one() -> None:
    points = np.random.default_rng(3).random((20, 2))
    assert sorted(select(points, 0.0, 4)) == list(range(20))
    assert list(select(points, 2.0, 4)) == [4]


def test_wsp_keeps_the_first_of_equals() -> None:
    square = np.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
    assert list(select(square, 0.5, 0)) == [0, 1, 3, 2]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 80),
    dimensions=st.integers(1, 5),
    part=st.floats(0, 1.2),
    start=st.integers(0, 79),
)
def test_any_selection_is_spread_complete_and_the_same_again(
    seed: int, count: int, dimensions: int, part: float, start: int
) -> None:
    points = np.random.default_rng(seed).random((count, dimensions))
    d_min = part * math.sqrt(dimensions)
    chosen = select(points, d_min, start % count)
    assert chosen[0] == start % count
    assert len(set(chosen.tolist())) == len(chosen)
    kept = points[chosen]
    assert all(distance >= d_min * (1 - 1e-12) for distance in distances(kept))
    for left in set(range(count)) - set(chosen.tolist()):
        assert min(math.dist(points[left], other) for other in kept) < d_min * (1 + 1e-12), "nothing more would fit"
    assert np.array_equal(select(points, d_min, start % count), chosen)


@pytest.mark.parametrize(("points", "dimensions"), [(1, 3), (2, 1), (10, 2), (98, 6), (91, 8)])
def test_wsp_hits_the_wanted_number(points: int, dimensions: int) -> None:
    for seed in (1, 2, 3):
        made = wsp(points, dimensions, seed=seed)
        assert made.shape == (points, dimensions)
        assert ((made >= 0) & (made <= 1)).all()
        assert np.array_equal(made, wsp(points, dimensions, seed=seed))
    assert not np.array_equal(wsp(points, dimensions, seed=1), wsp(points, dimensions, seed=2))


def test_wsp_is_more_even_than_a_latin_hypercube_and_independent_points() -> None:
    for seed in range(1, 6):
        even = quality(wsp(60, 6, seed=seed))
        for other in (designs.random(60, 6, seed=seed), designs.latin_hypercube(60, 6, seed=seed)):
            assert even.minimal_distance > 1.5 * quality(other).minimal_distance
            assert even.cover < 0.5 * quality(other).cover


def test_wsp_takes_a_distance_too() -> None:
    made = wsp(20, 3, d_min=0.4)
    assert min(distances(made)) >= 0.4
    assert len(made) != 20


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: wsp(0, 3), "1 to 1000000 points"),
        (lambda: wsp(5, 0), "1 to 100 dimensions"),
        (lambda: wsp(50, 3, candidates=20), "50 points cannot be chosen among 20"),
        (lambda: select([[0.0]], 1.0, 1), "first point"),
        (lambda: select([[0.0]], -1.0, 0), "d_min must be a distance"),
        (lambda: designs.grid([3, 0]), "at least 1 level"),
        (lambda: designs.grid([1000, 1000, 2]), "not 2000000"),
        (lambda: designs.random(-1, 2), "not -1"),
    ],
)
def test_what_is_no_design_is_refused(ask: object, said: str) -> None:
    assert callable(ask)
    with pytest.raises(DesignError, match=said):
        ask()


def test_a_number_that_no_distance_gives_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["mptcplab.designs.wsp"], "_HALVINGS", 2)
    monkeypatch.setattr(sys.modules["mptcplab.designs.wsp"], "_NEAR", 0)
    with pytest.raises(
        DesignError, match=r"no distance gives exactly 98 points among 1000 candidates \(the nearest below"
    ):
        wsp(98, 6)


def test_a_latin_hypercube_has_one_point_in_each_part() -> None:
    made = designs.latin_hypercube(25, 4, seed=3)
    for column in made.T:
        assert sorted((column * 25).astype(int)) == list(range(25))
    assert np.array_equal(made, designs.latin_hypercube(25, 4, seed=3))


def test_a_grid_has_every_combination() -> None:
    made = designs.grid([3, 1, 2])
    assert made.tolist() == [[x, 0.5, z] for x in (0.0, 0.5, 1.0) for z in (0.0, 1.0)]


def test_the_measures_by_hand() -> None:
    # Nearest distances of 0, 0.2, 0.6, 1: 0.2, 0.2, 0.4, 0.4; mean 0.3, standard deviation 0.1.
    measured = quality([[0.0], [0.2], [0.6], [1.0]])
    assert measured.minimal_distance == pytest.approx(0.2)
    assert measured.cover == pytest.approx(1 / 3)
    mesh = quality(designs.grid([5, 5]))
    assert (mesh.minimal_distance, mesh.cover) == (0.25, 0.0)
    assert math.isnan(quality([[0.5, 0.5]]).minimal_distance)
    assert quality([[0.5], [0.5]]).minimal_distance == 0
