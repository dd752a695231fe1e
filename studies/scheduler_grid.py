"""A grid of schedulers and controls over 29 networks of two unlike paths, as arXiv 2511.14550 has one.

Of that work (Dimopoulos et al. 2025: 5 schedulers, 7 controls, 29 networks in Mininet) its abstract and summary are
known to us and not its networks: these are drawn. LLHD and C-MPBBR are left out, which there are none of here. Where it
says which are strong, that is held against the same grid here.

A pair's score is the part of both paths' capacity that a bulk transfer gets in its first 20 s, mean over the networks.
The best setting outside the grid is chosen on the same networks, and held against the grid's best pair on 29 others.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import mptcplab
import numpy as np
from mptcplab.analysis.statistics import estimate
from mptcplab.scenario import Scenario

from .runs import MPTCP_PAYLOAD_BYTES, PACKET_BYTES, say, show

NETWORKS: Final = 29
SEEDS: Final = 2
SECONDS: Final = 20
SCHEDULERS: Final = ("min-rtt", "blest", "ecf", "round-robin")
CONTROLS: Final = ("cubic", "lia", "olia", "balia", "wvegas", "bbr")
OTHER_SCHEDULERS: Final = ("linux", "otias", "sttf")
OTHER_CONTROLS: Final = ("cubic", "olia", "bbr")
_ALIKE: Final = 0.98
"""Of the best pair of a network: what has as much is as good."""

Setting = tuple[str, str]
"""A scheduler and a control."""


def network(number: int) -> tuple[str, float]:
    """The links of a network, and the capacity of both in Mbit/s as goodput.

    The first path has 10 to 60 Mbit/s and a round trip of 10 to 60 ms; the second has 1 to 1/10 of the rate, and 1 to
    10 times the round trip; two of three have a loss of 0.01 to 1 % on it. All are drawn evenly on a logarithmic scale.
    """
    draw = random.Random(number)

    def between(low: float, high: float) -> float:
        return low * math.exp(math.log(high / low) * draw.random())

    rate, rtt = between(10, 60), between(10, 60)
    second, far = rate / between(1, 10), rtt * between(1, 10)
    loss = between(0.01, 1) if draw.random() < 2 / 3 else 0.0
    links = "".join(
        f'[link.{name}]\nrate = "{of:.3f} Mbit/s"\ndelay = "{trip / 2:.3f} ms"\nqueue = "1 BDP"\n{more}'
        for name, of, trip, more in (("a", rate, rtt, ""), ("b", second, far, f'loss = "{loss:.4f} %"\n'))
    )
    return links, (rate + second) * MPTCP_PAYLOAD_BYTES / PACKET_BYTES


def scores(settings: Sequence[Setting], numbers: range, seed: int) -> Mapping[Setting, Sequence[float]]:
    """For each setting, by network, the part of the capacity that it gets, mean over the seeds from `seed` on."""
    found: dict[Setting, list[float]] = {each: [] for each in settings}
    for number in numbers:
        links, capacity_mbps = network(number)
        text = f'duration = "{SECONDS} s"\n{links}[connection.m]\npaths = ["a", "b"]\n[measure]\nsample = "never"\n'
        whole = Scenario.from_toml(text, "<study>")
        for scheduler, control in settings:
            asked = whole.with_({"connection.m.scheduler": scheduler, "connection.m.congestion": control})
            rows = mptcplab.run(asked, seed=seed, repeat=SEEDS).rows("connections")
            goodput_mbps = sum(row["goodput_bps"] for row in rows) / len(rows) / 1e6
            found[scheduler, control].append(goodput_mbps / capacity_mbps)
    return found


def best_of(found: Mapping[Setting, Sequence[float]]) -> Setting:
    """The setting with the highest mean."""
    return max(found, key=lambda each: float(np.mean(found[each])))


def rows(found: Mapping[Setting, Sequence[float]]) -> Iterator[Mapping[str, str]]:
    """A row for each control, a column for each scheduler."""
    for control in CONTROLS:
        means = [float(np.mean(found[scheduler, control])) for scheduler in SCHEDULERS]
        cells = {scheduler: f"{100 * mean:.1f} %" for scheduler, mean in zip(SCHEDULERS, means, strict=True)}
        yield {"control": control, **cells, "mean": f"{100 * float(np.mean(means)):.1f} %"}
    of_schedulers = [np.mean([found[scheduler, control] for control in CONTROLS]) for scheduler in SCHEDULERS]
    cells = {scheduler: f"{100 * mean:.1f} %" for scheduler, mean in zip(SCHEDULERS, of_schedulers, strict=True)}
    yield {"control": "mean", **cells, "mean": f"{100 * float(np.mean(of_schedulers)):.1f} %"}


def ranking(found: Mapping[Setting, Sequence[float]], place: int) -> str:
    """The schedulers (0) or the controls (1) by their mean, best first."""
    names = SCHEDULERS if place == 0 else CONTROLS
    mean = {name: float(np.mean([found[each] for each in found if each[place] == name])) for name in names}
    return ", ".join(sorted(names, key=lambda name: -mean[name]))


def held_out(grid: Setting, other: Setting) -> Iterator[Mapping[str, str]]:
    """Both on networks that neither was chosen on."""
    found = scores([grid, other], range(NETWORKS, 2 * NETWORKS), seed=100)
    for each in (grid, other):
        yield {"setting": " + ".join(each), "of the capacity": f"{100 * float(np.mean(found[each])):.1f} %"}
    ratios = [math.log(new / old) for new, old in zip(found[other], found[grid], strict=True)]
    known = estimate(np.array(ratios))
    assert known is not None, "there are networks"
    assert known.half is not None, "there are several"
    low, high = (100 * math.expm1(known.mean + sign * known.half) for sign in (-1, 1))
    better = sum(ratio > -math.log(_ALIKE) for ratio in ratios)
    worse = sum(ratio < math.log(_ALIKE) for ratio in ratios)
    yield {
        "setting": "the second against the first",
        "of the capacity": f"{100 * math.expm1(known.mean):+.1f} % ({low:+.1f} to {high:+.1f}); "
        f"better by 2 % on {better} networks, worse on {worse}",
    }


def main() -> None:
    """Run it."""
    pairs = [(scheduler, control) for control in CONTROLS for scheduler in SCHEDULERS]
    found = scores(pairs, range(NETWORKS), seed=1)
    show(f"Part of the capacity of two paths, mean over {NETWORKS} networks", rows(found))
    table = np.array([found[each] for each in pairs])
    as_good = (table >= _ALIKE * table.max(axis=0)).sum(axis=1)
    best = best_of(found)
    say(f"Controls by their mean: {ranking(found, 1)}. Schedulers: {ranking(found, 0)}.")
    say(
        f"Best pair: {' + '.join(best)}. It is within 2 % of a network's best on {as_good[pairs.index(best)]} of "
        f"{NETWORKS} networks; no pair is on more than {as_good.max()}."
    )
    others = [(scheduler, control) for scheduler in OTHER_SCHEDULERS for control in OTHER_CONTROLS]
    beyond = scores(others, range(NETWORKS), seed=1)
    show(
        f"The grid's best pair and the best setting outside it, on {NETWORKS} other networks",
        held_out(best, best_of(beyond)),
    )
