"""Dong 2018's round model: data a subflow delivers round by round, and the paths worth using for a file of known size.

A round sends one window and takes one RTT plus the time on the wire. State is the distribution of (window, threshold);
losses in a round of w segments are Binomial(w, p). No loss: the window doubles below the threshold and else grows by 1
(LIA: by min(αw/w_total, 1), α of eq. 1). A loss with at least three duplicate ACKs: window and threshold are halved.
Fewer: a timeout, the window starts anew, the threshold is halved. Equal states are merged.

P. Dong et al., "Reducing transport latency for short flows with multipath TCP", JNCA 2018, §4. Slips corrected here:

* eq. 4 prints C(r, w) for C(w, r);
* eq. 8 and 11 count exactly three duplicate ACKs (l = w − 3) as a timeout; three are what fast retransmit needs;
* eq. 9 restarts from the initial window, the text and figure 7 from 1: `RoundModel.restart_window` says which;
* eq. 14 calls C_r(i) what is the mean window CW_r(i); the sum in eq. 3 over l is the mean number of losses, p·w;
* algorithm 1 lets j run to i; eq. 15 and the text have j < i.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binom

from .checks import Array, LengthMismatchError, ParameterError, loss_rates, positive, round_trip_times

_GRID = 8
"""LIA's fractional windows lie on a grid of 1/8 segment, split between neighbours so that the mean stays exact."""


@dataclass(frozen=True)
class RoundPath:
    """A subflow's path."""

    rtt_s: float
    loss_rate: float = 0.0
    bandwidth_bps: float = np.inf

    def __post_init__(self) -> None:
        round_trip_times(self.rtt_s)
        loss_rates(self.loss_rate, zero=True, name="loss_rate")
        if not self.bandwidth_bps > 0:
            raise ParameterError(f"bandwidth_bps = {self.bandwidth_bps!r}: it must be positive")


@dataclass(frozen=True)
class RoundModel:
    """What all subflows have in common. Raises ParameterError."""

    initial_window: int = 1
    initial_threshold: int = 2**16
    restart_window: int | None = None
    """Window after a timeout; the initial one (eq. 9) when not given, 1 as in figure 7."""
    window_limit: int = 2**16
    """Largest window in segments: the receiver's."""
    segment_bytes: float = 1400.0
    ack_bytes: float = 40.0
    segments_per_ack: float = 2.0
    duplicate_acks: int = 3

    def __post_init__(self) -> None:
        for name in ("initial_window", "initial_threshold", "window_limit", "duplicate_acks"):
            value = getattr(self, name)
            if value < 1:
                raise ParameterError(f"{name} = {value!r}: at least 1")
        if self.restart_window is not None and self.restart_window < 1:
            raise ParameterError(f"restart_window = {self.restart_window!r}: at least 1 segment")
        positive("segment_bytes", self.segment_bytes, "bytes")
        positive("segments_per_ack", self.segments_per_ack)
        if not (np.isfinite(self.ack_bytes) and self.ack_bytes >= 0):
            raise ParameterError(f"ack_bytes = {self.ack_bytes!r}: not negative")

    def wire_time_s(self, window: float, path: RoundPath) -> float:
        """Time on the wire of a window and its ACKs, the last term of eq. 3."""
        size = self.segment_bytes + self.ack_bytes / self.segments_per_ack
        return 8 * window * size / path.bandwidth_bps


class Subflow:
    """The distribution of one subflow's state, and what it has done so far."""

    def __init__(self, model: RoundModel, path: RoundPath) -> None:
        self.model = model
        self.path = path
        self.delivered_segments = 0.0
        self.time_s = 0.0
        self.rounds = 0
        self._window: Array = np.array([float(min(model.initial_window, model.window_limit))])
        self._threshold: Array = np.array([float(model.initial_threshold)])
        self._weight: Array = np.ones(1)

    @property
    def states(self) -> dict[tuple[float, float], float]:
        """Probability of each (window, threshold) of the coming round.

        A window at or past its threshold grows the same whatever the threshold was: such states are one, and the
        window stands for the threshold.
        """
        keys = zip(self._window.tolist(), self._threshold.tolist(), strict=True)
        return dict(zip(keys, self._weight.tolist(), strict=True))

    @property
    def mean_window(self) -> float:
        """Expected window of the coming round, in segments."""
        return float(self._window @ self._weight)

    def next_round(self, growth: float | None = None) -> None:
        """Send one window. ``growth``: LIA's α/w_total; nothing for plain TCP. Source: eq. 3–13."""
        model, p, w, weight = self.model, self.path.loss_rate, self._window, self._weight
        self.delivered_segments += self.mean_window * (1 - p)
        self.time_s += self.path.rtt_s + model.wire_time_s(self.mean_window, self.path)
        self.rounds += 1
        sent = np.maximum(np.floor(w), 1)
        clean = (1 - p) ** sent
        # A fast retransmit needs at least `duplicate_acks` segments of the round to arrive.
        fast = np.maximum(binom.cdf(sent - model.duplicate_acks, sent, p) - clean, 0.0)
        half = np.maximum(np.floor(sent / 2), 1)
        restart = np.full(
            w.shape, float(model.initial_window if model.restart_window is None else model.restart_window)
        )
        slow_start = w < self._threshold
        gain = np.ones(w.shape) if growth is None else np.minimum(growth * w, 1.0)
        grown = np.minimum(np.where(slow_start, 2 * w, w + gain), model.window_limit)
        low = np.floor(grown * _GRID) / _GRID
        above = (grown - low) * _GRID
        parts = (
            (low, self._threshold, weight * clean * (1 - above)),
            (low + 1 / _GRID, self._threshold, weight * clean * above),
            (half, np.maximum(half, 2), weight * fast),
            (restart, np.maximum(half, 2), weight * np.maximum(1 - clean - fast, 0.0)),
        )
        self._merge(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _merge(self, window: Array, threshold: Array, weight: Array) -> None:
        keep = weight > 1e-12  # states rarer than this do not show in a mean
        window, weight = window[keep], weight[keep]
        threshold = np.maximum(threshold[keep], window * (window >= threshold[keep]))
        pairs, place = np.unique(np.stack([window, threshold]), axis=1, return_inverse=True)
        merged = np.bincount(place.ravel(), weights=weight)
        self._window, self._threshold, self._weight = pairs[0], pairs[1], merged / merged.sum()


def after_rounds(path: RoundPath, rounds: int, model: RoundModel | None = None) -> Subflow:
    """A lone TCP subflow after that many rounds: data delivered and time. Raises ParameterError. Source: eq. 3."""
    if rounds < 0:
        raise ParameterError(f"rounds = {rounds}: not negative")
    subflow = Subflow(model or RoundModel(), path)
    for _ in range(rounds):
        subflow.next_round()
    return subflow


def lia_growth(windows: Sequence[float], rtts_s: Sequence[float]) -> float:
    """α/w_total of eq. 1 at these windows: max(w/rtt²)/(Σ w/rtt)². Raises LengthMismatchError."""
    if len(windows) != len(rtts_s):
        raise LengthMismatchError(f"{len(windows)} windows but {len(rtts_s)} round-trip times")
    w, rtt = np.asarray(windows, dtype=np.float64), np.asarray(rtts_s, dtype=np.float64)
    return float((w / rtt**2).max() / (w / rtt).sum() ** 2)


def multipath(paths: Sequence[RoundPath], duration_s: float, model: RoundModel | None = None) -> list[Subflow]:
    """All subflows of an MPTCP connection with LIA, each as far as it finishes rounds within ``duration_s``.

    Rounds are played in the order in which they end, and LIA's α is that of the mean windows of the moment (the paper's
    ŵ). Raises ParameterError. Source: §4.1, eq. 1–13.
    """
    positive("duration_s", duration_s, "s")
    if not paths:
        raise ParameterError("a connection has at least one path")
    flows = [Subflow(model or RoundModel(), path) for path in paths]
    rtts = [path.rtt_s for path in paths]
    while True:
        ends = [f.time_s + f.path.rtt_s + f.model.wire_time_s(f.mean_window, f.path) for f in flows]
        first = int(np.argmin(ends))
        if ends[first] > duration_s:
            return flows
        flows[first].next_round(lia_growth([f.mean_window for f in flows], rtts) if len(flows) > 1 else None)


def transfer_time_s(size_bytes: float, path: RoundPath, model: RoundModel | None = None) -> float:
    """Time in seconds until a lone TCP has delivered that much; within a round in proportion to its data.

    Raises ParameterError. Source: eq. 3, solved for the time.
    """
    positive("size_bytes", size_bytes, "bytes")
    flow = Subflow(model or RoundModel(), path)
    wanted = size_bytes / flow.model.segment_bytes
    while True:
        before, since = flow.delivered_segments, flow.time_s
        flow.next_round()
        if flow.delivered_segments >= wanted:
            part = (wanted - before) / (flow.delivered_segments - before)
            return since + part * (flow.time_s - since)


def throughput_curve(sizes_bytes: Sequence[float], path: RoundPath, model: RoundModel | None = None) -> Array:
    """Mean throughput in bit/s of transfers of these sizes, (n,): the curves of figure 9. Raises ParameterError."""
    times = [transfer_time_s(size, path, model) for size in sizes_bytes]
    return np.asarray(8 * np.asarray(sizes_bytes, dtype=np.float64) / np.asarray(times))


def choose_paths(
    remaining_bytes: float, paths: Sequence[RoundPath], model: RoundModel | None = None, windows: Sequence[int] = ()
) -> list[int]:
    """The paths worth using for what is left to send, by index, shortest RTT first (algorithm 1).

    Path i joins only if the paths before it cannot deliver everything within rtt_i: Σ_{j<i} C_j(rtt_i/rtt_j) is less
    than what remains, eq. 15. A fractional number of rounds counts the last one in proportion.

    Args:
        remaining_bytes: data left, positive.
        paths: the established paths.
        model: as for the round model.
        windows: present window of each path in segments; the initial one when not given.

    Raises:
        ParameterError: no path, nothing left to send, or a window below 1.
        LengthMismatchError: as many windows as paths are needed.

    """
    positive("remaining_bytes", remaining_bytes, "bytes")
    if not paths:
        raise ParameterError("a connection has at least one path")
    if windows and len(windows) != len(paths):
        raise LengthMismatchError(f"{len(windows)} windows but {len(paths)} paths: give one per path")
    common = model or RoundModel()
    order = sorted(range(len(paths)), key=lambda i: (paths[i].rtt_s, i))
    for place in range(1, len(order)):
        slow = paths[order[place]].rtt_s
        carried = 0.0
        for j in order[:place]:
            start = replace(common, initial_window=windows[j]) if windows else common
            carried += _segments(paths[j], slow / paths[j].rtt_s, start) * common.segment_bytes
        if carried >= remaining_bytes:
            return order[:place]
    return order


def _segments(path: RoundPath, rounds: float, model: RoundModel) -> float:
    # Rounds are whole when the ratio of RTTs is, whatever the last digit of the quotient says.
    whole = int(np.floor(rounds * (1 + 1e-12)))
    flow = after_rounds(path, whole, model)
    return flow.delivered_segments + max(rounds - whole, 0.0) * flow.mean_window * (1 - path.loss_rate)
