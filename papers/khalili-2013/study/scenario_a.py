"""Scenario A: a server's link and a shared access point; figures 1, 9 and 10."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import polars as pl
from mptcplab.models import khalili_2013 as theory
from mptcplab.models.checks import ParameterError
from mptcplab.reproduce import Claim, Context, Equality, Found, Number, Outcome, Ratio, Share, below, every, within
from mptcplab.reproduce.context import Wanted

from . import charts, networks
from .charts import OPTIMUM
from .grid import COUNTED, Grid, Law, Point, normalised, numbers, seeds
from .numbers import RTT_S, SEGMENTS_PER_MBIT, alike, less, rate, times

LAW_C1: Final = (0.75, 1.0, 1.5)


def places(quick: bool) -> tuple[list[int], list[float]]:
    """N1 and C1 of the paper; a quick run has one C1."""
    return ([10, 30], [1.0]) if quick else ([10, 20, 30], list(LAW_C1))


def law(control: str, ratio: float, c1: float) -> Law | None:
    """LIA's fixed point, or the optimum with probing cost."""
    try:
        rates = (theory.scenario_a_lia if control == "lia" else theory.scenario_a_optimum)(*numbers(ratio, c1))
    except ParameterError:
        return None
    return normalised(rates, c1)


GRID: Final = Grid(
    networks.scenario_a,
    law,
    users=("type 1 (two paths)", "type 2 (TCP)"),
    connections=("type1", "type2"),
    links=("server", "shared"),
    second_path="public",
    places=places,
)
_HIGHEST: Final = 1.15


def table(points: Sequence[Point], model: Sequence[Point]) -> pl.DataFrame:
    """Every number: simulated, by the engine `model`, by the closed forms."""
    calculated = {(each.control, each.n1, each.c1): each for each in model}
    rows = []
    for point in points:
        own = calculated[point.control, point.n1, point.c1]
        fixed = law("lia" if point.control == "lia" else OPTIMUM, point.ratio, point.c1)
        assert fixed is not None, "the paper's grid leaves room for the probing"
        form = "LIA's fixed point" if point.control == "lia" else OPTIMUM
        rows.append(
            {
                "control": charts.LABELS[point.control],
                "N1/N2": point.ratio,
                "C1/C2": point.c1,
                "type 1": point.users[0].text(),
                "type 2": point.users[1].text(),
                "type 2, engine model": own.users[1].mean,
                "type 2, closed form": fixed[1],
                "closed form": form,
                "p1": point.losses[0].text(4),
                "p2": point.losses[1].text(4),
                "p2, engine model": own.losses[1].mean,
                "p2, closed form": fixed[2],
                "window on the second path, segments": point.second.text(2),
            }
        )
    return pl.DataFrame(rows)


def _losses(points: Sequence[Point], n1: int, before: float) -> dict[float, float]:
    """By C1, the part of their throughput that type-2 users lose."""
    return {point.c1: 1 - point.users[1].mean / before for point in points if point.n1 == n1}


def _p1_claims(context: Context, points: Sequence[Point]) -> Iterator[Claim]:
    for key in context.published.values:
        if not key.startswith("p1-"):
            continue
        c1 = float(key[3:])
        found = [point.losses[0].mean for point in points if point.c1 == c1 and point.control == "lia"]
        if not found:
            continue
        mean = sum(found) / len(found)
        published = context.published[key]
        fixed = 2 / (c1 * SEGMENTS_PER_MBIT * RTT_S) ** 2
        yield Claim(
            key,
            f"The server's link loses about {published:g} of the packets at C1 = {c1:g} Mbit/s, however many users "
            f"there are",
            published,
            f"{mean:.4f} (fixed point {fixed:.4f})",
            Number(published, mean),
            "algorithm: windows that grow by acknowledgments, one for every second segment, hold a rate at less loss "
            "than the fixed point has it, which counts segments; by the text alone they grow by bytes. A queue other "
            "than the testbed's changes the round-trip time, which enters squared.",
        )


def figure_1(context: Context) -> Outcome:
    """LIA."""
    points = GRID.measure(context, ("lia",))
    model = GRID.measure(context, ("lia",), engine="model")
    before, _ = GRID.alone(context)
    equal, triple = _losses(points, 10, before.mean), _losses(points, 30, before.mean)
    law_equal = {c1: 1 - (law("lia", 1, c1) or (0, 0))[1] for c1 in equal}
    law_triple = {c1: 1 - (law("lia", 3, c1) or (0, 0))[1] for c1 in triple}
    mean_equal, mean_triple = sum(equal.values()) / len(equal), sum(triple.values()) / len(triple)

    def percents(values: dict[float, float]) -> str:
        return ", ".join(f"{100 * value:.0f}" for value in values.values())

    low, high = context.published["type2-loss-triple-least"], context.published["type2-loss-triple-most"]
    cause = (
        "algorithm: the paper's own fixed point gives {law} % here, and that is what we find; the text reads its "
        "round numbers "
        "off the "
        "measurements of the testbed."
    )
    first = [point.users[0].mean for point in points]
    falls = every(
        less(b.users[1], a.users[1])
        for c1 in dict.fromkeys(point.c1 for point in points)
        for ordered in [[point for point in points if point.c1 == c1]]
        for a, b in pairwise(ordered)
    )
    second = ", ".join(f"{point.users[1].mean:.3f}" for point in points)
    away = [abs(point.users[1].mean - (law("lia", point.ratio, point.c1) or (0, 0))[1]) for point in points]
    worse = [point.losses[1].mean / (law(OPTIMUM, point.ratio, point.c1) or (0, 0, 1))[2] for point in points]
    claims = [
        Claim(
            "type2-loss-equal",
            "Where as many users have two paths as have one, LIA takes about 30 % of their throughput from the latter",
            "30 %",
            f"{100 * mean_equal:.0f} % ({percents(equal)} by C1; fixed point {percents(law_equal)})",
            Share(context.published["type2-loss-equal"], 100 * mean_equal, whole=100),
            cause.format(law=percents(law_equal)),
        ),
        Claim(
            "type2-loss-triple-least",
            "Where three times as many users have two paths, LIA takes 50 to 60 % of their throughput from those "
            "with one",
            "50 to 60 %",
            f"{100 * mean_triple:.0f} % ({percents(triple)} by C1; fixed point {percents(law_triple)})",
            within(100 * mean_triple, low, high, whole=100),
            cause.format(law=percents(law_triple)),
            covers=("type2-loss-triple-most",),
        ),
        *_p1_claims(context, points),
        Claim(
            "no-gain",
            "Type-1 users gain nothing: the server's capacity is what they have, however many they are",
            "1",
            f"{min(first):.3f} to {max(first):.3f} of C1",
            every(alike(point.users[0], 1.0) for point in points),
            _UNKNOWN,
        ),
        Claim(
            "falls",
            "Type-2 users have the less the more type-1 users there are",
            None,
            f"by C1 and N1 they have {second} of C2",
            falls,
            _UNKNOWN,
        ),
        Claim(
            "follows",
            "The fixed point predicts what type-2 users get",
            "same trend",
            f"within {max(away):.3f} of C2, {sum(away) / len(away):.3f} on average",
            every(alike(p.users[1], (law("lia", p.ratio, p.c1) or (0, 0))[1]) for p in points),
            _FLOOR,
        ),
        Claim(
            "congested",
            "LIA loses far more packets at the shared access point than the optimum with probing cost would",
            None,
            f"{min(worse):.1f} to {max(worse):.1f} times as many",
            every(below(Found(1.0), each, far=True) for each in worse),
            "algorithm: the optimum is a calculation whose users count segments, while ours count acknowledgments and "
            "hold a rate at less loss.",
        ),
    ]
    names = ("lia", OPTIMUM)
    return Outcome(
        claims,
        tables=[("Scenario A with LIA", table(points, model))],
        figures=[
            (
                "Figure 1 (b): throughputs with LIA. Points: simulated; lines: LIA's fixed point, and the "
                "theoretical optimum with "
                f"probing cost. {COUNTED}",
                GRID.chart(points, names, "users", highest=_HIGHEST),
            ),
            (
                "Figure 1 (c): loss probability p2 at the shared access point. Points: simulated; lines: as above.",
                GRID.chart(points, names, "p2", highest=_HIGHEST),
            ),
        ],
        notes=[f"Without type-1 users, type 2 has {before.text()} of C2."],
        not_covered={
            key: "Not in the quick design."
            for key in context.published.values
            if key.startswith("p1-") and not any(point.c1 == float(key[3:]) for point in points)
        },
    )


_FLOOR: Final = (
    "algorithm: the same trend everywhere. Where type-1 users are most their windows on the second path are at the "
    "least that a loss leaves, which the fixed point does not know: it has fractions of a segment there."
)


_UNKNOWN: Final = "unknown: not traced to a cause."


_LONGER: Final = "The same at C1 = C2 with equal propagation: the path with two queues then takes some 185 ms, not 150"


def _longer(context: Context, points: Sequence[Point]) -> pl.DataFrame:
    """What type 2 gets when all propagation is alike and the path with two queues is longer by one."""
    controls, users = ("lia", "olia"), (10, 30)
    wanted: list[Wanted] = [
        (
            {"control": control, "n1": n1},
            networks.as_ran(networks.scenario_a(control, n1, 1.0, quick=context.quick, longer=True), context),
            seed,
        )
        for control in controls
        for n1 in users
        for seed in seeds(context.quick)
    ]
    connections = context.run_many(wanted).connections
    alike = {(point.control, point.n1): point for point in points if point.c1 == 1}
    return pl.DataFrame(
        [
            {
                "control": charts.LABELS[control],
                "N1/N2": n1 / networks.N2,
                "type 2, equal round trips": alike[control, n1].users[1].text(),
                "type 2, equal propagation": rate(
                    connections.filter((pl.col("control") == control) & (pl.col("n1") == n1)), "type2"
                ).text(),
            }
            for control in controls
            for n1 in users
        ]
    )


_NEAR: Final = (
    "algorithm: OLIA's window on the second path is above the optimum's one segment (first table): it tells the "
    "better path by the longest of its last distances between losses, and chance makes the worse one look better "
    "now and then; α then adds half a segment a round trip until the next loss there. A longer second path makes "
    "that rarer, as the second table shows."
)


def figure_9(context: Context) -> Outcome:
    """LIA and OLIA: throughputs."""
    points = GRID.measure(context, ("lia", "olia"))
    model = GRID.measure(context, ("lia", "olia"), engine="model")
    lia = {(point.n1, point.c1): point for point in points if point.control == "lia"}
    olia = {(point.n1, point.c1): point for point in points if point.control == "olia"}
    gains = [olia[key].users[1].mean / lia[key].users[1].mean for key in lia]
    lost = [lia[key].users[0].mean - olia[key].users[0].mean for key in lia]
    away = [abs(point.users[1].mean - (law(OPTIMUM, point.ratio, point.c1) or (0, 0))[1]) for point in olia.values()]
    best = max((law(OPTIMUM, n1 / 10, c1) or (0, 0))[1] / lia[n1, c1].users[1].mean for n1, c1 in lia)
    claims = [
        Claim(
            "type2-gain",
            "With OLIA type-2 users have up to twice what they have with LIA",
            "2 times",
            f"up to {max(gains):.2f} times (optimum with probing cost {best:.2f})",
            Ratio(context.published["type2-gain"], max(gains)),
            f"algorithm: the optimum with probing cost itself allows {best:.2f} times what our LIA leaves: it takes "
            f"from "
            f"type 2 a little less "
            "than on the testbed (figure 1).",
        ),
        Claim(
            "type1-same",
            "Type-1 users have no less with OLIA than with LIA",
            None,
            f"at most {max(lost):+.3f} of C1 less",
            every(alike(olia[key].users[0], lia[key].users[0]) for key in lia),
            _UNKNOWN,
        ),
        Claim(
            "near-optimum",
            "Type-2 users have with OLIA what the optimum with probing cost would leave them",
            None,
            f"within {max(away):.3f} of C2, {sum(away) / len(away):.3f} on average",
            every(alike(p.users[1], (law(OPTIMUM, p.ratio, p.c1) or (0, 0))[1]) for p in olia.values()),
            _NEAR,
        ),
    ]
    return Outcome(
        claims,
        tables=[("Scenario A", table(points, model)), (_LONGER, _longer(context, points))],
        figures=[
            (
                "Figure 9: throughputs with LIA and OLIA. Points: simulated; lines: LIA's fixed point, and the "
                "theoretical optimum "
                f"with probing cost. {COUNTED}",
                GRID.chart(points, ("lia", "olia", OPTIMUM), "users", highest=_HIGHEST),
            )
        ],
    )


_RISE: Final = (
    "algorithm: the fixed point gives {law}. p2 counts lost packets, and two things bring the ends of the range "
    "together. TCP "
    "users "
    "alone lose several packets of one window at once, so more packets than losses to which windows answer: their p2 "
    "is a "
    "third above that of independent losses. And windows of 5 segments, as at the other end, spend much of their "
    "time in "
    "recovery and hold their rate at less loss (1.1/√p a round trip, not √2/√p)."
)


def figure_10(context: Context) -> Outcome:
    """LIA and OLIA: losses."""
    points = GRID.measure(context, ("lia", "olia"))
    _, before = GRID.alone(context)
    worst = {
        control: max((point.losses[1] for point in points if point.control == control), key=lambda each: each.mean)
        for control in ("lia", "olia")
    }
    rise = {control: found.mean / before.mean for control, found in worst.items()}
    law_rise = max((law("lia", point.ratio, point.c1) or (0, 0, 0))[2] for point in points) / (
        2 / (SEGMENTS_PER_MBIT * RTT_S) ** 2
    )
    best_rise = max((law(OPTIMUM, point.ratio, point.c1) or (0, 0, 0))[2] for point in points) / (
        2 / (SEGMENTS_PER_MBIT * RTT_S) ** 2
    )
    lia = {(point.n1, point.c1): point.losses[0].mean for point in points if point.control == "lia"}
    olia = {(point.n1, point.c1): point.losses[0].mean for point in points if point.control == "olia"}
    apart = [olia[key] / lia[key] - 1 for key in lia]
    claims = [
        Claim(
            "rise-olia",
            "With OLIA p2 rises at most 1.3-fold above what it is without type-1 users",
            "1.3 times",
            f"{rise['olia']:.2f} times (optimum with probing cost {best_rise:.2f})",
            times(context.published["rise-olia"], worst["olia"], before),
            f"algorithm: even the optimum with one probing segment a round trip has {best_rise:.2f} times at N1 = 3 "
            "N2 by the closed form. Less than that cannot be had with windows of one segment.",
        ),
        Claim(
            "rise-lia",
            "With LIA p2 rises 5-fold",
            "5 times",
            f"{rise['lia']:.2f} times (fixed point {law_rise:.1f})",
            times(context.published["rise-lia"], worst["lia"], before),
            _RISE.format(law=f"{law_rise:.1f}"),
        ),
        Claim(
            "p1-same",
            "p1 is almost the same with LIA and OLIA",
            None,
            f"OLIA's is {100 * min(apart):+.0f} to {100 * max(apart):+.0f} % away",
            every(Equality(olia[key], lia[key]) for key in lia),
            _UNKNOWN,
        ),
    ]
    return Outcome(
        claims,
        figures=[
            (
                "Figure 10: loss probability p2 at the shared access point. Points: simulated; lines: LIA's fixed "
                "point, and the optimum "
                "with probing cost.",
                GRID.chart(points, ("lia", "olia", OPTIMUM), "p2", highest=_HIGHEST),
            )
        ],
        notes=[f"Without type-1 users p2 is {before.text(4)}."],
    )
