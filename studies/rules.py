"""The rules alone, played segment by segment: independent losses, no recovery, no queue, no timers.

What lies between the closed forms and the simulator. A closed form balances mean increase against mean decrease at one
window, but windows swing, and with random losses they swing irregularly: a lone Reno has 1.31/√p then, not the √2/√p
of the balance nor the 1.22/√p of a regular saw-tooth. Here the windows swing as they do, and nothing else of a
transport is present. So what this differs by from a closed form is the closed form's simplification, and what the
simulator differs by from this is the transport: recovery, delayed ACKs, timeouts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from mptcplab.models.checks import Array


@dataclass(frozen=True)
class State:
    """Windows of many independent connections: arrays of shape (connections, paths)."""

    w: Array
    rtt_s: Array
    distance: Array
    """OLIA's ℓ in segments."""


Rule = Callable[[State], Array]
"""Increase per segment acknowledged on each path, shape (connections, paths)."""


def reno(s: State) -> Array:
    """1/w_r."""
    return 1 / s.w


def lia(s: State) -> Array:
    """RFC 6356: min(max_i(w_i/rtt_i²)/(Σ w_i/rtt_i)², 1/w_r)."""
    coupled = (s.w / s.rtt_s**2).max(axis=1) / (s.w / s.rtt_s).sum(axis=1) ** 2
    return np.asarray(np.minimum(coupled[:, None], 1 / s.w))


def olia(s: State) -> Array:
    """Khalili 2013 equations 5 and 6, not above slow start's one segment."""
    paths = s.w.shape[1]
    merit = s.distance / s.rtt_s**2
    largest = s.w >= s.w.max(axis=1, keepdims=True)
    best_only = (merit >= merit.max(axis=1, keepdims=True)) & ~largest
    count = best_only.sum(axis=1, keepdims=True)
    share = np.where(best_only, 1 / np.maximum(count, 1), np.where(largest, -1 / largest.sum(axis=1, keepdims=True), 0))
    alpha = np.where(count > 0, share / paths, 0)
    first = s.w / s.rtt_s**2 / ((s.w / s.rtt_s).sum(axis=1) ** 2)[:, None]
    return np.asarray(np.minimum(first + alpha / s.w, 1))


@dataclass(frozen=True)
class Played:
    """What came of it."""

    rates: Array
    """Segments/s that arrive, by path."""
    windows: Array
    """Time-weighted mean windows."""
    uneven: float
    """Part of the time in which the first path has under 20 or over 80 % of the windows."""


def play(
    rule: Rule,
    losses: Sequence[float],
    rtts_s: Sequence[float],
    *,
    floor: float = 2.0,
    connections: int = 400,
    steps: int = 6000,
    seed: int = 1,
) -> Played:
    """Play ``rule`` on paths with these loss rates and RTTs; the first sixth of the steps is left out.

    A step is one segment of each connection, on a path drawn in proportion to the rates w/rtt. ``floor`` is the window
    that a loss leaves at least.
    """
    draw = np.random.default_rng(seed)
    p, rtt = np.asarray(losses), np.asarray(rtts_s)
    shape = (connections, len(p))
    w = np.tile(1 / np.sqrt(p), (connections, 1))
    between, since = np.zeros(shape), np.zeros(shape)
    sent, window_time, uneven, elapsed = np.zeros(shape), np.zeros(shape), 0.0, np.zeros(connections)
    every = np.arange(connections)
    for step in range(steps):
        rate = w / rtt
        total = rate.sum(axis=1)
        edges = np.cumsum(rate / total[:, None], axis=1)
        r = (draw.random(connections)[:, None] > edges[:, :-1]).sum(axis=1)
        lost = draw.random(connections) < p[r]
        if step >= steps // 6:
            share = w[:, 0] / w.sum(axis=1)
            sent[every, r] += ~lost
            window_time += w / total[:, None]
            elapsed += 1 / total
            uneven += float((((share < 0.2) | (share > 0.8)) / total).sum())
        gain = rule(State(w, rtt, np.maximum(between, since)))
        now = w[every, r]
        w[every, r] = np.where(lost, np.maximum(now / 2, floor), np.maximum(now + gain[every, r], 1.0))
        since[every, r] += 1
        between[every, r] = np.where(lost, since[every, r], between[every, r])
        since[every, r] = np.where(lost, 0, since[every, r])
    time = elapsed.sum()
    return Played(sent.sum(axis=0) / time, window_time.sum(axis=0) / time, uneven / time)


def random_loss_constant() -> float:
    """C in a rate of C/(rtt·√p) of a halving TCP with independent losses and one segment more a round trip: 1.3098.

    Mathis 1997 table 1 ("random losses", an increase for every segment) has it as 1.31, from Ott, Kemperman and Mathis
    1996. In closed form: with y = w²/2, y grows by one per segment and a loss leaves y/4, so y at a loss is p⁻¹·Y,
    Y = Σ 4⁻ᵏE_k with E_k independent exponential. A cycle of 1/p segments lasts w/2 round trips: C = √2/E√Y. Y is a
    sum of exponentials of the distinct rates 4ᵏ, so E√Y = Γ(3/2) Σ_k 2⁻ᵏ Π_{j≠k} 1/(1 − 4^(k−j)).
    """
    terms = 40
    total = 0.0
    for k in range(terms):
        weight = math.prod(1 / (1 - 4.0 ** (k - j)) for j in range(terms) if j != k)
        total += weight * 2.0**-k
    return math.sqrt(2) / (math.gamma(1.5) * total)


@lru_cache
def cubic_constant(
    *, random: bool, fast_convergence: bool = True, flows: int = 2000, cycles: int = 120, seed: int = 1
) -> float:
    """C in a mean window of C·(rtt/p)^(3/4) of CUBIC alone (RFC 9438), without its Reno-friendly region.

    With losses 1/p segments apart exactly it is [0.4·3.7/(4·0.3)]^(1/4) = 1.054 (RFC 9438 §5.1, equation 6). With
    independent losses it is played here epoch by epoch: the window is integrated in closed form, and the time at which
    it has sent what a draw allows is found by bisection.
    """
    c, beta = 0.4, 0.7
    draw = np.random.default_rng(seed)
    # In units of rtt = p = 1 the mean window is C. The plateau with regular losses, (3 + β)/4 of which is the mean.
    plateau = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * 4 / (3 + beta)
    start, w_max = np.full(flows, beta * plateau), np.full(flows, plateau)
    sent = time = 0.0
    for cycle in range(cycles):
        k = np.cbrt(np.maximum(w_max - start, 0) / c)
        segments = draw.exponential(1.0, flows) if random else np.ones(flows)
        low, high = np.zeros(flows), np.full(flows, 100.0)
        for _ in range(60):
            middle = (low + high) / 2
            over = c / 4 * ((middle - k) ** 4 - k**4) + w_max * middle > segments
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        last = c * (high - k) ** 3 + w_max
        if cycle >= cycles // 6:
            sent += float(segments.sum())
            time += float(high.sum())
        below = last < w_max * (1 - 1e-6)
        w_max = np.where(below & fast_convergence, last * (1 + beta) / 2, last)
        start = beta * last
    return sent / time
