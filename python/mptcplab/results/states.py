"""Several stable states: values over seeds that gather at more than one place, such as a fast outcome and a slow one.

The test is Silverman's for the number of modes (JRSS B 43, 1981): the least bandwidth at which a kernel density of the
values has one mode, and how often samples of that very density need more. It supposes no shape, as a test for normality
would, and long tails do not count as states. docs/how-to/compare-algorithms.md says what is claimed.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEVEL: Final = 0.05
"""Of the results that are said to have several states, the part that is expected to have one."""
FEWEST: Final = 8
"""With fewer values nothing is said."""
SMALLEST: Final = 3
"""A value that comes less often is an outlier, not a state."""
APART: Final = 0.05
"""States whose means differ by less than this part are one for every practical purpose."""
SPREADS: Final = 5
"""States are as many of their own standard deviations apart. The halves of values that are spread evenly, with which
the test is too ready, are 3.5."""
_RESAMPLES: Final = 999
_GRID: Final = 128
_HALVINGS: Final = 24


@dataclass(frozen=True)
class State:
    """Where values gather."""

    runs: int
    mean: float
    low: float
    high: float
    """The least and the largest value."""


def of_settings(matrix: Floats) -> list[tuple[State, ...]]:
    """For each row the states of its values: one, or several where the test says so; none without values.

    `matrix` has the shape (settings, blocks); nan are left out. The test's p values are adjusted for the number of rows
    (Benjamini and Hochberg 1995).
    """
    rows = [np.sort(row[~np.isnan(row)]) for row in matrix]
    brackets = [_bracket(row) if len(row) >= FEWEST and row[0] < row[-1] else None for row in rows]
    cuts = [bracket and _cut(row, bracket[0]) for row, bracket in zip(rows, brackets, strict=True)]
    if any(cuts):
        from scipy.stats import false_discovery_control  # loads slowly

        levels = false_discovery_control(
            [
                _p_value(row, bracket[1]) if bracket and cut else 1.0
                for row, bracket, cut in zip(rows, brackets, cuts, strict=True)
            ]
        )
        cuts = [cut if level <= LEVEL else None for cut, level in zip(cuts, levels, strict=True)]
    found = []
    for row, cut in zip(rows, cuts, strict=True):
        parts = np.split(row, [cut]) if cut else [row]
        found.append(
            tuple(State(len(each), *map(float, (each.mean(), each[0], each[-1]))) for each in parts if len(each))
        )
    return found


def _cut(values: Floats, bandwidth: float) -> int | None:
    """How many of the sorted values are of the lower state if there are two: those left of the deepest valley.

    `bandwidth` is one at which the density has two modes, all but one.
    """
    grid, density = _density(values, bandwidth)
    tops = _tops(density)
    if len(tops) < 2:
        return None
    first, last = sorted(sorted(tops, key=lambda top: -density[top])[:2])
    valley = grid[first + int(np.argmin(density[first : last + 1]))]
    cut = int(np.searchsorted(values, valley))
    below, above = values[:cut], values[cut:]
    if min(len(below), len(above)) < SMALLEST:
        return None
    apart = float(above.mean() - below.mean())
    spread = float(np.sqrt((below.var() + above.var()) / 2))
    return cut if apart >= max(APART * abs(float(values.mean())), SPREADS * spread) else None


def _density(values: Floats, bandwidth: float) -> tuple[Floats, Floats]:
    """A grid and, but for a factor, the density of normal kernels on it; also for each row of several samples."""
    low, high = values.min(axis=-1) - bandwidth, values.max(axis=-1) + bandwidth
    grid = np.linspace(low, high, _GRID, axis=-1)
    kernels: Floats = np.exp(-0.5 * ((grid[..., None] - values[..., None, :]) / bandwidth) ** 2)
    return grid, kernels.sum(axis=-1)


def _are_tops(density: Floats) -> npt.NDArray[np.bool_]:
    rises = np.diff(density, axis=-1) > 0
    return rises[..., :-1] & ~rises[..., 1:]


def _tops(density: Floats) -> list[int]:
    return [int(at) + 1 for at in np.flatnonzero(_are_tops(density))]


def _bracket(values: Floats) -> tuple[float, float]:
    """The bandwidths between which the number of modes falls to one, by halving."""
    high = float(values.max() - values.min())
    low = high * 1e-3
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        if len(_tops(_density(values, middle)[1])) > 1:
            low = middle
        else:
            high = middle
    return low, high


def _p_value(values: Floats, bandwidth: float) -> float:
    """How often a sample of the density with one mode has more at its bandwidth."""
    random = np.random.default_rng(1)
    spread = float(values.std(ddof=0))
    shrink = 1 / np.sqrt(1 + (bandwidth / spread) ** 2)
    chosen = random.choice(values, (_RESAMPLES, len(values)))
    noise = bandwidth * random.standard_normal(chosen.shape)
    samples = values.mean() + shrink * (chosen - values.mean() + noise)
    more = int((_are_tops(_density(samples, bandwidth)[1]).sum(axis=-1) > 1).sum())
    return (more + 1) / (_RESAMPLES + 1)
