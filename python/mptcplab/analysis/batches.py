"""Results sorted by a criterion into batches ]x₀, x₁], ]x₁, x₂], …: Chauvenne & Libioulle 2017 §3.2."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from mptcplab.analysis.expressions import Column


def even_edges(low: float, high: float, batches: int) -> list[float]:
    """The edges of so many batches of equal width. Raises ValueError."""
    if batches < 1 or not low < high:
        raise ValueError(f"edges need a range and at least one batch, not {low} to {high} in {batches}")
    return [low + (high - low) * at / batches for at in range(batches + 1)]


def batch_names(edges: Sequence[float], *, with_lowest: bool = False) -> list[str]:
    """What `batch` calls the batches between these edges, in their order."""
    names = [f"]{low:g}, {high:g}]" for low, high in pairwise(edges)]
    return [f"[{names[0][1:]}", *names[1:]] if with_lowest else names


def batch(criterion: Column, edges: Sequence[float], *, with_lowest: bool = False) -> pl.Expr:
    """The batch of each row as text, "]0, 5]", ordered; null outside of all.

    As defined, a criterion that equals the lowest edge is in none; `with_lowest` puts it into the first.

    Raises ValueError for edges that are fewer than two or do not rise.
    """
    if len(edges) < 2 or any(not low < high for low, high in pairwise(edges)):
        raise ValueError(f"the edges of batches must be two or more increasing numbers, not {list(edges)}")
    value = pl.col(criterion) if isinstance(criterion, str) else criterion
    names = batch_names(edges, with_lowest=with_lowest)
    found = pl.lit(None, dtype=pl.String)
    for (low, high), name in zip(pairwise(edges), names, strict=True):
        above = value >= low if with_lowest and low == edges[0] else value > low
        found = pl.when(above & (value <= high)).then(pl.lit(name)).otherwise(found)
    return found.cast(pl.Enum(names))
