"""A design that goes on where the response changes: more points of a WSP-like design, nearer to each other there.

Chauvenne & Libioulle 2017 §2.3 name an adaptive WSP (Beal, Claeys-Bruno, Sergent 2014, for spaces with constraints).
Here the response adapts it: a candidate at the distance d from the nearest known point is worth d · (e + c). c is the
largest (d/d_j)² · |y_j − y| over all known points: how far the response at j differs from that of the nearest, as a
part of the whole range, less where j is further away. It is 1 half way between two points that differ by the whole
range, where a step is as likely nearer to the one as to the other. The best candidate is the next point, and so on:
points are up to (1 + e)/e times as near to each other at a step as where all is flat, and no place is forgotten, for
distance alone is worth e · d.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from mptcplab.designs.plain import DesignError, Floats, check, random

EXPLORE: Final = 0.1
"""e, the worth of distance alone."""
_CANDIDATES_PER_POINT: Final = 20
_LEAST_CANDIDATES: Final = 2000


def adaptive(
    known: npt.ArrayLike,
    responses: npt.ArrayLike,
    points: int,
    *,
    seed: int = 1,
    candidates: int | npt.ArrayLike | None = None,
    explore: float = EXPLORE,
) -> Floats:
    """The next points of a design, shape (points, dimensions), in the order of their choice.

    Args:
        known: points of the unit cube whose response is known, shape (n, dimensions).
        responses: what was found there, shape (n,), or (n, k) of k responses, of which the
            one that changes most counts.
        points: how many more.
        seed: of the candidates.
        candidates: how many, by default 20 a point and at least 2000, or the candidates themselves.
        explore: e, above 0.

    A new point has the response of the nearest one until it is known. Of equally good candidates the first is taken.

    Raises DesignError for shapes that do not fit, responses that are not finite, or fewer candidates than points.
    """
    there = np.asarray(known, dtype=np.float64)
    if there.ndim != 2 or not len(there):
        raise DesignError(f"known points of shape {there.shape}: expected (n, dimensions), one point at least")
    found = np.asarray(responses, dtype=np.float64)
    if found.shape[:1] != (len(there),) or found.ndim > 2 or not np.isfinite(found).all():
        raise DesignError("each known point needs a response that is a finite number")
    found = found.reshape(len(there), -1)
    if not explore > 0:
        raise DesignError(f"the worth of distance alone must be above 0, not {explore}")
    dimensions = there.shape[1]
    check(points, dimensions)
    count = max(_LEAST_CANDIDATES, _CANDIDATES_PER_POINT * points) if candidates is None else candidates
    pool = random(count, dimensions, seed=seed) if isinstance(count, int) else np.asarray(count, dtype=np.float64)
    if len(pool) < points:
        raise DesignError(f"{points} points cannot be chosen among {len(pool)} candidates")
    spread = np.ptp(found, axis=0)
    levels = (found - found.min(axis=0)) / np.where(spread > 0, spread, 1.0)
    away = np.linalg.norm(pool[:, None, :] - there[None, :, :], axis=2)
    chosen: list[int] = []
    for _ in range(points):
        nearest = away.argmin(axis=1)
        least = away[np.arange(len(pool)), nearest]
        apart = np.abs(levels[None, :, :] - levels[nearest][:, None, :]).max(axis=2)
        # A candidate that is a known point is worth nothing, whatever the quotient.
        change = (apart * (least[:, None] / np.where(away > 0, away, 1.0)) ** 2).max(axis=1)
        worth = least * (explore + change)
        worth[chosen] = -1.0
        best = int(worth.argmax())
        chosen.append(best)
        away = np.column_stack([away, np.linalg.norm(pool - pool[best], axis=1)])
        levels = np.vstack([levels, levels[nearest[best]]])
    return np.asarray(pool[chosen])
