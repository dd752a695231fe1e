"""Figures of merit: how well paths are aggregated, how evenly shared, how lossy. Plain functions on numpy arrays.

Where a metric is undefined (the aggregation benefit of a single path) the answer is None, never 0.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mptcplab.errors import Error

Floats = npt.NDArray[np.float64]


class MetricInputError(Error, ValueError):
    """A metric was asked about numbers that have no meaning for it."""


def _non_negative(name: str, values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise MetricInputError(f"{name} is empty")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise MetricInputError(f"{name} = {values!r}: each must be finite and not negative")
    return array


def _goodput_and_paths(goodput: float, paths: Sequence[float] | Floats, name: str) -> tuple[float, Floats] | None:
    each = np.atleast_1d(_non_negative(name, paths))
    value = float(_non_negative("goodput", goodput))
    if not (each > 0).all():
        raise MetricInputError(f"{name} = {paths!r}: each must be positive")
    return (value, each) if each.size > 1 else None


def aggregation_benefit(goodput: float, capacities: Sequence[float] | Floats) -> float | None:
    """Aggregation benefit: 1 all capacities used, 0 as good as the fastest path, −1 nothing delivered.

    ``goodput`` and ``capacities`` in one unit. None for a single path. Raises MetricInputError (negative, not finite,
    a capacity of 0). Source: Chauvenne 2017 §2.1.3 (Kaspar 2012).
    """
    known = _goodput_and_paths(goodput, capacities, "capacities")
    if known is None:
        return None
    value, each = known
    best = float(each.max())
    spread = float(each.sum()) - best
    return (value - best) / (spread if value >= best else best)


def experimental_aggregation_benefit(goodput: float, tcp_goodputs: Sequence[float] | Floats) -> float | None:
    """Aggregation benefit against what TCP alone delivered on each path; g/ΣB when g ≥ ΣB, so it may exceed 1.

    ``goodput`` and ``tcp_goodputs`` in one unit. None for a single path. Raises MetricInputError as
    `aggregation_benefit`. Source: Chauvenne 2017 §3.2, for two paths; its min(B₁, B₂) is ΣB − max B for any number.
    The thesis leaves g = max B to no branch; both neighbours give 0 there.
    """
    known = _goodput_and_paths(goodput, tcp_goodputs, "tcp_goodputs")
    if known is None:
        return None
    value, each = known
    best, total = float(each.max()), float(each.sum())
    if value >= total:
        return value / total
    return (value - best) / (total - best if value > best else best)


def request_ratio(n_low_rtt: float, n_other: float) -> float:
    """R_N: requests per second of the min-RTT scheduler against another's, (a − b)/(a + b) in [−1, 1].

    Raises MetricInputError (negative, or both 0). Source: Chauvenne 2017 appendix C; its fraction labels the counts
    pkts/s, they are requests.
    """
    first, second = float(_non_negative("n_low_rtt", n_low_rtt)), float(_non_negative("n_other", n_other))
    if first + second == 0:
        raise MetricInputError("R_N is undefined if no request was completed under either scheduler")
    return (first - second) / (first + second)


def jain_index(rates: npt.ArrayLike) -> float:
    """Jain's fairness index (Σx)²/(nΣx²): 1 all equal, 1/n one has all.

    ``rates``: shape (n,). Raises MetricInputError (negative, empty, all 0). Source: Jain, Chiu, Hawe 1984.
    """
    return float(jain_indices(_non_negative("rates", rates).ravel()))


def jain_indices(rates: npt.ArrayLike) -> Floats:
    """Jain's index of each row: shape (…, n) to (…). Raises MetricInputError as `jain_index`."""
    x = _non_negative("rates", rates)
    largest = x.max(axis=-1, keepdims=True)
    if (largest == 0).any():
        raise MetricInputError("Jain's index of rates that are all 0 is undefined")
    x = x / largest  # squares of tiny rates would underflow
    return np.asarray(x.sum(axis=-1) ** 2 / (x.shape[-1] * (x**2).sum(axis=-1)))


def path_shares(rates: npt.ArrayLike) -> Floats:
    """Each path's part of the total, shape (…, n); nan where nothing was carried. Raises MetricInputError."""
    x = _non_negative("rates", rates)
    with np.errstate(invalid="ignore"):
        return np.asarray(x / x.sum(axis=-1, keepdims=True))


def mean_loss_rate(loss: npt.ArrayLike, rates: npt.ArrayLike) -> Floats:
    """Loss rate over all paths, each weighted by the rate it carries, shape (…); nan where nothing was carried.

    ``loss``, ``rates``: shape (…, n). Raises MetricInputError (negative, a loss above 1, shapes that do not broadcast).
    Source: Chauvenne 2017 §6.1.3.
    """
    p, x = _non_negative("loss", loss), _non_negative("rates", rates)
    if (p > 1).any():
        raise MetricInputError(f"loss = {loss!r}: a loss rate is at most 1")
    if p.shape[-1:] != x.shape[-1:]:
        raise MetricInputError(f"loss of shape {p.shape} and rates of shape {x.shape} do not describe the same paths")
    return np.asarray((p * path_shares(x)).sum(axis=-1))


def normalised_throughput(rates: npt.ArrayLike, capacities: npt.ArrayLike) -> Floats:
    """x/C: what a user gets of the capacity provided for it; above 1 where it takes from others.

    Arrays that broadcast, one unit. Raises MetricInputError. Source: Khalili 2013 §III.
    """
    x, c = _non_negative("rates", rates), _non_negative("capacities", capacities)
    if not (c > 0).all():
        raise MetricInputError(f"capacities = {capacities!r}: each must be positive")
    return np.asarray(x / c)


def simult_flows_limit_s(size_bytes: float, rate_1_bps: float, rate_2_bps: float) -> float:
    """Longest time in seconds that Linux's own test allows for a transfer over two paths: 1.11·size/(r₁+r₂) + 0.4 s.

    Raises MetricInputError (negative, or both rates 0). Source: the kernel's simult_flows self-test.
    """
    size = float(_non_negative("size_bytes", size_bytes))
    total = float(_non_negative("rate_1_bps", rate_1_bps)) + float(_non_negative("rate_2_bps", rate_2_bps))
    if total == 0:
        raise MetricInputError("transfers over two paths of rate 0 never finish")
    return 1.11 * 8 * size / total + 0.4


def traffic_shift(rates: npt.ArrayLike) -> Floats:
    """How far the traffic has moved to one path: (s − 1/n)/(1 − 1/n), s the largest share; 0 even, 1 all on one.

    ``rates``: shape (…, n) with two paths or more; nan where nothing was carried. Raises MetricInputError. After
    Singh 2012 chapter IV C, which gives the share itself.
    """
    shares = path_shares(rates)
    n = shares.shape[-1]
    if n < 2:
        raise MetricInputError("shifting traffic needs at least two paths")
    return np.asarray((shares.max(axis=-1) - 1 / n) / (1 - 1 / n))


def flips(windows: npt.ArrayLike, dominance: float = 0.8) -> int:
    """How often nearly all of the traffic moves from one path to another.

    Args:
        windows: windows (or rates) of n paths at one moment after another, shape (moments, n).
        dominance: the share from which a path has nearly all, above 1/2. A flip is counted when another path gets that
            far than the one that last had it: what comes back half way is none.

    Raises:
        MetricInputError: negative windows, a dominance out of (0.5, 1].

    Source: what Wischik 2009 and Singh 2012 chapter IV B call flappiness, made a count.

    """
    if not 0.5 < dominance <= 1:
        raise MetricInputError(f"dominance = {dominance!r}: expected above 1/2, at most 1")
    shares = np.atleast_2d(path_shares(windows))
    leading = shares.argmax(axis=-1)[np.nan_to_num(shares.max(axis=-1)) >= dominance]
    return int((np.diff(leading) != 0).sum())


def settling_time_s(
    times_s: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    since_s: float,
    tolerance: float = 0.1,
    average_s: float = 0.0,
    final: float | None = None,
) -> float | None:
    """Time from ``since_s`` until a quantity stays within ``tolerance`` of where it ends up.

    Args:
        times_s: moments, increasing.
        values: the quantity at each, such as a path's share of the rate.
        since_s: when what it answers to happened.
        tolerance: half the width of the band, in the unit of ``values``.
        average_s: the quantity is first averaged over so long before each moment, and not before ``since_s``.
        final: where it ends up; the mean over the last third of the time since ``since_s`` when not given.

    Returns None if it has not settled for at least the last third.

    Raises:
        MetricInputError: no moments after ``since_s``, times that do not increase, different lengths.

    After Singh 2012 chapter VII, which reads the time from a figure.

    """
    at, value = np.asarray(times_s, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if at.ndim != 1 or at.shape != value.shape:
        raise MetricInputError(f"{at.shape} times and {value.shape} values: expected as many, in one row")
    if (np.diff(at) <= 0).any():
        raise MetricInputError("times_s must increase")
    at, value = at[at > since_s], value[at > since_s]
    if at.size == 0:
        raise MetricInputError(f"no sample is after since_s = {since_s!r}")
    if average_s > 0:
        sums = np.concatenate([[0.0], np.cumsum(value)])
        first = np.searchsorted(at, at - average_s, side="right")
        value = (sums[1:] - sums[first]) / (np.arange(1, at.size + 1) - first)
    late = at > since_s + (at[-1] - since_s) * 2 / 3
    wanted = float(value[late].mean()) if final is None else final
    outside = np.flatnonzero(np.abs(value - wanted) > tolerance)
    if outside.size == 0:
        return 0.0
    last = int(outside[-1])
    return None if late[last] else float(at[last + 1] - since_s)
