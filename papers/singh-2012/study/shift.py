"""Figures 4 to 7 and 20 to 23: how far, how fast and how steadily traffic moves to the better path."""

from collections.abc import Callable
from functools import partial
from typing import Final

import altair as alt
import numpy as np
import polars as pl
from mptcplab import analysis, metrics
from mptcplab.models.predict import predict
from mptcplab.reproduce import (
    Claim,
    Context,
    Equality,
    Found,
    Outcome,
    Share,
    at_most,
    below,
    every,
    median_of,
    steps,
)

from . import networks
from .numbers import Asked, Estimate, across, by_seed, estimate, less, number, rate, run, share, truth

KS: Final = (1.0, 0.0, -0.5)
_COUNTS: Final = (40, 30, 20, 10)
LOSSES: Final = {"equal": (0.002, 0.002), "unequal": (0.001, 0.004)}
"""Figure 4 does not print its losses: some that give windows of 10 to 60 segments."""


def _name(k: float) -> str:
    return f"k = {k:g}"


def _lossy(k: float, losses: tuple[float, float], seconds: int) -> dict[str, object]:
    """Links that never fill and lose at random; α stays 1, as it does where the queue says that all is well."""
    links = {
        name: {"rate": "1 Gbit/s", "delay": "20 ms", "queue": "10000 packets", "down": {"loss": f"{100 * loss:g} %"}}
        for name, loss in zip(("one", "two"), losses, strict=True)
    }
    flow = networks.multi(("one", "two"), networks.mppert(k, alpha_max=1.0), start="0 s")
    return networks.scenario(links, {"multi": flow}, (20, seconds), "100 ms")


def figure_4(context: Context) -> Outcome:
    """Windows under random loss."""
    seconds = 100 if context.quick else 300
    wanted: list[Asked] = [
        ({"k": k, "loss": name}, _lossy(k, losses, seconds), seed)
        for k in KS
        for name, losses in LOSSES.items()
        for seed in networks.seeds(context.quick, 5)
    ]
    runs = run(context, wanted, samples=True)
    assert runs.samples is not None, "asked for"
    samples = runs.samples.filter(pl.col("kind") == "subflow")
    flips: dict[float, Estimate] = {}
    for k in KS:
        rows = samples.filter((pl.col("k") == k) & (pl.col("loss") == "equal"))
        flips[k] = estimate(analysis.flappiness(rows, since_s=20)["flips_per_min"].to_list())
    coupled = _coupled_flips(context, seconds)
    shares = {
        k: share(runs.subflows.filter((pl.col("k") == k) & (pl.col("loss") == "unequal")), "multi", 0) for k in KS
    }
    law = {k: 100 * float(predict(LOSSES["unequal"], [0.04, 0.04], "mppert", k=k).shares[0]) for k in KS}
    settled = [
        _settled(samples.filter((pl.col("k") == k) & (pl.col("loss") == "unequal")), share_of=0, since_s=0) for k in KS
    ]
    told = "; ".join(f"k = {k:g}: {flips[k].mean:.2f} flips a minute" for k in KS)
    return Outcome(
        [
            truth(
                "no-flapping",
                "With equal loss the traffic does not flap between the paths (flips of 80 % of the windows)",
                f"{told}; the fully coupled control: {coupled.mean:.2f}",
                every(
                    [at_most(flips[k].found, 0.5) for k in KS],
                    [below(flips[k].found, coupled.found, far=True) for k in KS],
                ),
                cause=_calmer(context, seconds),
            ),
            truth(
                "prefers-better",
                "With unequal loss the window on the better path is the larger",
                "; ".join(f"k = {k:g}: {shares[k].text(1)} % there" for k in KS),
                every(below(Found(50.0), shares[k].found, whole=100) for k in KS),
            ),
            truth(
                "shift-grows",
                "The shift grows as k falls",
                "; ".join(f"k = {k:g}: {shares[k].mean:.1f} % (law: {law[k]:.1f})" for k in KS),
                steps([each.found for each in shares.values()], "rises", whole=100),
            ),
            truth(
                "settles",
                "It settles soon: the share, averaged over 10 s, stays within 15 points of its end",
                ", ".join("not" if each is None else f"{each:.0f} s" for each in settled)
                + f" after the start, for k = {', '.join(f'{k:g}' for k in KS)}",
                every(at_most(Found(float("nan"), float("inf")) if each is None else each, 30) for each in settled),
                cause="algorithm: random losses move the windows all the time.",
            ),
        ],
        figures=[("Windows over time, one seed", _windows(samples, seconds))],
        notes=[
            "The thesis prints no losses; we take 0.2 % on both paths, and 0.1 and 0.4 %, on links that never fill. "
            "There α would rise to its cap for want of a queue, and is held at 1."
        ],
    )


def _calmer(context: Context, seconds: int) -> str:
    """Flips at a tenth of our losses, which the thesis does not print: windows are three times as large."""
    flips = {}
    for k in KS:
        scenario = _lossy(k, (0.0002, 0.0002), seconds)
        wanted: list[Asked] = [({"k": k}, scenario, seed) for seed in networks.seeds(context.quick, 5)]
        samples = run(context, wanted, samples=True).samples
        assert samples is not None, "asked for"
        flips[k] = float(analysis.flappiness(samples, since_s=20)["flips_per_min"].to_numpy().mean())
    told = ", ".join(f"{each:.2f} with k = {k:g}" for k, each in flips.items())
    ending = (
        "So the losses are the cause."
        if all(each <= 0.5 for each in flips.values())
        else "So the losses are not the whole cause, which is not known."
    )
    return f"setting: the thesis prints no losses. With a tenth of ours the flips a minute are {told}. {ending}"


def _coupled_flips(context: Context, seconds: int) -> Estimate:
    """For comparison: a control that is known to flap."""
    scenario = _lossy(0.0, LOSSES["equal"], seconds)
    scenario["connection"]["multi"]["congestion"] = "coupled"  # type: ignore[index]
    runs = run(
        context, [({"control": "coupled"}, scenario, seed) for seed in networks.seeds(context.quick, 5)], samples=True
    )
    assert runs.samples is not None, "asked for"
    return estimate(analysis.flappiness(runs.samples, since_s=20)["flips_per_min"].to_list())


def _settled(samples: pl.DataFrame, *, share_of: int, since_s: float) -> Found | None:
    """Median over the seeds of the time until a share stays within 15 points of its end; None: most do not."""
    found: list[float] = []
    for one in samples.partition_by("seed"):
        rows = analysis.shares_over_time(one, column="cwnd_segments").filter(pl.col("subflow") == share_of)
        time = metrics.settling_time_s(
            rows["time_s"].to_numpy(), rows["share"].to_numpy(), since_s=since_s, tolerance=0.15, average_s=10.0
        )
        found.append(float("inf") if time is None else time)
    if not np.isfinite(np.median(found)):
        return None
    # A run that does not settle is later than any that does.
    return median_of(
        each if np.isfinite(each) else 10 * max(each for each in found if np.isfinite(each)) for each in found
    )


def _windows(samples: pl.DataFrame, seconds: int) -> alt.FacetChart:
    rows = samples.filter((pl.col("seed") == 1) & (pl.col("time_s") <= 20 + min(seconds, 100))).select(
        "time_s", "cwnd_segments", "path", k=pl.format("k = {}", "k"), loss=pl.format("{} loss", "loss")
    )
    chart: alt.FacetChart = (
        alt.Chart(rows)
        .mark_line(strokeWidth=1)
        .encode(
            x=alt.X("time_s:Q", title="time, s"),
            y=alt.Y("cwnd_segments:Q", title="window, segments"),
            color=alt.Color("path:N", title="path"),
        )
        .properties(width=260, height=90)
        .facet(row=alt.Row("k:N", title=None), column=alt.Column("loss:N", title=None))
    )
    return chart


def _grid(context: Context, kind: str, ks: tuple[float, ...]) -> tuple[pl.DataFrame, pl.DataFrame]:
    span = networks.times(context.quick)
    counts = (40, 20, 10) if context.quick else _COUNTS
    wanted: list[Asked] = [
        ({"k": k, "count": count}, networks.two_paths((40, count), networks.mppert(k), span, kind=kind), seed)
        for k in ks
        for count in counts
        for seed in networks.seeds(context.quick, 4)
    ]
    runs = run(context, wanted)
    return runs.connections, runs.subflows


def _shares(subflows: pl.DataFrame, ks: tuple[float, ...]) -> dict[tuple[float, int], Estimate]:
    counts = subflows["count"].unique(maintain_order=True).to_list()
    return {
        (k, count): share(subflows.filter((pl.col("k") == k) & (pl.col("count") == count)), "multi", 1)
        for k in ks
        for count in counts
    }


def _by_chance(context: Context, count: int) -> str:
    """Whether an uneven share under equal load is chance: ten times as long a run, with k = -1/2."""
    span = (60, 60) if context.quick else (60, 600)
    scenario = networks.two_paths((count, count), networks.mppert(-0.5), span)
    runs = run(context, [({}, scenario, seed) for seed in networks.seeds(context.quick, 4)])
    rows = runs.subflows.filter(pl.col("connection") == "multi")
    part = pl.col("goodput_bps").filter(pl.col("subflow") == 0).sum() / pl.col("goodput_bps").sum()
    first = rows.group_by("seed", maintain_order=True).agg(part=100 * part)["part"]
    mean = estimate(first.to_list())
    even = abs(mean.mean - 50) <= max(5.0, 0.0 if np.isnan(mean.half) else mean.half)
    return (
        f"chance: with k = -1/2 and {count} flows on both links path 1 has {mean.text(1)} % over {span[1]} s in the "
        f"mean of "
        f"{len(first)} runs ({', '.join(f'{each:.0f}' for each in first)}): "
        + ("it is chance which path leads in a minute." if even else "one path leads longer than these runs last.")
    )


def figure_5(context: Context) -> Outcome:
    """The share on path 2 over its number of background flows."""
    _, subflows = _grid(context, "pert", KS)
    found = _shares(subflows, KS)
    published = context.published
    chance = _by_chance(context, 40)
    even = {k: found[k, 40].found for k in KS}
    most = [found[k, 10].found for k in KS]
    rows = pl.DataFrame([{"k": _name(k), "flows": count, "share": each.mean} for (k, count), each in found.items()])
    chart = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("flows:Q", title="background flows on path 2", scale=alt.Scale(reverse=True, zero=False)),
            y=alt.Y("share:Q", title="traffic on path 2, %", scale=alt.Scale(domain=(0, 100))),
            color=alt.Color("k:N", title=None),
        )
        .properties(width=420, height=240)
    )
    return Outcome(
        [
            number(
                published,
                "equal",
                found[-0.5, 40],
                "k = -1/2 splits evenly at 40(40)+40(40), %",
                scale=1,
                cause=chance,
            ),
            number(
                published,
                "largest-shift",
                found[-0.5, 10],
                "k = -1/2 puts 93 % on path 2 at 40(40)+40(10)",
                scale=1,
                cause=chance,
            ),
            truth(
                "even-split",
                "With equal load the traffic is split evenly for every k",
                "; ".join(f"k = {k:g}: {found[k, 40].text(1)} % on path 2" for k in KS),
                every(Share(50, each, whole=100) for each in even.values()),
                cause=chance,
            ),
            truth(
                "shift-grows",
                "As k falls the part on the less loaded path grows",
                "; ".join(f"k = {k:g}: {found[k, 10].text(1)} % at 40(40)+40(10)" for k in KS),
                steps(most, "rises", whole=100),
            ),
        ],
        figures=[("Part of the traffic on path 2", chart)],
        notes=["Means over the seeds. With k = -1/2 and a fourth of the flows the law alone gives 99.6 %."],
    )


def figure_6(context: Context) -> Outcome:
    """Total against the background; the thesis does not name its k: 0."""
    return _totals(context, "pert", 0.0)


def figure_7(context: Context) -> Outcome:
    """The same among PERT and Reno flows, k = -1/2."""
    return _totals(context, "mix", -0.5)


def _totals(context: Context, kind: str, k: float) -> Outcome:
    connections, subflows = _grid(context, kind, (k,))
    rows = []
    ratios: list[tuple[Found, Found, Found]] = []
    for count in connections["count"].unique(maintain_order=True):
        here = connections.filter(pl.col("count") == count)
        second = by_seed(
            subflows.filter((pl.col("count") == count) & (pl.col("connection") == "multi") & (pl.col("subflow") == 1)),
            pl.col("packets_bps").sum() / 1e6,
        )
        backs = {f"{path} {each}": rate(here, f"{path} {each}") for path in ("one", "two") for each in _kinds(kind)}
        total = rate(here, "multi")
        best = across(max, *backs.values())
        reno = across(max, *(each for name, each in backs.items() if kind == "pert" or name.endswith("reno")))
        ratios.append((second.found, total.found / best.found, total.found / reno.found))
        rows.append(
            {
                "flows on path 2": count,
                "multipath, Mbit/s": total.mean,
                "on path 2": second.mean,
                **{name: each.mean for name, each in backs.items()},
                "over the best": total.mean / best.mean,
                "over the best TCP": total.mean / reno.mean,
            }
        )
    frame = pl.DataFrame(rows)
    second_rates, over, tcp = ([each[column] for each in ratios] for column in range(3))
    told = ", ".join(f"{ratio:.2f} at {count}" for ratio, count in zip(over, frame["flows on path 2"], strict=True))
    if kind == "pert":
        claims: list[Claim] = [
            truth(
                "path2-rises",
                "The throughput on path 2 rises as it has fewer background flows",
                ", ".join(f"{each:.2f}" for each in second_rates) + " Mbit/s",
                steps(second_rates, "rises"),
            ),
            truth(
                "total-near-best",
                "The total is close to the best background flow's",
                f"times the best: {told}",
                every(Equality(ratio, Found(1.0)) for ratio in over),
                cause=_faster(context, kind, k),
            ),
        ]
    else:
        told = ", ".join(f"{ratio:.2f} at {count}" for ratio, count in zip(tcp, frame["flows on path 2"], strict=True))
        claims = [
            truth(
                "total-above-best",
                "The total is above a single-path TCP's on the better path",
                f"times the TCP flows' there: {told}",
                every(below(Found(1.0), ratio) for ratio in tcp),
                cause="algorithm: where Reno keeps the buffer nearly full, PERT answers early in every round trip and "
                "α, which is bounded, does not make up for it.",
            )
        ]
    return Outcome(claims, tables=[("Throughputs, Mbit/s of packets", frame)], notes=[f"k = {k:g}."])


def _faster(context: Context, kind: str, k: float) -> str:
    """Whether windows of a few packets are the cause: links four times as fast, windows four times as large."""
    times = {}
    for count in (40, 10):
        span = networks.times(True)
        scenario = networks.two_paths((40, count), networks.mppert(k), span, rates=(160, 160), kind=kind)
        runs = run(context, [({}, scenario, seed) for seed in networks.seeds(context.quick, 2)])
        best = max(rate(runs.connections, path).mean for path in ("one", "two"))
        times[count] = rate(runs.connections, "multi").mean / best
    told = ", ".join(f"{ratio:.2f} at {count}" for count, ratio in times.items())
    near = all(Equality(ratio, 1.0).verdict != "differs" for ratio in times.values())
    return (
        "algorithm: a window on the worse path does not fall below one packet. With four times the rates, so that "
        "windows are "
        f"four times as large, the total is, in times the best, {told}: "
        + ("that is the cause." if near else "that is not the whole cause, which is not known.")
    )


def _kinds(kind: str) -> tuple[str, ...]:
    return ("pert", "reno") if kind == "mix" else (kind,)


CASES: Final = {
    "figure-20": ((10, 40), (10, 40)),
    "figure-21": ((15, 30), (30, 30)),
    "figure-22": ((15, 30), (15, 15)),
    "figure-23": ((30, 30), (30, 15)),
}


def _stepped(
    context: Context, item: str
) -> tuple[dict[float, list[Estimate]], dict[float, Found | None], alt.LayerChart]:
    """For k = 1 and -1/2: shares of path 1 before and after, settling times, and the figure."""
    # As in the thesis the load changes at 300 s; a quick run changes it at 60 s.
    step_s, seconds = (60, 120) if context.quick else (300, 420)
    ks = (1.0, -0.5)
    before, after = CASES[item]
    wanted: list[Asked] = [
        ({"k": k}, networks.stepped(before, after, k, step_s, seconds), seed)
        for k in ks
        for seed in networks.seeds(context.quick, 4)
    ]
    runs = run(context, wanted, samples=True)
    assert runs.samples is not None, "asked for"
    samples = runs.samples.filter((pl.col("connection") == "multi") & (pl.col("kind") == "subflow"))
    shares: dict[float, list[Estimate]] = {}
    settling: dict[float, Found | None] = {}
    for k in ks:
        rows = samples.filter(pl.col("k") == k)
        first = pl.col("goodput_bps").filter(pl.col("subflow") == 0).sum() / pl.col("goodput_bps").sum()
        spans = ((30, step_s), (step_s + 20, seconds))
        shares[k] = [by_seed(rows.filter(pl.col("time_s").is_between(low, high)), 100 * first) for low, high in spans]
        settling[k] = _settled(rows, share_of=0, since_s=step_s)
    lines = (
        alt.Chart(
            samples.filter(pl.col("seed") == 1)
            .group_by_dynamic(pl.col("time_s").cast(pl.Int64), every="5i", group_by=["k", "path"])
            .agg(pl.col("goodput_bps").mean() / 1e6)
            .with_columns(k=pl.format("k = {}", "k"))
        )
        .mark_line(strokeWidth=1.3)
        .encode(
            x=alt.X("time_s:Q", title="time, s"),
            y=alt.Y("goodput_bps:Q", title="goodput, Mbit/s"),
            color=alt.Color("path:N", title="path"),
            strokeDash=alt.StrokeDash("k:N", title=None),
        )
        .properties(width=520, height=220)
    )
    return shares, settling, lines


def _step_item(
    claims: Callable[[Context, dict[float, list[Estimate]], dict[float, Found | None]], list[Claim]],
    item: str,
    context: Context,
) -> Outcome:
    shares, settling, chart = _stepped(context, item)
    rows = [
        {
            "k": k,
            "path 1 before, %": shares[k][0].text(1),
            "path 1 after, %": shares[k][1].text(1),
            "settled after, s": settling[k],
        }
        for k in shares
    ]
    return Outcome(
        claims(context, shares, settling),
        tables=[("Share of path 1", pl.DataFrame(rows, infer_schema_length=None))],
        figures=[("Goodput of both subflows, means over 5 s", chart)],
    )


def _told(shares: dict[float, list[Estimate]], when: int) -> str:
    return "; ".join(f"k = {k:g}: {each[when].text(1)} % on path 1" for k, each in shares.items())


def _case_1(_: Context, shares: dict[float, list[Estimate]], __: dict[float, Found | None]) -> list[Claim]:
    return [
        truth(
            "better-higher",
            "For both k the less loaded path carries more",
            _told(shares, 0),
            every(below(Found(50.0), each[0].found, whole=100) for each in shares.values()),
        ),
        truth(
            "shift-grows",
            "The shift is larger with k = -1/2",
            _told(shares, 0),
            less(shares[1.0][0], shares[-0.5][0], whole=100),
        ),
    ]


def _case_2(context: Context, shares: dict[float, list[Estimate]], settling: dict[float, Found | None]) -> list[Claim]:
    slowest = max(Found(float("inf")) if each is None else each for each in settling.values())
    published = context.published
    return [
        Claim(
            "settles",
            "Less than 10 s until the new steady state (the share averaged over 10 s within 15 points of its end)",
            published["settles"],
            f"{slowest:.0f} s" if np.isfinite(slowest) else "not settled",
            at_most(slowest, published["settles"]),
            "algorithm: the share of k = -1/2 wanders by more than the band: the windows are a few packets, and their "
            "fluctuations are magnified as the shift is.",
        ),
        truth(
            "shift-grows",
            "Before the step the shift grows as k falls",
            _told(shares, 0),
            less(shares[1.0][0], shares[-0.5][0], whole=100),
        ),
        truth(
            "equalises",
            "After it both paths carry about the same",
            _told(shares, 1),
            every(Share(50, each[1].found, whole=100) for each in shares.values()),
            cause=_by_chance(context, 30),
        ),
    ]


def _case_3(context: Context, shares: dict[float, list[Estimate]], __: dict[float, Found | None]) -> list[Claim]:
    return [
        truth(
            "gives-up",
            "Subflow 1 gives up throughput until both are about equal",
            f"before: {_told(shares, 0)}; after: {_told(shares, 1)}",
            every(
                check
                for each in shares.values()
                for check in (less(each[1], each[0], whole=100), Share(50, each[1].found, whole=100))
            ),
            cause=_by_chance(context, 15),
        )
    ]


def _case_4(_: Context, shares: dict[float, list[Estimate]], settling: dict[float, Found | None]) -> list[Claim]:
    second = {k: 100 - each[1].found for k, each in shares.items()}
    gained = {k: each[0].found - each[1].found for k, each in shares.items()}
    told = "; ".join(
        f"k = {k:g}: {gained[k]:.1f} points more on path 2, "
        + ("not settled" if settling[k] is None else f"settled after {settling[k]:.0f} s")
        for k in shares
    )
    return [
        truth(
            "shift-grows",
            "The shift in the steady state is much larger with k = -1/2",
            "; ".join(f"k = {k:g}: {each:.1f} % on path 2" for k, each in second.items()),
            below(second[1.0], second[-0.5], whole=100, far=True),
        ),
        truth(
            "faster",
            "With k = -1/2 more traffic moves in the same time",
            told,
            below(gained[1.0], gained[-0.5], whole=100),
        ),
    ]


figure_20 = partial(_step_item, _case_1, "figure-20")
figure_21 = partial(_step_item, _case_2, "figure-21")
figure_22 = partial(_step_item, _case_3, "figure-22")
figure_23 = partial(_step_item, _case_4, "figure-23")
