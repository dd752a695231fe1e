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

import heapq
import math
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
    timeout_s: float = 0.0
    """What a timeout costs beyond its round; the paper has none. Only `transfer` heeds it."""

    def __post_init__(self) -> None:
        for name in ("initial_window", "initial_threshold", "window_limit", "duplicate_acks"):
            value = getattr(self, name)
            if value < 1:
                raise ParameterError(f"{name} = {value!r}: at least 1")
        if self.restart_window is not None and self.restart_window < 1:
            raise ParameterError(f"restart_window = {self.restart_window!r}: at least 1 segment")
        positive("segment_bytes", self.segment_bytes, "bytes")
        positive("segments_per_ack", self.segments_per_ack)
        if not (np.isfinite(self.timeout_s) and self.timeout_s >= 0):
            raise ParameterError(f"timeout_s = {self.timeout_s!r}: not negative")
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
        raise ParameterError("a connection needs at least one path")
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
    remaining_bytes: float,
    paths: Sequence[RoundPath],
    model: RoundModel | None = None,
    windows: Sequence[int] = (),
    thresholds: Sequence[int] = (),
) -> list[int]:
    """The paths worth using for what is left to send, by index, shortest RTT first (algorithm 1).

    Path i joins only if the paths before it cannot deliver everything within rtt_i: Σ_{j<i} C_j(rtt_i/rtt_j) is less
    than what remains, eq. 15. A fractional number of rounds counts the last one in proportion.

    Args:
        remaining_bytes: data left, positive.
        paths: the established paths.
        model: as for the round model.
        windows: present window of each path in segments; the initial one when not given.
        thresholds: present slow-start threshold of each path in segments; the initial one when not given.

    Raises:
        ParameterError: no path, nothing left to send, a window or a threshold below 1.
        LengthMismatchError: as many windows, and thresholds, as paths are needed.

    """
    positive("remaining_bytes", remaining_bytes, "bytes")
    if not paths:
        raise ParameterError("a connection needs at least one path")
    if windows and len(windows) != len(paths):
        raise LengthMismatchError(f"{len(windows)} windows but {len(paths)} paths: give one per path")
    if thresholds and len(thresholds) != len(paths):
        raise LengthMismatchError(f"{len(thresholds)} thresholds but {len(paths)} paths: give one per path")
    common = model or RoundModel()
    order = sorted(range(len(paths)), key=lambda i: (paths[i].rtt_s, i))
    for place in range(1, len(order)):
        slow = paths[order[place]].rtt_s
        carried = 0.0
        for j in order[:place]:
            # A timeout restarts from the window of a new connection, not from the present one.
            restart = common.initial_window if common.restart_window is None else common.restart_window
            start = replace(common, restart_window=restart)
            if windows:
                start = replace(start, initial_window=windows[j])
            if thresholds:
                start = replace(start, initial_threshold=thresholds[j])
            carried += _segments(paths[j], slow / paths[j].rtt_s, start) * common.segment_bytes
        if carried >= remaining_bytes:
            return order[:place]
    return order


@dataclass(frozen=True)
class Transfer:
    """A file over one or several paths, by the round model. Means over the draws; times since the connection's SYN."""

    receiver_s: float
    """When the last byte arrives."""
    sender_s: float
    """When the acknowledgment of everything is back at the sender."""
    segments: tuple[float, ...]
    """Sent on each path, what is lost counted."""

    @property
    def used(self) -> tuple[int, ...]:
        """The paths that carried something, by index."""
        return tuple(path for path, sent in enumerate(self.segments) if sent > 0)


def ready_times_s(rtts_s: Sequence[float], *, sender_opens: bool = True, at_once: bool = False) -> list[float]:
    """When each subflow may carry data, in seconds since the SYN of the first; Source: RFC 8684 §3.1, §3.2.

    The opener of a first subflow may send after a round trip, the other end half of one later. Joins begin when the
    opener has heard a DATA_ACK, after two; it may send on them after two more of their own (the fourth ACK), the other
    end after one and a half. ``at_once``: all subflows begin together, as in Dong's simulator.
    """
    wait = 1.0 if sender_opens else 1.5
    first = rtts_s[0] if len(rtts_s) else 0.0
    if at_once:
        return [wait * rtt for rtt in rtts_s]
    return [wait * first, *(2 * first + (2 if sender_opens else 1.5) * rtt for rtt in rtts_s[1:])]


def transfer(
    size_bytes: float,
    paths: Sequence[RoundPath],
    model: RoundModel | None = None,
    *,
    ready_s: Sequence[float] | None = None,
    select: bool = False,
    draws: int = 400,
) -> Transfer:
    """How long a file takes over all these paths: fastest first as min-rtt has it, or what DMPTCP selects of them.

    The rules of a round are the model's, but losses are drawn, always the same way, and the answer is the mean: how
    long a file takes is no function of how much is delivered on average. Three things the mean model leaves out, each
    a matter of how TCP works: a subflow sends its next window a round trip later, or when this one has left if that is
    later (eq. 3 adds both, but a window leaves while the acknowledgments of the one before come in); in slow start
    the segments before the first lost one still open the window before it is halved; and losses in the round after,
    sent before the first was known, are answered together with it. Whichever subflow is next sends again what was lost.

    Args:
        size_bytes: the file, positive.
        paths: the first opens the connection.
        model: as for the round model.
        ready_s: when each may carry data; `ready_times_s` of an opener that sends, when not given.
        select: algorithm 1 before each round, on what remains and the subflows that are ready.
        draws: how many times; one is enough without loss.

    Raises:
        ParameterError: no path, no bytes.
        LengthMismatchError: as many times as paths are needed.

    """
    positive("size_bytes", size_bytes, "bytes")
    if not paths:
        raise ParameterError("a connection needs at least one path")
    begins = ready_times_s([path.rtt_s for path in paths]) if ready_s is None else list(ready_s)
    if len(begins) != len(paths):
        raise LengthMismatchError(f"{len(begins)} times but {len(paths)} paths: give one per path")
    common = model or RoundModel()
    random = np.random.default_rng(1)
    lossy = any(path.loss_rate > 0 for path in paths)
    runs = [_drawn(size_bytes, paths, common, begins, random, select=select) for _ in range(draws if lossy else 1)]
    columns = list(zip(*(run.segments for run in runs), strict=True))
    return Transfer(
        sum(run.receiver_s for run in runs) / len(runs),
        sum(run.sender_s for run in runs) / len(runs),
        tuple(sum(column) / len(runs) for column in columns),
    )


def _drawn(
    size_bytes: float,
    paths: Sequence[RoundPath],
    model: RoundModel,
    begins: Sequence[float],
    random: np.random.Generator,
    *,
    select: bool,
) -> Transfer:
    """One transfer, round by round."""
    segment, rtts = model.segment_bytes, [path.rtt_s for path in paths]
    first = float(min(model.initial_window, model.window_limit))
    restart = float(model.initial_window if model.restart_window is None else model.restart_window)
    windows, thresholds = [first] * len(paths), [float(model.initial_threshold)] * len(paths)
    recovering = [False] * len(paths)
    left, sent = math.ceil(size_bytes / segment), [0] * len(paths)
    last = size_bytes - (left - 1) * segment
    losses: list[tuple[float, int]] = []
    turns = [(begin, rtt, index) for index, (begin, rtt) in enumerate(zip(begins, rtts, strict=True))]
    heapq.heapify(turns)
    receiver = sender = 0.0
    while left > 0 or losses:
        now, rtt, index = heapq.heappop(turns)
        while losses and losses[0][0] <= now:
            left += heapq.heappop(losses)[1]
        if left == 0:
            heapq.heappush(turns, (losses[0][0], rtt, index))
            continue
        path = paths[index]
        if select:
            ready = [place for place in range(len(paths)) if begins[place] <= now]
            present = [max(1, math.floor(windows[place])) for place in ready]
            chosen = choose_paths(left * segment, [paths[place] for place in ready], model, present)
            if index not in [ready[at] for at in chosen]:
                heapq.heappush(turns, (now + min(rtts), rtt, index))
                continue
        carried = min(max(1, math.floor(windows[index])), left)
        lost = int(random.binomial(carried, path.loss_rate)) if path.loss_rate > 0 else 0
        left, sent[index] = left - carried, sent[index] + carried
        # The file's last segment is short.
        size = (carried - 1) * segment + (last if left == 0 else segment)
        receiver = max(receiver, now + rtt / 2 + 8 * size / path.bandwidth_bps)
        back = now + rtt + 8 * (size + model.ack_bytes) / path.bandwidth_bps
        sender = max(sender, back)
        onward = max(rtt + model.wire_time_s(1, path), 8 * windows[index] * segment / path.bandwidth_bps)
        if lost == 0:
            if windows[index] < thresholds[index]:
                windows[index] *= 2
            else:
                windows[index] += min(lia_growth(windows, rtts) * windows[index], 1.0) if len(paths) > 1 else 1.0
            windows[index] = min(windows[index], float(model.window_limit))
            recovering[index] = False
        elif recovering[index] and carried - lost >= model.duplicate_acks:
            recovering[index] = False  # sent before the loss was known: one answer to both
            heapq.heappush(losses, (back, lost))
        else:
            recovering[index] = True
            timeout = carried - lost < model.duplicate_acks
            before = 0
            if windows[index] < thresholds[index]:
                # Slow start: what comes before the first lost segment is acknowledged and still opens the window.
                before = int(random.permutation(carried)[:lost].min())
            half = max(math.floor((windows[index] + before) / 2), 1)
            windows[index], thresholds[index] = (restart if timeout else float(half)), float(max(half, 2))
            wait = model.timeout_s if timeout else 0.0
            heapq.heappush(losses, (back + wait, lost))
            onward += wait
        heapq.heappush(turns, (now + onward, rtt, index))
    return Transfer(receiver, sender, tuple(float(count) for count in sent))


def _segments(path: RoundPath, rounds: float, model: RoundModel) -> float:
    # Rounds are whole when the ratio of RTTs is, whatever the last digit of the quotient says.
    whole = int(np.floor(rounds * (1 + 1e-12)))
    flow = after_rounds(path, whole, model)
    return flow.delivered_segments + max(rounds - whole, 0.0) * flow.mean_window * (1 - path.loss_rate)
