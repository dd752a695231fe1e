"""One TCP flow on one path: its window and rate from loss rate and round-trip time.

Two square-root laws stand side by side because the papers use both: √(2/(bp)) is the balance of mean increase against
mean decrease per ACK (Khalili 2013 §II, Chauvenne 2017 eq. 6.3); √(3/(2bp)) is the mean of a deterministic saw-tooth
(Padhye 1998 eq. 20, Chauvenne 2017 §2.2.1). They differ by √(4/3), 15 %.

The full formula is J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP throughput: a simple model and its
empirical validation", SIGCOMM 1998: rounds in the RTT, triple duplicates, timeouts with exponential back-off, and the
receiver's window. Equation numbers are theirs.

All functions take scalars or arrays that broadcast, and return an array of the common shape.
"""

import numpy as np
import numpy.typing as npt

from .checks import Array, ParameterError, as_floats, loss_rates, round_trip_times, segments_per_ack


def window_balance(p: npt.ArrayLike, b: float = 1.0) -> Array:
    """Window √(2/(bp)) in segments: a gain of 1/w per ACK balances a loss of w/2 with probability p.

    ``p``: loss rate, any shape. Raises LossOutOfRangeError, ParameterError (``b`` < 1).
    Source: Khalili 2013 §II (b = 1); Chauvenne 2017 eq. 6.3.
    """
    return np.sqrt(2 / (segments_per_ack(b) * loss_rates(p)))


def window_sawtooth(p: npt.ArrayLike, b: float = 1.0) -> Array:
    """Mean window √(3/(2bp)) in segments of a saw-tooth between W/2 and W with one loss in 1/p segments.

    ``p``: loss rate, any shape. Raises LossOutOfRangeError, ParameterError (``b`` < 1).
    Source: Padhye 1998 eq. 20, there as a rate: divide by the RTT. The peak W is √(8/(3bp)).
    """
    return np.sqrt(3 / (2 * segments_per_ack(b) * loss_rates(p)))


def padhye_window(p: npt.ArrayLike, b: float = 2.0) -> Array:
    """Mean window E[W] in segments when a loss is indicated, without the receiver's limit.

    ``p``: loss rate, any shape. Raises LossOutOfRangeError, ParameterError (``b`` < 1). Source: Padhye 1998 eq. 13.
    """
    loss, b = loss_rates(p), segments_per_ack(b)
    c = (2 + b) / (3 * b)
    return c + np.sqrt(8 * (1 - loss) / (3 * b * loss) + c * c)


def timeout_probability(p: npt.ArrayLike, window_segments: npt.ArrayLike) -> Array:
    """Probability Q̂ that a loss indication in a window is a timeout, not a triple duplicate.

    ``p``, ``window_segments``: any shapes that broadcast. A window of 3 or fewer cannot give three duplicate ACKs: 1.
    Raises LossOutOfRangeError, ParameterError (a window that is not positive). Source: Padhye 1998 eq. 24; about
    min(1, 3/w).
    """
    loss, w = loss_rates(p), as_floats("window_segments", window_segments)
    if not (w > 0).all():
        raise ParameterError(f"window_segments = {w.min():g}: a window must be positive")
    # 1 − (1−p)^k as −expm1(k·log1p(−p)) keeps all digits when p is small.
    log_pass = np.log1p(-loss)
    three = -np.expm1(3 * log_pass)
    beyond = -np.expm1(np.maximum(w - 3, 0) * log_pass)
    q = three * (1 + (1 - three) * beyond) / -np.expm1(w * log_pass)
    return np.asarray(np.where(w <= 3, 1.0, np.minimum(q, 1.0)))


def backoff_factor(p: npt.ArrayLike) -> Array:
    """Mean length f(p) of a sequence of timeouts in units of T0/(1−p): the timer doubles six times, to 64·T0.

    ``p``: loss rate, any shape, 0 allowed. Raises LossOutOfRangeError. Source: Padhye 1998 eq. 29.
    """
    q = loss_rates(p, zero=True)
    return np.asarray(1 + q * (1 + q * (2 + q * (4 + q * (8 + q * (16 + q * 32))))))


def padhye(
    p: npt.ArrayLike,
    rtt_s: npt.ArrayLike,
    t0_s: npt.ArrayLike,
    b: float = 2.0,
    w_max_segments: npt.ArrayLike = np.inf,
    delivered: bool = False,
) -> Array:
    """Rate of a long TCP Reno flow in segments per second, with timeouts and the receiver's window.

    Args:
        p: loss rate, any shape.
        rtt_s: mean round-trip time in seconds.
        t0_s: length of a first timeout in seconds.
        b: segments acknowledged by one ACK.
        w_max_segments: receiver's window in segments; infinite for no limit.
        delivered: what reaches the receiver (the paper's throughput T(p)) instead of what is sent (B(p)).

    Raises:
        LossOutOfRangeError, RttError, ParameterError: a value is out of range.

    Source: Padhye 1998 eq. 32 (sent) and the throughput of its section V (delivered).

    """
    loss, rtt, t0 = loss_rates(p), round_trip_times(rtt_s), round_trip_times(t0_s, name="t0_s")
    b, w_max = segments_per_ack(b), as_floats("w_max_segments", w_max_segments)
    if not (w_max >= 1).all():
        raise ParameterError(f"w_max_segments = {w_max.min():g}: a receive window must hold at least 1 segment")
    free = padhye_window(loss, b)
    limited = free >= w_max
    w = np.minimum(free, w_max)
    q = timeout_probability(loss, w)
    with np.errstate(invalid="ignore"):  # the limited branch is not taken where the limit is infinite
        rounds = np.where(limited, b / 8 * w + (1 - loss) / (loss * w) + 2, b / 2 * w + 1)
    data = (1 - loss) / loss + (w / 2 + q if delivered else w + q / (1 - loss))
    return np.asarray(data / (rtt * rounds + q * t0 * backoff_factor(loss) / (1 - loss)))


def padhye_approximate(
    p: npt.ArrayLike,
    rtt_s: npt.ArrayLike,
    t0_s: npt.ArrayLike,
    b: float = 2.0,
    w_max_segments: npt.ArrayLike = np.inf,
    scale: float = 1.0,
) -> Array:
    """Send rate in segments per second by the short formula.

    Arguments, shapes and errors as in `padhye`; ``scale`` is the additive increase a per RTT (Singh 2012 ch. II gives
    the equally weighted TCP this way: a = 1/n²). Source: Padhye 1998 eq. 33; with a, Singh 2012 ch. II.
    """
    loss, rtt, t0 = loss_rates(p), round_trip_times(rtt_s), round_trip_times(t0_s, name="t0_s")
    b, w_max = segments_per_ack(b), as_floats("w_max_segments", w_max_segments)
    if not (np.isfinite(scale) and scale > 0):
        raise ParameterError(f"scale = {scale!r}: the additive increase must be positive")
    root = np.sqrt(b * loss / scale)
    timeouts = np.minimum(1, 3 * np.sqrt(3 / 8) * root) * loss * (1 + 32 * loss * loss)
    return np.asarray(np.minimum(w_max / rtt, 1 / (rtt * np.sqrt(2 / 3) * root + t0 * timeouts)))
