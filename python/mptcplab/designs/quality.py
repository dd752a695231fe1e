"""How evenly points fill the unit cube: the two measures of Chauvenne & Libioulle 2017 §2.3.1."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree

from mptcplab.designs.plain import Floats


@dataclass(frozen=True)
class Quality:
    """A regular distribution has a high minimal distance and a low cover measure."""

    minimal_distance: float
    """Between any two points; NaN for a single point."""
    cover: float
    """Standard deviation over mean of the distances to the nearest other point: 0 for a regular mesh; NaN for one."""


def nearest_distances(points: npt.ArrayLike) -> Floats:
    """Each point's distance to the nearest other one, shape (n,); empty for fewer than two."""
    array = np.asarray(points, dtype=np.float64)
    if len(array) < 2:
        return np.empty(0)
    found = np.asarray(KDTree(array).query(array, k=2)[0], dtype=np.float64)
    return np.asarray(found[:, 1])


def quality(points: npt.ArrayLike) -> Quality:
    """Both measures of points of shape (n, dimensions). Source of the cover measure: Gunzburger & Burkardt 2004."""
    nearest = nearest_distances(points)
    if not nearest.size:
        return Quality(float("nan"), float("nan"))
    mean = float(nearest.mean())
    return Quality(float(nearest.min()), float(nearest.std()) / mean if mean > 0 else float("nan"))
