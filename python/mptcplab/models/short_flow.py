"""How long a short TCP transfer takes: handshake, slow start, first loss, congestion avoidance, delayed ACK.

Source: N. Cardwell, S. Savage, T. Anderson, "Modeling TCP latency", INFOCOM 2000; equation numbers are theirs. What
follows slow start runs at Padhye's delivered rate (`single_path.padhye`).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .checks import (
    Array,
    LossOutOfRangeError,
    ParameterError,
    as_floats,
    loss_rates,
    positive,
    round_trip_times,
    segments_per_ack,
)
from .single_path import backoff_factor, padhye, timeout_probability


@dataclass(frozen=True)
class ShortFlow:
    """The expected time of a transfer, in seconds, part by part. All arrays have the common shape of the arguments."""

    handshake_s: Array
    slow_start_s: Array
    first_loss_s: Array
    avoidance_s: Array
    delayed_ack_s: Array
    slow_start_segments: Array
    """Segments sent before the first loss, E[d_ss]."""
    slow_start_window: Array
    """Window in segments at the end of slow start, E[W_ss]."""

    @property
    def transfer_s(self) -> Array:
        """From the first data segment to the last: all but the handshake."""
        return self.slow_start_s + self.first_loss_s + self.avoidance_s + self.delayed_ack_s

    @property
    def total_s(self) -> Array:
        """Handshake and transfer."""
        return self.handshake_s + self.transfer_s


def handshake(
    rtt_s: npt.ArrayLike, p_forward: npt.ArrayLike = 0.0, p_reverse: npt.ArrayLike = 0.0, syn_timeout_s: float = 3.0
) -> Array:
    """Expected time in seconds of the three-way handshake until the client may send.

    ``p_forward``, ``p_reverse``: loss rates of SYN and SYN/ACK, in [0, 0.5): from one half on the doubling timer has no
    finite mean. Raises LossOutOfRangeError, RttError, ParameterError. Source: Cardwell 2000 eq. 4.
    """
    rtt = round_trip_times(rtt_s)
    forward, reverse = loss_rates(p_forward, zero=True), loss_rates(p_reverse, zero=True)
    worst = max(forward.max(), reverse.max())
    if worst >= 0.5:
        raise LossOutOfRangeError(f"loss rate {worst:g} in the handshake: its mean time is finite only below 0.5")
    wait = positive("syn_timeout_s", syn_timeout_s, "s")
    return np.asarray(rtt + wait * ((1 - reverse) / (1 - 2 * reverse) + (1 - forward) / (1 - 2 * forward) - 2))


def segments_before_loss(segments: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    """Segments sent in the initial slow start, up to and with the first lost one, E[d_ss].

    ``segments``: length d of the transfer; ``p`` in [0, 1). Raises LossOutOfRangeError, ParameterError.
    Source: Cardwell 2000 eq. 5, (1−(1−p)^d)(1−p)/p + 1, which gives d + 1 as p → 0 because it counts the lost segment
    even when none is lost; a transfer has only d segments, so it is held at d.
    """
    d, loss = as_floats("segments", segments), loss_rates(p, zero=True)
    if not ((d >= 1) & np.isfinite(d)).all():
        raise ParameterError(f"segments = {d.min():g}: a transfer must have at least 1 segment")
    some = np.where(loss > 0, loss, 0.5)
    sent = -np.expm1(d * np.log1p(-some)) * (1 - some) / some + 1
    return np.asarray(np.where(loss > 0, np.minimum(sent, d), d))


def short_flow(
    segments: npt.ArrayLike,
    rtt_s: npt.ArrayLike,
    p: npt.ArrayLike = 0.0,
    *,
    t0_s: npt.ArrayLike = 1.0,
    b: float = 2.0,
    initial_window: float = 1.0,
    w_max_segments: npt.ArrayLike = np.inf,
    p_reverse: npt.ArrayLike = 0.0,
    syn_timeout_s: float = 3.0,
    delayed_ack_s: float | None = None,
) -> ShortFlow:
    """Expected time of a transfer of ``segments`` over a new connection.

    Args:
        segments: length of the transfer, at least 1; any shape that broadcasts with the others.
        rtt_s: mean round-trip time in seconds.
        p: loss rate of data in [0, 1), below 0.5 (it is also the SYN's).
        t0_s: first retransmission timeout in seconds.
        b: segments acknowledged by one ACK; the slow-start window grows by 1 + 1/b per round.
        initial_window: w₁ in segments.
        w_max_segments: receiver's window in segments.
        p_reverse: loss rate of the SYN/ACK.
        syn_timeout_s: first timeout of the SYN in seconds.
        delayed_ack_s: mean wait for the ACK of an initial window that is not a multiple of ``b``; the paper's 100 ms
            when not given and ``initial_window`` < b, 0 when ``initial_window`` ≥ b.

    Raises:
        LossOutOfRangeError, RttError, ParameterError: a value is out of range.

    Source: Cardwell 2000 eq. 4, 5, 11, 15–25.

    """
    loss, rtt, t0 = loss_rates(p, zero=True), round_trip_times(rtt_s), round_trip_times(t0_s, name="t0_s")
    b, w1 = segments_per_ack(b), positive("initial_window", initial_window, "segments")
    w_max = as_floats("w_max_segments", w_max_segments)
    if not (w_max >= w1).all():
        raise ParameterError(f"w_max_segments = {w_max.min():g} is below the initial window {w1:g}")
    if delayed_ack_s is None:
        delayed_ack_s = 0.1 if w1 < b else 0.0
    d = as_floats("segments", segments)
    shape = np.broadcast_shapes(d.shape, loss.shape, rtt.shape, t0.shape, w_max.shape)
    d, loss, rtt, t0, w_max = (np.broadcast_to(v, shape) for v in (d, loss, rtt, t0, w_max))

    gamma = 1 + 1 / b
    first = segments_before_loss(d, loss)
    window = first * (gamma - 1) / gamma + w1 / gamma
    limited = window > w_max
    cap = np.where(limited, w_max, 1.0)  # finite where the limited branch is taken
    rounds = np.where(
        limited,
        np.log(cap / w1) / np.log(gamma) + 1 + (first - (gamma * cap - w1) / (gamma - 1)) / cap,
        np.log1p(first * (gamma - 1) / w1) / np.log(gamma),
    )
    window = np.minimum(window, w_max)

    lossy = loss > 0
    some = np.where(lossy, loss, 0.5)
    q = timeout_probability(some, window)
    wait = q * backoff_factor(some) * t0 / (1 - some) + (1 - q) * rtt
    rate = padhye(some, rtt, t0, b, w_max, delivered=True)
    return ShortFlow(
        handshake_s=np.broadcast_to(handshake(rtt, loss, p_reverse, syn_timeout_s), shape),
        slow_start_s=np.asarray(rtt * rounds),
        first_loss_s=np.where(lossy, -np.expm1(d * np.log1p(-some)) * wait, 0.0),
        avoidance_s=np.where(lossy, (d - first) / rate, 0.0),
        delayed_ack_s=np.full(shape, float(delayed_ack_s)),
        slow_start_segments=first,
        slow_start_window=window,
    )
