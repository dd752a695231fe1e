"""Scenario B: four providers, two of them bottlenecks; tables I and II, figures 4 and 17."""

from collections.abc import Iterator
from typing import Final

import altair as alt
import numpy as np
import polars as pl
from mptcplab.models import khalili_2013 as theory
from mptcplab.models.checks import ParameterError
from mptcplab.models.khalili_2013 import Rates
from mptcplab.reproduce import Claim, Context, Equality, Found, Outcome, Share, below, every
from mptcplab.reproduce.context import Wanted

from . import networks
from .charts import OPTIMUM, Spot
from .grid import seeds
from .numbers import RTT_S, SEGMENTS_PER_MBIT, Estimate, estimate, printed, rate

C_T: Final = 36.0
C_X: Final = 27.0
N: Final = networks.USERS_B
_USERS: Final = ("Blue users", "Red users")
_WHEN: Final = {False: "one path", True: "two paths"}


def _rates(control: str, c_x: float, rtt_s: float, *, upgraded: bool) -> Rates:
    """Closed forms, in segments/s."""
    x, t = c_x * SEGMENTS_PER_MBIT, C_T * SEGMENTS_PER_MBIT
    if control == OPTIMUM:
        return theory.scenario_b_optimum(x, t, N, rtt_s, upgraded=upgraded)
    return (theory.scenario_b_lia if upgraded else theory.scenario_b_single_path)(x, t, N, rtt_s)


def _users(control: str, c_x: float, rtt_s: float, *, upgraded: bool) -> tuple[float, float]:
    """Blue and Red, Mbit/s of one user."""
    rates = _rates(control, c_x, rtt_s, upgraded=upgraded)
    return sum(rates.first) / SEGMENTS_PER_MBIT, sum(rates.second) / SEGMENTS_PER_MBIT


Measured = tuple[Estimate, Estimate, Estimate]
"""Blue, Red and the aggregate in Mbit/s of application data, as iperf counts them."""


def measured(context: Context, control: str | dict[str, str]) -> tuple[dict[bool, Measured], Measured]:
    """By whether Red is upgraded, all round trips 150 ms; and upgraded with equal propagation."""
    cases = ((False, True), (True, False), (True, True))
    wanted: list[Wanted] = [
        (
            {"upgraded": upgraded, "longer": longer},
            networks.as_ran(
                networks.scenario_b(control, upgraded=upgraded, quick=context.quick, longer=longer), context
            ),
            seed,
        )
        for upgraded, longer in cases
        for seed in seeds(context.quick)
    ]
    connections = context.run_many(wanted).connections
    found = []
    for upgraded, longer in cases:
        rows = connections.filter((pl.col("upgraded") == upgraded) & (pl.col("longer") == longer))
        totals = rows.group_by("seed", maintain_order=True).agg(pl.col("goodput_bps").sum() / 1e6)["goodput_bps"]
        blue, red = (rate(rows, name, packets=False) for name in ("blue", "red"))
        found.append((blue, red, estimate(totals.to_list())))
    return {False: found[0], True: found[1]}, found[2]


def _table(context: Context, control: str) -> Outcome:
    found, longer = measured(context, control)
    wanted: list[Wanted] = [
        (
            {"upgraded": upgraded},
            networks.scenario_b(control, upgraded=upgraded, quick=context.quick, longer=not upgraded),
            1,
        )
        for upgraded in (False, True)
    ]
    model = context.run_many(wanted, engine="model").connections
    form = "lia" if control == "lia" else OPTIMUM
    rows = []
    for upgraded, when in _WHEN.items():
        own = model.filter(pl.col("upgraded") == upgraded)
        calculated = _users(form, C_X, RTT_S, upgraded=upgraded)
        suffix = "after" if upgraded else "before"
        published = [context.published[f"{name}-{suffix}"] for name in ("blue", "red", "aggregate")]
        for at, name in enumerate(("Blue user", "Red user", "aggregate")):
            by_model = [rate(own, each, packets=False).mean for each in ("blue", "red")]
            rows.append(
                {
                    "Red users have": when,
                    "rate": name,
                    "published, Mbit/s": published[at],
                    "found, Mbit/s": found[upgraded][at].text(2 if at < 2 else 1),
                    "with equal propagation": longer[at].text(2 if at < 2 else 1) if upgraded else None,
                    "engine model": by_model[at] if at < 2 else N * sum(by_model),
                    f"{'fixed point' if control == 'lia' else OPTIMUM}, packets": (
                        calculated[at] if at < 2 else N * sum(calculated)
                    ),
                }
            )
    claims = list(_rate_claims(context, found))
    loss = 100 * (1 - found[True][2].mean / found[False][2].mean)
    calculated_loss = 100 * (
        1 - sum(_users(form, C_X, RTT_S, upgraded=True)) / sum(_users(form, C_X, RTT_S, upgraded=False))
    )
    published_loss = context.published["aggregate-loss"]
    what = {"lia": "LIA", "olia": "OLIA"}[control]
    claims.append(
        Claim(
            "aggregate-loss",
            f"With {what} the upgrade of the Red users costs {published_loss:g} % of what all users have together",
            f"{published_loss:g} %",
            f"{loss:.1f} % ({'fixed point' if control == 'lia' else OPTIMUM} {calculated_loss:.1f} %; with equal "
            f"propagation {100 * (1 - longer[2].mean / found[False][2].mean):.1f} %)",
            Share(published_loss, loss, whole=100),
            _NOISY,
        )
    )
    if control == "lia":
        blue = 100 * (1 - found[True][0].mean / found[False][0].mean)
        claims.append(
            Claim(
                "blue-loss",
                "The upgrade costs Blue users 20 % of their rate, and brings Red users nothing",
                "20 %",
                f"{blue:.1f} %; Red users {100 * (found[True][1].mean / found[False][1].mean - 1):+.1f} %; with equal "
                f"propagation {100 * (1 - longer[0].mean / found[False][0].mean):.1f} %",
                every(
                    Share(context.published["blue-loss"], blue, whole=100),
                    Equality(found[True][1].mean, found[False][1].mean),
                ),
                f"setting: {_READINGS}",
            )
        )
        bound = context.published["cut-set"]
        packets = found[False][2].mean * 1500 / 1448
        claims.append(
            Claim(
                "near-cut-set",
                "Before the upgrade all users together are close to the cut-set bound of 63 Mbit/s",
                f"close to {bound:g} Mbit/s",
                f"{packets:.1f} Mbit/s of packets",
                Equality(packets, Found(bound)),
                "unknown: not traced to a cause.",
                covers=("cut-set",),
            )
        )
    return Outcome(
        claims,
        tables=[(f"Scenario B with {what}: application data, as iperf counts them", pl.DataFrame(rows))],
        notes=[
            "C_X = 27 and C_T = 36 Mbit/s, 15 Blue and 15 Red users. Packets of 1,500 bytes carry 1,448 bytes of "
            "data with TCP and 1,420 "
            "with Multipath TCP; the closed forms count packets, and the cut-set bound of 63 Mbit/s is one of packets.",
            _READINGS,
        ],
    )


_NOISY: Final = (
    "algorithm: OLIA tells the better path by the longest of its last distances between losses, which is a noisy "
    "measure, and keeps more on the worse path than the closed form's one segment a round trip. What the upgrade "
    "costs depends on how much longer the path with two queues is: the table has both readings."
)
_READINGS: Final = (
    "The paper says that round trips are 150 ms over all paths, and the closed forms assume so: the path through X "
    "and T, which has two queues, has its propagation shortened by one. It says too that propagation is the same "
    "everywhere; then that path is longer by a queue: the column beside. The verdicts are about the round trips "
    "that the text names."
)


def _rate_claims(context: Context, found: dict[bool, tuple[Estimate, Estimate, Estimate]]) -> Iterator[Claim]:
    for upgraded, suffix in ((False, "before"), (True, "after")):
        for name, each in zip(("blue", "red", "aggregate"), found[upgraded], strict=True):
            key = f"{name}-{suffix}"
            published = context.published[key]
            who = "All users together have" if name == "aggregate" else f"A {name.capitalize()} user has"
            yield Claim(
                key,
                f"{who} {published:g} Mbit/s {'after' if upgraded else 'before'} the upgrade",
                f"{published:g} Mbit/s",
                f"{each.text(2 if name != 'aggregate' else 1)} Mbit/s",
                printed(published, each),
                "work: printed with one decimal; the rest is the split between the two kinds of users.",
            )


def table_1(context: Context) -> Outcome:
    """LIA."""
    return _table(context, "lia")


def table_2(context: Context) -> Outcome:
    """OLIA."""
    return _table(context, "olia")


def _sweep() -> list[float]:
    return [step / 50 for step in range(10, 76)]


def _curves(control: str, rtt_s: float, column: str) -> Iterator[Spot]:
    for ratio in _sweep():
        for upgraded in (False, True):
            try:
                rates = _users(control, ratio * C_T, rtt_s, upgraded=upgraded)
            except ParameterError:  # probing alone fills X
                continue
            for name, value in zip(_USERS, rates, strict=True):
                label = f"{name}, Red with {_WHEN[upgraded]}"
                yield Spot(label, ratio, N * value / C_T, column=column, calculated=True)


def _chart(spots: list[Spot]) -> alt.FacetChart:
    """Users by colour, before and after the upgrade by dashes, as the paper has it."""
    frame = pl.DataFrame(
        [
            {
                "users": spot.what.split(",")[0],
                "Red users have": spot.what.rsplit(" with ", 1)[1],
                "x": spot.x,
                "y": spot.y,
                "column": spot.column,
            }
            for spot in spots
        ]
    )
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=1.8, clip=True)
        .encode(
            x=alt.X("x:Q", title="C_X/C_T", scale=alt.Scale(domain=(0.2, 1.5))),
            y=alt.Y("y:Q", title="normalised throughput", scale=alt.Scale(domain=(0, 1.6))),
            color=alt.Color(
                "users:N",
                scale=alt.Scale(domain=list(_USERS), range=["#4477AA", "#EE6677"]),
                legend=alt.Legend(title=None),
            ),
            strokeDash=alt.StrokeDash(
                "Red users have:N",
                scale=alt.Scale(domain=list(_WHEN.values()), range=[[5, 4], [1, 0]]),
                legend=alt.Legend(title="Red users have"),
            ),
        )
        .properties(width=280, height=220)
    )
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight="bold")
    columns = list(dict.fromkeys(spot.column for spot in spots))
    chart: alt.FacetChart = lines.facet(column=alt.Column("column:N", header=header, sort=columns))
    return chart


def _blue_loss(control: str, ratio: float) -> float:
    before, after = (_users(control, ratio * C_T, RTT_S, upgraded=upgraded)[0] for upgraded in (False, True))
    return 100 * (1 - after / before)


def figure_4(context: Context) -> Outcome:
    """By analysis."""
    lia = _blue_loss("lia", 0.75)
    near = np.array([_blue_loss("lia", ratio) for ratio in np.linspace(0.7, 0.8, 21)])
    best = max(_blue_loss(OPTIMUM, ratio) for ratio in np.linspace(0.7, 0.8, 21))
    losers = [
        ratio
        for ratio in _sweep()
        for before, after in [[_users("lia", ratio * C_T, RTT_S, upgraded=upgraded) for upgraded in (False, True)]]
        if any(b >= a for b, a in zip(after, before, strict=True))
    ]
    spots = [*_curves("lia", RTT_S, "(a) LIA"), *_curves(OPTIMUM, RTT_S, f"(b) {OPTIMUM}")]
    return Outcome(
        [
            Claim(
                "blue-loss-lia",
                "At C_X/C_T of about 0.75 the upgrade costs Blue users up to 21 % with LIA",
                "up to 21 %",
                f"{lia:.1f} % at 0.75, up to {near.max():.1f} % between 0.7 and 0.8",
                Share(context.published["blue-loss-lia"], float(near.max()), whole=100),
            ),
            Claim(
                "blue-loss-optimum",
                "There it costs them about 3 % with the optimum with probing cost",
                "about 3 %",
                f"{_blue_loss(OPTIMUM, 0.75):.1f} % at 0.75, up to {best:.1f} % between 0.7 and 0.8",
                Share(context.published["blue-loss-optimum"], best, whole=100),
                "algorithm: equations 11 and 13 give it: half a segment a round trip of what a user has.",
            ),
            Claim(
                "everybody",
                "Whatever C_X/C_T, the upgrade with LIA costs both kinds of users",
                None,
                f"both lose at every C_X/C_T from {_sweep()[0]:g} to {_sweep()[-1]:g}"
                if not losers
                else f"one of them does not lose at C_X/C_T from {min(losers):g} to {max(losers):g}",
                Share(1.0, 1 - len(losers) / len(_sweep())),
                "work: by the closed forms as corrected for their misprints (models.khalili_2013).",
            ),
        ],
        figures=[
            (
                "Figure 4: 15 times a user's rate over C_T, by analysis (round trips of 150 ms, C_T = 36 Mbit/s, 15 "
                "Blue and 15 Red users). "
                "Dashed: before the upgrade; solid: after.",
                _chart(spots),
            )
        ],
    )


def figure_17(_: Context) -> Outcome:
    """By analysis."""
    rtts = (0.025, 0.15)
    spots = [spot for rtt in rtts for spot in _curves(OPTIMUM, rtt, f"round trips of {rtt * 1e3:g} ms")]
    rows = []
    lost = []
    for rtt in rtts:
        totals = [N * sum(_users(OPTIMUM, C_X, rtt, upgraded=upgraded)) for upgraded in (False, True)]
        lost.append(totals[0] - totals[1])
        rows.append(
            {
                "round trip, ms": rtt * 1e3,
                "aggregate before, Mbit/s": totals[0],
                "after, Mbit/s": totals[1],
                "lost, Mbit/s": lost[-1],
                "N MSS/rtt, Mbit/s": N * 1500 * 8 / rtt / 1e6,
                "lost, %": 100 * lost[-1] / totals[0],
            }
        )
    return Outcome(
        [
            Claim(
                "rtt",
                "The lower the round-trip time, the more the upgrade costs even an optimum: N segments a round trip",
                None,
                f"{lost[0]:.2f} Mbit/s at {rtts[0] * 1e3:g} ms, {lost[1]:.2f} Mbit/s at {rtts[1] * 1e3:g} ms",
                every(below(lost[1], lost[0], far=True), below(0.0, lost[1])),
                "unknown: not traced to a cause.",
            )
        ],
        tables=[
            ("C_X = 27 and C_T = 36 Mbit/s, 15 Blue and 15 Red users, segments of 1,500 bytes", pl.DataFrame(rows))
        ],
        figures=[
            (
                "Figure 17: the optimum with probing cost for two round-trip times. Dashed: before the upgrade; "
                "solid: after.",
                _chart(spots),
            )
        ],
        notes=[
            "The text names no round-trip times for this figure; 25 and 150 ms are ours, 150 ms is that of figure 4."
        ],
    )
