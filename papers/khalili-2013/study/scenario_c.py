"""Scenario C: two access points, one of them shared with TCP users; figures 5, 11 and 12."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import altair as alt
import polars as pl
from mptcplab.models import khalili_2013 as theory
from mptcplab.models.checks import ParameterError
from mptcplab.reproduce import Claim, Context, Equality, Found, Number, Outcome, Ratio, at_least, below, every, within

from . import charts, networks
from .charts import OPTIMUM, Spot
from .grid import COUNTED, Grid, Law, Point, normalised, numbers
from .numbers import RTT_S, SEGMENTS_PER_MBIT, alike, less, times

_NONE: Final = (float("nan"), float("nan"), float("nan"))


def places(quick: bool) -> tuple[list[int], list[float]]:
    """N1 and C1 of the paper."""
    return ([10, 30], [1.0, 2.0]) if quick else ([5, 10, 20, 30], [1.0, 2.0])


def law(control: str, ratio: float, c1: float) -> Law:
    """LIA's fixed point, or the optimum.

    No numbers where probing fills a link.
    """
    try:
        rates = (theory.scenario_c_lia if control == "lia" else theory.scenario_c_optimum)(*numbers(ratio, c1))
    except ParameterError:
        return _NONE
    return normalised(rates, c1)


GRID: Final = Grid(
    networks.scenario_c,
    law,
    users=("multipath users", "single-path users (TCP)"),
    connections=("multi", "single"),
    links=("ap1", "ap2"),
    second_path="ap2",
    places=places,
)
_HIGHEST: Final = 1.6


def _analysis() -> alt.FacetChart:
    """Figure 5 (b): both kinds of users over C1/C2, N1 = N2."""
    spots = []
    for control in ("lia", OPTIMUM):
        for step in range(2, 61):
            c1 = step / 40
            found = law(control, 1, c1)
            if found is _NONE:
                continue
            for name, value in zip(GRID.users, found[:2], strict=True):
                spots.append(Spot(control, c1, value, column=name, calculated=True))
    return charts.panels(
        spots,
        ("lia", OPTIMUM),
        "C1/C2",
        "normalised throughput",
        x_domain=(0, 1.5),
        y_domain=(0, 3),
        width=220,
    )


def table(points: Sequence[Point], model: Sequence[Point]) -> pl.DataFrame:
    """Every number: simulated, by the engine `model`, by the closed forms."""
    calculated = {(each.control, each.n1, each.c1): each for each in model}
    rows = []
    for point in points:
        own = calculated[point.control, point.n1, point.c1]
        fixed = law("lia" if point.control == "lia" else OPTIMUM, point.ratio, point.c1)
        rows.append(
            {
                "control": charts.LABELS[point.control],
                "N1/N2": point.ratio,
                "C1/C2": point.c1,
                "multipath": point.users[0].text(),
                "multipath, engine model": own.users[0].mean,
                "multipath, closed form": fixed[0],
                "TCP": point.users[1].text(),
                "TCP, engine model": own.users[1].mean,
                "TCP, closed form": fixed[1],
                "closed form": "LIA's fixed point" if point.control == "lia" else OPTIMUM,
                "p1": point.losses[0].text(4),
                "p2": point.losses[1].text(4),
                "p2, closed form": fixed[2],
                "window on AP2, segments": point.second.text(2),
            }
        )
    return pl.DataFrame(rows)


def _p1_claims(context: Context, points: Sequence[Point]) -> Iterator[Claim]:
    for key in ("p1-1", "p1-2"):
        c1 = float(key[3:])
        found = [point.losses[0].mean for point in points if point.c1 == c1]
        mean, published = sum(found) / len(found), context.published[key]
        fixed = [
            2 / (c1 * law("lia", point.ratio, c1)[0] * SEGMENTS_PER_MBIT * RTT_S) ** 2
            for point in points
            if point.c1 == c1
        ]
        yield Claim(
            key,
            f"The first access point loses about {published:g} of the packets at C1 = {c1:g} Mbit/s",
            published,
            f"{mean:.4f} (fixed point {min(fixed):.4f} to {max(fixed):.4f})",
            Number(published, mean),
            "algorithm: the fixed point itself says so: multipath users with a share of AP2 have larger windows in "
            "all.",
        )


def figure_5(context: Context) -> Outcome:
    """LIA."""
    points = GRID.measure(context, ("lia",))
    model = GRID.measure(context, ("lia",), engine="model")
    before, _ = GRID.alone(context)
    # Fair: equal rates, in units of the single-path users' own.
    small = [step / 100 for step in range(5, 34)]
    pairs = [(c1 * law("lia", 1, c1)[0], law("lia", 1, c1)[1]) for c1 in small]
    unfair = max(abs(multi / single - 1) for multi, single in pairs)
    taken = 1 - law("lia", 1, 1.0)[1]
    above = [c1 * law("lia", 1, c1)[0] / law("lia", 1, c1)[1] for c1 in (0.34, 0.5, 1.0)]
    loses = {(point.n1, point.c1): 1 - point.users[1].mean / before.mean for point in points}
    ordered = [
        less(b.users[1], a.users[1])
        for c1 in dict.fromkeys(point.c1 for point in points)
        for own in [sorted((point for point in points if point.c1 == c1), key=lambda point: point.n1)]
        for a, b in pairwise(own)
    ]
    worse = [point.losses[1].mean / law(OPTIMUM, point.ratio, point.c1)[2] for point in points]
    claims = [
        *_p1_claims(context, points),
        Claim(
            "fair-below",
            "As long as C1 < C2/3 LIA gives multipath and single-path users the same (fixed point, N1 = N2)",
            "equal rates",
            f"equal within {100 * unfair:.1g} %",
            every(Equality(*pair, 0.0, 0.0) for pair in pairs),
        ),
        Claim(
            "most-above",
            "Above C2/3 multipath users have more than single-path users, and take most of AP2 (fixed point, N1 = N2)",
            "most of AP2's capacity",
            f"they have {above[0]:.2f}, {above[1]:.2f}, {above[2]:.2f} times as much at C1/C2 = 0.34, 0.5, 1; of AP2 "
            f"they take "
            f"{100 * (1 - law('lia', 1, 0.34)[1]):.0f}, {100 * (1 - law('lia', 1, 0.5)[1]):.0f}, {100 * taken:.0f} %",
            every(
                [below(1.0, each, 0.0, 0.0) for each in above],
                [at_least(1 - law("lia", 1, c1)[1], 0.5, 0.0, whole=1.0) for c1 in (0.34, 0.5, 1.0)],
            ),
            "work: more than single-path users, yes; but the paper's own polynomial has them take less than half of "
            "AP2 "
            "from C1/C2 = 0.6 on (30 % at 1), "
            "and the figure shows their total against C1, not their part of AP2.",
        ),
        Claim(
            "aggressive",
            "Where multipath users should leave AP2 alone they take from TCP users, the more the more they are",
            None,
            f"{100 * min(loses.values()):.0f} to {100 * max(loses.values()):.0f} % of the TCP users' throughput",
            every(ordered, [less(point.users[1], before) for point in points]),
            "unknown: not traced to a cause.",
        ),
        Claim(
            "congested",
            "LIA loses far more packets at AP2 than the optimum with probing cost would",
            None,
            f"{min(worse):.1f} to {max(worse):.1f} times as many",
            every(below(Found(1.0), each, far=True) for each in worse),
            "algorithm: at N1 = N2/2 there is little to tell apart: the fixed point has 1.3 times the optimum's loss "
            "there.",
        ),
    ]
    return Outcome(
        claims,
        tables=[("Scenario C with LIA", table(points, model))],
        figures=[
            (
                "Figure 5 (b): throughputs by analysis for N1 = N2: LIA's fixed point, and the optimum with probing "
                "cost.",
                _analysis(),
            ),
            (
                "Figure 5 (c): throughputs with LIA. Points: simulated; lines: LIA's fixed point, and the "
                "theoretical optimum with "
                f"probing cost. {COUNTED}",
                GRID.chart(points, ("lia", OPTIMUM), "users", highest=_HIGHEST, width=220),
            ),
            (
                "Figure 5 (d): loss probability p2 at AP2. Points: simulated; lines: as above.",
                GRID.chart(points, ("lia", OPTIMUM), "p2", highest=_HIGHEST, width=220),
            ),
        ],
        notes=[f"Without multipath users, TCP users have {before.text()} of C2."],
    )


def figure_11(context: Context) -> Outcome:
    """LIA and OLIA: throughputs."""
    points = GRID.measure(context, ("lia", "olia"))
    model = GRID.measure(context, ("lia", "olia"), engine="model")
    lia = {(point.n1, point.c1): point for point in points if point.control == "lia"}
    olia = {(point.n1, point.c1): point for point in points if point.control == "olia"}
    gains = [olia[key].users[1].mean / lia[key].users[1].mean for key in lia]
    best_gain = max(law(OPTIMUM, n1 / 10, c1)[1] / lia[n1, c1].users[1].mean for n1, c1 in lia)
    away = {
        c1: [law(OPTIMUM, p.ratio, c1)[1] - p.users[1].mean for p in olia.values() if p.c1 == c1] for c1 in (1.0, 2.0)
    }
    way = [
        (olia[key].users[1].mean - lia[key].users[1].mean)
        / (law(OPTIMUM, key[0] / 10, key[1])[1] - lia[key].users[1].mean)
        for key in lia
    ]
    second = [point.second_rate for point in olia.values()]
    why = (
        "algorithm: with C1 = C2 both access points lose nearly alike once OLIA has left AP2, so AP2 has the longer "
        "distance "
        "between losses now and "
        "then; it is then in B\\M (equation 4) and α adds half a segment a round trip until the next loss there. The "
        "fluid "
        "model has no such chance. With C1 = 2 C2 the paths differ more and OLIA stays away."
    )
    claims = [
        Claim(
            "type2-gain",
            "With OLIA TCP users have up to twice what they have with LIA",
            "2 times",
            f"up to {max(gains):.2f} times (optimum with probing cost {best_gain:.2f})",
            Ratio(context.published["type2-gain"], max(gains)),
            f"algorithm: the optimum with probing cost itself allows {best_gain:.2f} times what our LIA leaves. {why}",
        ),
        Claim(
            "one-packet",
            "With OLIA multipath users send only one packet a round trip over AP2",
            "1 packet",
            f"{min(second):.1f} to {max(second):.1f} packets a round trip",
            every(Number(1.0, each) for each in second),
            why,
        ),
        Claim(
            "near-optimum",
            "TCP users have with OLIA what the optimum with probing cost would leave them",
            None,
            f"{min(way):.0%} to {max(way):.0%} of the way from LIA to the optimum; within "
            f"{max(map(abs, away[1.0])):.3f} of C2 at C1/C2 = 1, "
            f"{max(map(abs, away[2.0])):.3f} at 2",
            every(alike(point.users[1], law(OPTIMUM, point.ratio, point.c1)[1]) for point in olia.values()),
            why,
        ),
    ]
    return Outcome(
        claims,
        tables=[("Scenario C", table(points, model))],
        figures=[
            (
                "Figure 11: throughputs with LIA and OLIA. Points: simulated; lines: LIA's fixed point, and the "
                "theoretical optimum "
                f"with probing cost. {COUNTED}",
                GRID.chart(points, ("lia", "olia", OPTIMUM), "users", highest=_HIGHEST, width=220),
            )
        ],
    )


def figure_12(context: Context) -> Outcome:
    """LIA and OLIA: losses."""
    points = GRID.measure(context, ("lia", "olia"))
    _, before = GRID.alone(context)
    most = {(point.control, point.c1): point.losses[1] for point in points if point.n1 == 30}
    rise = {place: loss.mean / before.mean for place, loss in most.items()}
    lia = [rise["lia", c1] for c1 in (1.0, 2.0)]
    law_rise = [law("lia", 3, c1)[2] * (SEGMENTS_PER_MBIT * RTT_S) ** 2 / 2 for c1 in (1.0, 2.0)]
    low, high = context.published["rise-lia-least"], context.published["rise-lia-most"]
    first = {(point.control, point.n1, point.c1): point.losses[0].mean for point in points}
    apart = [first["olia", n1, c1] / first["lia", n1, c1] - 1 for control, n1, c1 in first if control == "lia"]
    claims = [
        Claim(
            "rise-olia",
            "With OLIA p2 doubles as multipath users become three times as many as TCP users",
            "2 times",
            f"{rise['olia', 1.0]:.2f} and {rise['olia', 2.0]:.2f} times at C1/C2 = 1 and 2",
            every(times(context.published["rise-olia"], most["olia", c1], before) for c1 in (1.0, 2.0)),
            "algorithm: OLIA's window on AP2 is above one segment: see figure 11.",
        ),
        Claim(
            "rise-lia-least",
            "With LIA p2 rises 4- to 6-fold",
            "4 to 6 times",
            f"{lia[0]:.1f} and {lia[1]:.1f} times at C1/C2 = 1 and 2 (fixed point {law_rise[0]:.1f} and "
            f"{law_rise[1]:.1f})",
            every(within(each, low, high) for each in lia),
            f"algorithm: the fixed point itself gives {law_rise[0]:.1f} and {law_rise[1]:.1f}. The rest as in "
            f"scenario A "
            f"(figure 10): TCP users alone lose several packets of a "
            "window at once, and windows of 5 segments hold their rate at less loss than √2/√p says.",
            covers=("rise-lia-most",),
        ),
        Claim(
            "p1-same",
            "p1 is almost the same with LIA and OLIA",
            None,
            f"OLIA's is {100 * min(apart):+.0f} to {100 * max(apart):+.0f} % away",
            every(
                Equality(first["olia", n1, c1], first["lia", n1, c1]) for control, n1, c1 in first if control == "lia"
            ),
            "algorithm: it cannot be the same: with OLIA a multipath user's whole window is on AP1, with LIA a part "
            "is on "
            "AP2, and AP1's users then "
            "hold their rates at (1 + z²)² times less loss (fixed point; z² is the part that crosses over).",
        ),
    ]
    return Outcome(
        claims,
        figures=[
            (
                "Figure 12: loss probability p2 at AP2. Points: simulated; lines: LIA's fixed point, and the optimum "
                "with probing cost.",
                GRID.chart(points, ("lia", "olia", OPTIMUM), "p2", highest=_HIGHEST, width=220),
            )
        ],
        notes=[
            f"Without multipath users p2 is {before.text(4)}.",
            "The caption of the paper's figure calls p2 with OLIA 4 to 6 times lower than with LIA; its text gives "
            "that as LIA's rise over "
            "N1 = 0. Both cannot be read off a rise of 2 with OLIA; the text's is tested.",
        ],
    )
