"""Windows of each multipath control in the steady state, from the loss rate and RTT of its paths.

Every function takes ``p`` (loss rates) and ``rtt_s`` (seconds) of shape (n,) for one connection of n paths or (m, n)
for m of them, and returns the windows in segments, same shape; a rate is window / RTT. ``b`` is the number of segments
one ACK acknowledges, so that a path sees x/b ACKs per second. Losses are few: 1 − p ≈ 1, as in all these papers.
Timeouts and the floor of one segment are left out: windows below about 4 segments are optimistic.

All raise LossOutOfRangeError, RttError, LengthMismatchError and ParameterError (see `checks`).
"""

import numpy as np
import numpy.typing as npt

from .checks import Array, ParameterError, paths, positive, segments_per_ack

TIE_TOLERANCE = 1e-9
"""Relative difference below which two paths count as equally good."""


def _tcp(p: Array, b: float) -> Array:
    return np.asarray(np.sqrt(2 / (segments_per_ack(b) * p)))


def uncoupled(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0) -> Array:
    """A TCP of its own on each path: w_r = √(2/(b p_r))."""
    loss, _ = paths(p, rtt_s)
    return _tcp(loss, b)


def ewtcp(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0, a: float | None = None) -> Array:
    """Equally weighted TCP: an increase of a/w_r per ACK gives √a of TCP's window on each path.

    ``a`` is 1/n² when not given. Source: Singh 2012 ch. II (a = D² scales the rate by D).
    """
    loss, _ = paths(p, rtt_s)
    weight = 1 / loss.shape[-1] if a is None else float(np.sqrt(positive("a", a)))
    return weight * _tcp(loss, b)


def lia(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0) -> Array:
    """LIA without its cap of 1/w_r per ACK: windows inverse to the losses, in total the rate of TCP on the best path.

    Exact when the RTTs are equal; `lia_capped` keeps the cap. Source: Khalili 2013 eq. 2 = Chauvenne 2017 eq. 6.6.
    Two slips in the thesis: its hypothesis 1 makes a/w_total the smaller term, while §6.1.5 prints a/w_total ≥ 1/w_i;
    and the last line of its appendix B has RTT_1 under the root, where eq. 6.5 has it rightly outside.
    """
    return mppert(p, rtt_s, b, k=0.0, beta=0.5)


def lia_capped(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0) -> Array:
    """LIA with min(α/w_total, 1/w_r) kept: the fixed point that Chauvenne 2017 §6.1.5 leaves open. See `mppert_capped`.

    The cap never changes the total, the rate of TCP on the best path; it takes from a path with few losses and a long
    RTT, whose window would exceed a TCP's, and gives to the others.
    """
    return mppert_capped(p, rtt_s, b, k=0.0, beta=0.5)


def _mppert_parts(
    p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float, k: float, alpha: float, beta: float
) -> tuple[Array, Array, Array]:
    """RTTs, a lone flow's windows, and those raised to 2/(k+1)."""
    loss, rtt = paths(p, rtt_s)
    if not -1 < k <= 1:
        raise ParameterError(f"k = {k!r}: MPPERT takes -1 < k <= 1 (Singh 2012 ch. III B); 0 is LIA's share of traffic")
    if not 0 < beta < 1:
        raise ParameterError(f"beta = {beta!r}: the decrease is a fraction of the window, inside (0, 1)")
    gain = positive("alpha", alpha) / (segments_per_ack(b) * beta)
    alone = np.sqrt(gain / loss)
    split = gain / loss if k == 0 else alone ** (2 / (k + 1))
    return rtt, alone, split


def mppert(
    p: npt.ArrayLike,
    rtt_s: npt.ArrayLike,
    b: float = 1.0,
    k: float = 0.0,
    alpha: float = 1.0,
    beta: float = 0.5,
) -> Array:
    """Multipath PERT without its cap: w_r = a^{1/(k+1)} W_r^{2/(k+1)}, W_r = √(α/(bβp_r)) a lone PERT's window.

    ``p`` counts early responses and losses alike. ``k`` in (−1, 1]: at 1 the split of uncoupled flows, at 0 LIA's,
    towards −1 only the best path. Source: Singh 2012 eq. 3.4–3.6; eq. 3.6 makes the total Σ w_r/rtt_r = max W_r/rtt_r.
    """
    rtt, alone, split = _mppert_parts(p, rtt_s, b, k, alpha, beta)
    # s = a^{1/(k+1)} follows from the total, so that eq. 3.6 need not be iterated.
    scale = (alone / rtt).max(axis=-1) / (split / rtt).sum(axis=-1)
    return np.asarray(split * scale[..., None])


def mppert_capped(
    p: npt.ArrayLike,
    rtt_s: npt.ArrayLike,
    b: float = 1.0,
    k: float = 0.0,
    alpha: float = 1.0,
    beta: float = 0.5,
) -> Array:
    """Multipath PERT (LIA at k = 0) with min(aα/w_r^k, α/w_r) kept: w_r = min(s·W_r^{2/(k+1)}, W_r), s = a^{1/(k+1)}.

    Its fixed point in closed form. Let X = Σ w_r/rtt_r, so that eq. 3.6 reads a·X² = max w_r^{k+1}/rtt_r². A path j
    that attains the maximum is not capped: with w_j = W_j, a = W_j^{k+1}/(rtt_j X)² ≤ W_j^{k−1}, since X ≥ W_j/rtt_j,
    and the cap needs a > W_j^{k−1}. So the maximum is that of a·W_r²/rtt_r² over uncapped paths, and X = max W_r/rtt_r
    over them; the best path of all is among them, for if it were capped X would exceed every W_r/rtt_r. Hence X is the
    best lone flow's rate, cap or no cap, and s follows from Σ min(s·W_r^{2/(k+1)}, W_r)/rtt_r = X, which rises in s.
    """
    rtt, alone, split = _mppert_parts(p, rtt_s, b, k, alpha, beta)
    total = (alone / rtt).max(axis=-1)
    capped = np.zeros(alone.shape, dtype=np.bool_)
    if k < 1:  # at k = 1 eq. 3.6 gives a <= 1: the cap cannot bind
        for j in range(alone.shape[-1]):
            s = (alone[..., j] / split[..., j])[..., None]
            reached = (np.minimum(split * s, alone) / rtt).sum(axis=-1)
            # A path on its breakpoint exactly is the same capped or not: rounding may decide.
            capped[..., j] = reached < total * (1 - 1e-14)
    left = total - np.where(capped, alone / rtt, 0).sum(axis=-1)
    scale = left / np.where(capped, 0, split / rtt).sum(axis=-1)
    return np.asarray(np.where(capped, alone, split * scale[..., None]))


def pert(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0, alpha: float = 1.0, beta: float = 0.5) -> Array:
    """A PERT of its own on each path: W_r = √(α/(bβp_r)), p early responses and losses. Source: Singh 2012 eq. 3.3."""
    return _mppert_parts(p, rtt_s, b, 1.0, alpha, beta)[1]


def epsilon(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0, epsilon: float = 1.0) -> Array:
    """The ε-family: w_r ∝ p_r^(−1/ε), from fully coupled at 0 over LIA at 1 to uncoupled at 2.

    Increase per ACK a w_r^(1−ε)/w_total^(2−ε), decrease w_r/2. Up to ε = 1 the factor is the one that makes the total
    the rate of TCP on the best path, a = w_total^(2−ε) max(w_r^ε/rtt_r²)/(Σ w_r/rtt_r)², LIA's at ε = 1; from there its
    power 2 − ε, which is 1 at ε = 2: the total rises to that of a TCP on each path. MPPERT's k is ε − 1. At ε = 0 the
    limit: the least lossy paths, equally. Source: Khalili 2013 §I; the form of the increase is Wischik 2009's.
    """
    loss, rtt = paths(p, rtt_s)
    if not 0 <= epsilon <= 2:
        raise ParameterError(f"epsilon = {epsilon!r}: expected 0 (fully coupled) to 2 (uncoupled)")
    least = loss.min(axis=-1, keepdims=True)
    powers = least / loss  # u^ε of the windows u relative to the largest
    split = np.where(_best(1 / loss), 1.0, 0.0) if epsilon == 0 else powers ** (1 / epsilon)
    total = split.sum(axis=-1)
    goal = total ** (2 - epsilon) * (powers / rtt**2).max(axis=-1) / (split / rtt).sum(axis=-1) ** 2
    gain = goal ** min(1.0, 2 - epsilon)
    scale = _tcp(least[..., 0], b) * np.sqrt(gain / total ** (2 - epsilon))
    return np.asarray(split * scale[..., None])


def _best(quality: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(quality >= quality.max(axis=-1, keepdims=True) * (1 - TIE_TOLERANCE))


def olia(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0) -> Array:
    """OLIA: only the best paths, those of largest √(2/p_r)/rtt_r, in total that rate.

    Theorem 1 leaves the split among equally good paths open; the α term drives their windows together (eq. 6), so they
    are made equal. Real windows stay at 1 segment on the other paths: the probing cost. Source: Khalili 2013 theorem 1.
    """
    loss, rtt = paths(p, rtt_s)
    quality = _tcp(loss, b) / rtt
    best = _best(quality)
    total = quality.max(axis=-1)
    return np.asarray(np.where(best, (total / np.where(best, 1 / rtt, 0).sum(axis=-1))[..., None], 0.0))


def coupled(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0) -> Array:
    """The fully coupled control: w_total = √(2/(b p_min)), all of it on the paths with the fewest losses, equally.

    RTTs play no part. Source: Singh 2012 ch. II; Kelly & Voice 2005.
    """
    loss, _ = paths(p, rtt_s)
    best = _best(1 / loss)
    total = _tcp(loss.min(axis=-1), b) / best.sum(axis=-1)
    return np.asarray(np.where(best, total[..., None], 0.0))


def balia(p: npt.ArrayLike, rtt_s: npt.ArrayLike, b: float = 1.0, decrease: str = "half") -> Array:
    """BALIA: the best path has β = 1, another β_r = max x/x_r with p_r rtt_r² / min(p rtt²) = (1+β_r)(4+β_r)/10.

    In total the rate of TCP on the best path. Table 2.1 of Chauvenne 2017 (Peng 2016) cuts a window by
    w_r/2·min(β_r, 1.5). Put into the balance, that factor divides the right side by min(β_r, 1.5): the balance then
    falls between β = 1 and 1.5, equal paths are an unstable fixed point, and the stable one is β = 1.65. Real windows
    jump between the two sides of it and their mean follows the balance with a plain half (docs/models/steady-state.md
    has the figures), which is therefore the default. ``decrease="algorithm"`` gives the stable root of the full rule
    for all paths but the best; paths as good as the best keep β = 1.
    """
    loss, rtt = paths(p, rtt_s)
    if decrease not in ("half", "algorithm"):
        raise ParameterError(f"decrease = {decrease!r}: expected 'half' or 'algorithm'")
    cost = loss * rtt**2
    ratio = cost / cost.min(axis=-1, keepdims=True)
    beta = (np.sqrt(9 + (40 if decrease == "half" else 60) * ratio) - 5) / 2
    share = np.where(ratio <= 1 + TIE_TOLERANCE, 1.0, 1 / beta)
    total = (_tcp(loss, b) / rtt).max(axis=-1)
    return np.asarray(share * rtt * (total / share.sum(axis=-1))[..., None])
