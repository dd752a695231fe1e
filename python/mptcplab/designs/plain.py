"""Designs that need no search: independent points, a Latin hypercube, a grid; shape (points, dimensions)."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

from mptcplab.errors import Error

Floats = npt.NDArray[np.float64]

_MOST = 1_000_000


class DesignError(Error, ValueError):
    """The design that is asked for does not exist."""


def check(points: int, dimensions: int) -> None:
    """Raise DesignError unless there is a design of that many points and dimensions."""
    if not 1 <= points <= _MOST:
        raise DesignError(f"a design has 1 to {_MOST} points, not {points}")
    if not 1 <= dimensions <= 100:
        raise DesignError(f"a design has 1 to 100 dimensions, not {dimensions}")


def random(points: int, dimensions: int, *, seed: int = 1) -> Floats:
    """Independent points, uniform in the unit cube. Raises DesignError."""
    check(points, dimensions)
    return np.random.default_rng(seed).random((points, dimensions))


def latin_hypercube(points: int, dimensions: int, *, seed: int = 1) -> Floats:
    """In each dimension one point in each of `points` equal parts. Raises DesignError.

    Source: McKay, Beckman, Conover 1979; scipy.stats.qmc.
    """
    check(points, dimensions)
    return np.asarray(qmc.LatinHypercube(dimensions, rng=np.random.default_rng(seed)).random(points))


def grid(levels: Sequence[int]) -> Floats:
    """Every combination of so many levels per dimension, from 0 to 1, the last dimension fastest; one level is ½.

    Raises DesignError.
    """
    if any(count < 1 for count in levels):
        raise DesignError(f"a dimension of a grid has at least 1 level, not {min(levels)}")
    check(math.prod(levels), len(levels))
    axes = [np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5]) for count in levels]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(levels))
