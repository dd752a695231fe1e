"""The metrics of `mptcplab.metrics` as polars expressions.

A column is given by its name or as an expression. What is undefined is null: a benefit of fewer than two paths, a share
of nothing, anything of a missing value. What has no meaning (a negative rate) is null as well: a frame cannot raise for
one of its rows.
"""

from collections.abc import Sequence
from functools import reduce

import polars as pl

Column = str | pl.Expr


def _column(given: Column) -> pl.Expr:
    return (pl.col(given) if isinstance(given, str) else given).cast(pl.Float64)


def _non_negative(given: Column) -> pl.Expr:
    value = _column(given)
    return pl.when(value.is_finite() & (value >= 0)).then(value)


def _paths(given: Sequence[Column]) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """The best, the sum, and whether there is a benefit to speak of: two paths or more, each positive."""
    each = [_column(path) for path in given]
    known = reduce(lambda a, b: a + b, [path.is_not_null().cast(pl.UInt32) for path in each])
    proper = [(path.is_finite() & (path > 0)).fill_null(value=True) for path in each]
    return pl.max_horizontal(each), pl.sum_horizontal(each), (known >= 2) & pl.all_horizontal(proper)


def aggregation_benefit(goodput: Column, capacities: Sequence[Column]) -> pl.Expr:
    """Aggregation benefit: 1 all capacities used, 0 as good as the fastest path, −1 nothing delivered.

    A capacity that is null is a path that a row does not have; null for fewer than two. Source: Chauvenne 2017 §2.1.3.
    """
    value = _non_negative(goodput)
    best, total, defined = _paths(capacities)
    benefit = pl.when(value >= best).then((value - best) / (total - best)).otherwise((value - best) / best)
    return pl.when(defined & value.is_not_null()).then(benefit)


def experimental_aggregation_benefit(goodput: Column, tcp_goodputs: Sequence[Column]) -> pl.Expr:
    """The same against what TCP alone delivered on each path; g/ΣB when g ≥ ΣB, so it may exceed 1.

    Null as `aggregation_benefit`. Source: Chauvenne 2017 §3.2.
    """
    value = _non_negative(goodput)
    best, total, defined = _paths(tcp_goodputs)
    benefit = (
        pl.when(value >= total)
        .then(value / total)
        .when(value > best)
        .then((value - best) / (total - best))
        .otherwise((value - best) / best)
    )
    return pl.when(defined & value.is_not_null()).then(benefit)


def request_ratio(n_low_rtt: Column, n_other: Column) -> pl.Expr:
    """R_N = (a − b)/(a + b) of requests per second, min-RTT scheduler against another; null when both are 0.

    Source: Chauvenne 2017 appendix C.
    """
    first, second = _non_negative(n_low_rtt), _non_negative(n_other)
    return pl.when(first + second > 0).then((first - second) / (first + second))


def jain_index(rates: Column) -> pl.Expr:
    """Jain's index (Σx)²/(nΣx²) of a group: for `agg`, or with `over`. Null for no rates, all 0, or a wrong one.

    Source: Jain, Chiu, Hawe 1984.
    """
    given, value = _column(rates), _non_negative(rates)
    scaled = value / value.max()  # squares of tiny rates would underflow
    index = scaled.sum().pow(2) / (scaled.count() * scaled.pow(2).sum())
    return pl.when((given.count() == value.count()) & (value.max() > 0)).then(index)


def path_share(rates: Column) -> pl.Expr:
    """Each row's part of its group's total: with `over`, or in a `select`; null where nothing was carried."""
    value = _non_negative(rates)
    return pl.when(value.sum() > 0).then(value / value.sum())


def mean_loss_rate(loss: Column, rates: Column) -> pl.Expr:
    """Loss of a group of paths, each weighted by the rate it carries: for `agg`. Null where nothing was carried.

    A path that carried nothing need not have a loss rate. Source: Chauvenne 2017 §6.1.3.
    """
    rate = _non_negative(rates)
    lost = pl.when(rate > 0).then(_column(loss)).otherwise(0.0)
    proper = (lost.is_null() | (lost < 0) | (lost > 1) | rate.is_null()).sum() == 0
    return pl.when(proper & (rate.sum() > 0)).then((lost * rate).sum() / rate.sum())


def normalised_throughput(rates: Column, capacities: Column) -> pl.Expr:
    """x/C: what a user gets of the capacity provided for it. Source: Khalili 2013 §III."""
    capacity = _column(capacities)
    return pl.when(capacity > 0).then(_non_negative(rates) / capacity)
