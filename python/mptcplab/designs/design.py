"""`design`: the points of an experiment design as a data frame."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mptcplab.designs.factors import factor
from mptcplab.designs.plain import DesignError, Floats, grid, latin_hypercube, random
from mptcplab.designs.wsp import wsp

if TYPE_CHECKING:
    import polars as pl

KINDS: Final = ("wsp", "lhs", "grid", "random")


def design(
    kind: str,
    points: int,
    dimensions: int | None = None,
    *,
    factors: Mapping[str, Sequence[str | float]] | None = None,
    seed: int = 1,
    candidates: int | None = None,
) -> "pl.DataFrame":
    """The points of a design, one row per point and one column per dimension: 0 to 1, or the values of `factors`.

    `kind` is "wsp", "lhs" (Latin hypercube), "grid" (`points` in total) or "random". `factors` gives a range (from, to)
    for each key, as in a sweep file: `{"link.wifi.rate": ("1 Mbit/s", "100 Mbit/s")}`. `candidates` is the number of
    points that wsp chooses from.

    Raises DesignError and FactorError, which are ValueErrors.

    >>> import mptcplab
    >>> mptcplab.design("lhs", 8, 3).shape
    (8, 3)
    >>> delays = {"link.a.delay": ("10 ms", "20 ms"), "link.b.delay": ("10 ms", "20 ms")}
    >>> mptcplab.design("grid", 4, factors=delays)["link.b.delay"].to_list()
    ['10 ms', '20 ms', '10 ms', '20 ms']
    """
    import polars as pl

    ranges = [factor(key, list(ends)) for key, ends in (factors or {}).items()]
    if dimensions is not None and ranges and dimensions != len(ranges):
        raise DesignError(f"{len(ranges)} factors are given, but {dimensions} dimensions")
    count = dimensions or len(ranges)
    if count == 0:
        raise DesignError("the number of dimensions is missing: give dimensions, or factors")
    chosen = choose(kind, points, count, seed, candidates)
    if not ranges:
        return pl.DataFrame({f"x{number}": chosen[:, number - 1] for number in range(1, count + 1)})
    return pl.DataFrame({each.key: [each.at(float(x)) for x in chosen[:, at]] for at, each in enumerate(ranges)})


def choose(kind: str, points: int | None, dimensions: int, seed: int, candidates: int | None) -> Floats:
    """The points of a design in the unit cube, shape (points, dimensions). Raises DesignError."""
    if kind == "adaptive":
        raise DesignError("an adaptive design needs responses: use mptcplab.designs.adaptive, or a sweep")
    if kind not in KINDS:
        raise DesignError(f"there is no design {kind!r}; choose from {', '.join(KINDS)}")
    if points is None:
        raise DesignError("the number of points is missing: give --points N")
    if kind == "wsp":
        return wsp(points, dimensions, seed=seed, candidates=candidates)
    if candidates is not None:
        raise DesignError(f"--candidates is for wsp; {kind} does not use them")
    if kind == "grid":
        levels = round(points ** (1 / dimensions))
        if levels**dimensions != points:
            below = int(points ** (1 / dimensions))
            raise DesignError(
                f"a grid of {dimensions} dimensions has the same number of levels in each: "
                f"{below**dimensions} or {(below + 1) ** dimensions} points, not {points}"
            )
        return grid([levels] * dimensions)
    made = latin_hypercube if kind == "lhs" else random
    return made(points, dimensions, seed=seed)
