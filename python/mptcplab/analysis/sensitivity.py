"""How much a result depends on the design that was drawn: tables 3.2, 4.1 and 5.2 of Chauvenne & Libioulle 2017."""

from collections.abc import Sequence
from typing import Final

import polars as pl

QUANTILES: Final = (("p25", 0.25), ("median", 0.5), ("p75", 0.75))


def sensitivity(
    frame: pl.DataFrame, value: str, design: str, *, by: Sequence[str] = (), extent: tuple[float, float] = (-1.0, 1.0)
) -> pl.DataFrame:
    """Median and quartiles of `value` over several designs: their means, and their standard deviations.

    `design` is the column that tells designs apart, `by` the columns of groups that are looked at apart. A row a group
    with `designs`, `median`, `p25`, `p75` (means over the designs) and `median_deviation`, … : the sample standard
    deviation over the designs as a part of `extent`, the range of the value, as the thesis has it for a benefit
    from −1 to 1. Null values are left out; the deviation over a single design is null.

    Raises ValueError for an extent that is no range.
    """
    low, high = extent
    if not low < high:
        raise ValueError(f"an extent must go from a number to a larger one, not {extent}")
    groups = list(by)
    each = (
        frame.drop_nulls(value)
        .group_by([*groups, design], maintain_order=True)
        .agg(pl.col(value).quantile(part, "linear").alias(name) for name, part in QUANTILES)
    )
    summary = [pl.len().alias("designs")]
    summary += [pl.col(name).mean() for name, _ in QUANTILES]
    summary += [(pl.col(name).std(ddof=1) / (high - low)).alias(f"{name}_deviation") for name, _ in QUANTILES]
    return each.group_by(groups, maintain_order=True).agg(summary) if groups else each.select(summary)
