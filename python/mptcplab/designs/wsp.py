"""The space-filling design of Wootton, Sergent and Phan-Tan-Luu, as Chauvenne & Libioulle 2017 give it in §2.3.1.

1. Generate a set of candidates. 2. Take the distances between them. 3. Choose a first point O and a distance d_min.
4. Eliminate the points nearer to O than d_min. 5. The nearest of those that remain becomes O. 6. Repeat 4 and 5 until
no more points are eliminated. What was O at some time is the design: any two of its points are d_min or more apart.

Only the distances from points that become O are ever needed, so each row of the matrix is computed when it is.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from mptcplab.designs.plain import DesignError, Floats, check, random

_CANDIDATES_PER_POINT: Final = 10
_LEAST_CANDIDATES: Final = 1000
_HALVINGS: Final = 40
_NEAR: Final = 128
"""Distances tried around the one that bisection ends at."""
_STARTS: Final = 8
"""First points that are tried, the nearest to the centre first."""


def select(candidates: npt.ArrayLike, d_min: float, start: int) -> npt.NDArray[np.intp]:
    """Steps 3 to 6: the indices of the chosen candidates, shape (n,), in the order of their choice.

    `candidates` of shape (N, dimensions), `start` the index of the first point. Of equally near points the first in the
    order of the candidates is taken.

    Raises DesignError for a `d_min` that is negative or not finite, or a start that is no index.
    """
    points = np.asarray(candidates, dtype=np.float64)
    if not 0 <= start < len(points):
        raise DesignError(f"the first point must be one of the {len(points)} candidates, not {start}")
    if not (np.isfinite(d_min) and d_min >= 0):
        raise DesignError(f"d_min must be a distance, not {d_min}")
    return _choose(points, d_min, start, len(points))


def _choose(points: Floats, d_min: float, start: int, limit: int) -> npt.NDArray[np.intp]:
    """As `select`; ends when `limit` points are chosen."""
    chosen = [start]
    left = np.delete(np.arange(len(points)), start)
    rest = np.delete(points, start, axis=0)
    current = points[start]
    while len(chosen) < limit:
        away = rest - current
        squares = np.einsum("ij,ij->i", away, away)
        far = squares >= d_min**2
        left, rest, squares = left[far], rest[far], squares[far]
        if not left.size:
            break
        nearest = int(squares.argmin())
        current = rest[nearest].copy()
        chosen.append(int(left[nearest]))
        left, rest = np.delete(left, nearest), np.delete(rest, nearest, axis=0)
    return np.array(chosen, dtype=np.intp)


def wsp(
    points: int, dimensions: int, *, seed: int = 1, candidates: int | None = None, d_min: float | None = None
) -> Floats:
    """A WSP design of shape (points, dimensions) in the unit cube, from candidates drawn uniformly.

    `candidates` is how many, by default 10 a point and at least 1000. The first point is the candidate nearest to the
    centre. d_min is searched by bisection; as the number of points need not fall steadily with it, distances near the
    one found and then other first points are tried until the number is hit exactly. With `d_min` given it is not
    searched and `points` only sets the candidates.

    Raises DesignError when no distance was found that gives this many points.
    """
    check(points, dimensions)
    count = max(_LEAST_CANDIDATES, _CANDIDATES_PER_POINT * points) if candidates is None else candidates
    if count < points:
        raise DesignError(f"{points} points cannot be chosen among {count} candidates")
    pool = random(count, dimensions, seed=seed)
    central = np.argsort(((pool - 0.5) ** 2).sum(axis=1), kind="stable")
    if d_min is not None:
        return pool[select(pool, d_min, int(central[0]))]
    nearest = 0
    for start in map(int, central[:_STARTS]):
        low, high = 0.0, float(np.sqrt(dimensions))
        for attempt in range(_HALVINGS + _NEAR):
            # Below and above where bisection ended, further and further away.
            beside = 1 + 0.0005 * (attempt - _HALVINGS) * (-1) ** attempt
            distance = (low + high) / 2 if attempt < _HALVINGS else low * beside
            # One more than wanted says that there are too many; how many is not of interest.
            chosen = _choose(pool, distance, start, points + 1)
            if len(chosen) == points:
                return pool[chosen]
            if attempt < _HALVINGS:
                low, high = (distance, high) if len(chosen) > points else (low, distance)
            if nearest < len(chosen) < points:
                nearest = len(chosen)
    raise DesignError(
        f"no distance gives exactly {points} points among {count} candidates (the nearest below was {nearest}); "
        "take more candidates or another seed"
    )
