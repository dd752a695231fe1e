"""The closed forms against the rules themselves, played ACK by ACK with random losses.

Windows are large enough (losses of 0.2 to 0.8 %) that the fluctuation of a few segments costs little. The rules are
those of the table of congestion controls in the papers, written out anew.
"""

import random
from collections.abc import Callable

import numpy as np
import pytest
from mptcplab.models import steady_state as ss

Rule = Callable[[list[float], list[float], int], tuple[float, float]]


def reno(w: list[float], _rtt: list[float], r: int) -> tuple[float, float]:
    return 1 / w[r], w[r] / 2


def ewtcp(w: list[float], _rtt: list[float], r: int) -> tuple[float, float]:
    return 1 / len(w) ** 2 / w[r], w[r] / 2


def lia(w: list[float], rtt: list[float], r: int) -> tuple[float, float]:
    x = sum(a / t for a, t in zip(w, rtt, strict=True))
    return min(max(a / t**2 for a, t in zip(w, rtt, strict=True)) / x**2, 1 / w[r]), w[r] / 2


def balia(w: list[float], rtt: list[float], r: int) -> tuple[float, float]:
    x = [a / t for a, t in zip(w, rtt, strict=True)]
    beta = max(x) / x[r]
    return w[r] / rtt[r] ** 2 / sum(x) ** 2 * (1 + beta) / 2 * (4 + beta) / 5, w[r] / 2 * min(beta, 1.5)


def play(rule: Rule, p: list[float], rtt: list[float], acks: int, seed: int) -> np.ndarray:
    """Mean windows over time: ACKs come at rate w/rtt on each path, each a loss with probability p."""
    draw = random.Random(seed)
    w = [10.0] * len(p)
    area, time = np.zeros(len(p)), 0.0
    for step in range(acks):
        x = [a / t for a, t in zip(w, rtt, strict=True)]
        total = sum(x)
        if step > acks // 10:
            area += np.array(w) / total
            time += 1 / total
        pick = draw.random() * total
        r = 0
        while pick > x[r] and r < len(p) - 1:
            pick -= x[r]
            r += 1
        up, down = rule(w, rtt, r)
        w[r] = max(w[r] - down, 1.0) if draw.random() < p[r] else w[r] + up
    return area / time


@pytest.mark.parametrize(
    ("rule", "form", "p", "rtt"),
    [
        (reno, ss.uncoupled, [0.002, 0.004], [0.1, 0.1]),
        (ewtcp, ss.ewtcp, [0.002, 0.004], [0.1, 0.1]),
        (lia, ss.lia, [0.002, 0.004], [0.1, 0.1]),
        (lia, ss.lia, [0.002, 0.002, 0.004], [0.1, 0.1, 0.1]),
        (lia, ss.lia_capped, [0.008, 0.002], [0.02, 0.1]),
        (balia, ss.balia, [0.002, 0.002], [0.1, 0.1]),
        (balia, ss.balia, [0.002, 0.003], [0.1, 0.1]),
    ],
    ids=["reno", "ewtcp", "lia", "lia-3", "lia-capped", "balia-equal", "balia"],
)
def test_closed_form_is_the_mean_of_the_rule(
    rule: Rule, form: Callable[..., np.ndarray], p: list[float], rtt: list[float]
) -> None:
    mean, expected = play(rule, p, rtt, 300_000, 1), form(p, rtt)
    x, y = mean / np.array(rtt), expected / np.array(rtt)
    np.testing.assert_allclose(x / x.sum(), y / y.sum(), atol=0.06)
    # The balance of gain and loss fixes E[w²] = 2/p; under random losses the mean window is 1.31/√p, 7 % below √(2/p).
    # The coupled rules lose about as much again where their paths differ, because they divide by a total that moves:
    # Chauvenne 2017 §6.2.1 measures the same overestimate.
    low, high = (0.88, 1.0) if rule in (reno, ewtcp) else (0.80, 1.06)
    assert low < x.sum() / y.sum() < high
