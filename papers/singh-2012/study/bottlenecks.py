"""Figures 11 to 15 and tables III to VI: which subflows share a bottleneck, and what follows from it."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl
from mptcplab.reproduce import (
    Claim,
    Context,
    Equality,
    Found,
    Outcome,
    at_least,
    at_most,
    below,
    bistable,
    causes,
    every,
    single,
)
from mptcplab.sweeps.frames import Runs

from . import networks, variants
from .numbers import Asked, Estimate, across, alike, by_seed, estimate, less, number, ranked, rate, run, subflow, truth

THRESHOLD: Final = 0.5
_STEP_S: Final = 0.1
_WINDOW_S: Final = 2.0
_DECIDED_S: Final = 10.0
PAIRS: Final = {"shared": (0, 2), "disjoint": (0, 1), "disjoint too": (1, 2)}

Floats = npt.NDArray[np.float64]


def _span(quick: bool) -> networks.Times:
    return (0, 60) if quick else (0, 120)


def _runs(context: Context, kind: str, shared: str, count: int = 40) -> Runs:
    scenario = networks.three_subflows(kind, _span(context.quick), shared=shared, count=count)
    return run(context, [({"load": kind}, scenario, seed) for seed in networks.seeds(context.quick, 5)], samples=True)


def correlations(samples: pl.DataFrame) -> tuple[Floats, dict[str, Floats]]:
    """Moments, and the moving average over 10 s of the correlations over 2 s of the pairs' smoothed RTTs.

    By the samples of every 0.1 s; a decision of the transport's own detector rests on every acknowledgment.
    """
    wide = (
        samples.filter((pl.col("connection") == "multi") & (pl.col("kind") == "subflow"))
        .pivot("subflow", index="time_s", values="srtt_s")
        .drop_nulls()
        .sort("time_s")
    )
    at = wide["time_s"].to_numpy()
    delays = wide.select("0", "1", "2").to_numpy()
    width, long = round(_WINDOW_S / _STEP_S), round(_DECIDED_S / _STEP_S)
    found = {}
    for name, (a, b) in PAIRS.items():
        windows = np.lib.stride_tricks.sliding_window_view(delays[:, [a, b]], width, axis=0)
        x = windows - windows.mean(axis=-1, keepdims=True)
        spread = np.sqrt((x[:, 0] ** 2).sum(axis=-1) * (x[:, 1] ** 2).sum(axis=-1))
        product = (x[:, 0] * x[:, 1]).sum(axis=-1)
        coefficient = np.divide(product, spread, out=np.zeros_like(product), where=spread > 0)
        sums = np.concatenate([[0.0], np.cumsum(coefficient)])
        first = np.maximum(np.arange(1, len(coefficient) + 1) - long, 0)
        found[name] = (sums[1:] - sums[first]) / (np.arange(1, len(coefficient) + 1) - first)
    return at[width - 1 :], found


def _after(context: Context, kind: str, count: int = 40) -> tuple[dict[str, list[float]], list[float], pl.DataFrame]:
    """Averages of each seed from 10 s after the last start on, times until all pairs are decided rightly, and lines."""
    runs = _runs(context, kind, "none", count)
    assert runs.samples is not None, "asked for"
    means: dict[str, list[float]] = {name: [] for name in PAIRS}
    times: list[float] = []
    rows = []
    for one in runs.samples.partition_by("seed"):
        at, found = correlations(one)
        for name, values in found.items():
            means[name].append(float(values[at > 20 + _DECIDED_S].mean()))
        shared, others = found["shared"], np.maximum(found["disjoint"], found["disjoint too"])
        right = (shared > THRESHOLD) & (others < THRESHOLD)
        late = np.flatnonzero(~right)
        times.append(
            float(at[late[-1]] - at[0]) if late.size and late[-1] + 1 < at.size else 0.0 if not late.size else np.inf
        )
        if one["seed"][0] == 1:
            rows += [
                {"time": float(t), "correlation": float(v), "pair": name}
                for name, values in found.items()
                for t, v in zip(at[::10], values[::10], strict=True)
            ]
    return means, times, pl.DataFrame(rows)


def _chart(lines: pl.DataFrame, pairs: tuple[str, ...]) -> alt.LayerChart | alt.FacetChart:
    data = lines.filter(pl.col("pair").is_in(pairs))
    curve = (
        alt.Chart(data)
        .mark_line()
        .encode(
            x=alt.X("time:Q", title="time, s"),
            y=alt.Y("correlation:Q", scale=alt.Scale(domain=(-0.6, 1))),
            color=alt.Color("pair:N", title=None),
        )
    )
    rule = alt.Chart(pl.DataFrame({"correlation": [THRESHOLD]})).mark_rule(strokeDash=[4, 3]).encode(y="correlation:Q")
    chart: alt.LayerChart | alt.FacetChart = alt.layer(curve, rule).properties(width=480, height=200)
    return chart


def _told(means: dict[str, list[float]]) -> str:
    return "; ".join(f"{name}: {estimate(values).text(2)}" for name, values in means.items() if name != "disjoint too")


def _apart(means: dict[str, list[float]]) -> float:
    """The highest of any seed and disjoint pair."""
    return max(means["disjoint"] + means["disjoint too"])


_TIMES: Final = (
    "setting: the average over 10 s of correlations over 2 s; the thesis prints neither length. Starts fall into the "
    "beginning, and in slow start all queues fill at once."
)


def figure_11(context: Context) -> Outcome:
    """Sharers under PERT."""
    means, times, lines = _after(context, "pert")
    found, published = float(np.median(times)), context.published
    return Outcome(
        [
            Claim(
                "threshold",
                "A threshold of 0.5 separates sharers from others in every run",
                published["threshold"],
                f"sharers at least {min(means['shared']):.2f}, others at most {_apart(means):.2f}",
                every(
                    at_least(min(means["shared"]), THRESHOLD, 0, whole=1.0),
                    at_most(_apart(means), THRESHOLD, 0, whole=1.0),
                ),
                "chance: correlations vary from run to run.",
            ),
            Claim(
                "decided-after",
                "The correlation decides after about 10 s: from then on no pair is on the wrong side (median run)",
                published["decided-after"],
                f"{_DECIDED_S + found:.0f} s after the first measurement"
                if np.isfinite(found)
                else "not in all the time",
                single(
                    published["decided-after"], [_DECIDED_S + each for each in times if np.isfinite(each)] or [np.nan]
                ),
                _TIMES,
            ),
            truth(
                "shared-higher",
                "The correlation of sharers is far higher than that of others",
                _told(means),
                below(Found(_apart(means)), Found(min(means["shared"])), whole=1.0, far=True),
            ),
            truth(
                "above-threshold",
                "The correlation of sharers is above 0.5",
                f"{min(means['shared']):.2f} to {max(means['shared']):.2f}",
                at_least(min(means["shared"]), THRESHOLD, 0, whole=1.0),
            ),
        ],
        figures=[("Moving average of the correlation, one seed", _chart(lines, ("shared", "disjoint")))],
        notes=[causes.text_of(_TIMES)],
    )


def _below(kind: str, context: Context) -> Outcome:
    means, _, lines = _after(context, kind)
    claims = [
        truth(
            "below-threshold",
            "The correlation of subflows on disjoint paths is below 0.5",
            f"at most {_apart(means):.2f}",
            at_most(_apart(means), THRESHOLD, 0, whole=1.0),
        )
    ]
    if kind == "mix":
        few, _, _ = _after(context, kind, 20)
        more, fewer = estimate(few["shared"]), estimate(means["shared"])
        claims.append(
            truth(
                "rises-with-bandwidth",
                "The correlation of sharers rises with the available bandwidth (20 instead of 40 flows a link)",
                f"{fewer.text(2)} at 1 Mbit/s a flow, {more.text(2)} at 2",
                less(fewer, more, whole=1.0),
                cause="algorithm: the queue of fewer Reno flows swings more slowly; with windows this small its "
                "correlation over "
                "2 s does not gain from it.",
            )
        )
    return Outcome(
        claims, figures=[("Moving average of the correlation, one seed", _chart(lines, ("disjoint", "disjoint too")))]
    )


figure_12 = partial(_below, "pert")
figure_15 = partial(_below, "mix")


def figure_14(context: Context) -> Outcome:
    """Sharers under mixed load."""
    pert, _, _ = _after(context, "pert")
    means, _, lines = _after(context, "mix")
    mixed, pure = estimate(means["shared"]), estimate(pert["shared"])
    reason = (
        "α is a parameter of the algorithm (alpha_step, alpha_compete), with this value by default: nothing to measure."
    )
    return Outcome(
        [
            truth(
                "lower",
                "Under mixed load the correlation of sharers is lower than under PERT alone",
                f"{mixed.text(2)} against {pure.text(2)}",
                less(mixed, pure, whole=1.0),
            ),
            truth(
                "separable",
                "Sharers stay above others in every run, so that a threshold separates them",
                f"sharers at least {min(means['shared']):.2f}, others at most {_apart(means):.2f}",
                below(Found(_apart(means)), Found(min(means["shared"])), whole=1.0),
            ),
        ],
        figures=[("Moving average of the correlation, one seed", _chart(lines, ("shared", "disjoint")))],
        not_covered={"alpha-step": reason, "alpha-most": reason},
    )


def figure_13(context: Context) -> Outcome:
    """Windows when the detector decouples what is disjoint."""
    runs = _runs(context, "pert", "decouple")
    before = _runs(context, "pert", "none")
    assert runs.samples is not None, "asked for"
    late = (pl.col("connection") == "multi") & (pl.col("time_s") > 40) & (pl.col("kind") == "subflow")

    def windows(samples: pl.DataFrame, number: int) -> Estimate:
        return by_seed(samples.filter(late & (pl.col("subflow") == number)), pl.col("cwnd_segments").mean())

    one, two, three = (windows(runs.samples, n) for n in range(3))
    assert before.samples is not None, "asked for"
    coupled = windows(before.samples, 1)
    both = one.found + three.found
    lone = by_seed(
        runs.samples.filter((pl.col("connection") == "only two pert") & (pl.col("time_s") > 40)),
        pl.col("cwnd_segments").mean(),
    )
    told = f"{one.text(1)}, {two.text(1)}, {three.text(1)} segments"
    chart = (
        alt.Chart(runs.samples.filter((pl.col("connection") == "multi") & (pl.col("seed") == 1)).gather_every(5))
        .mark_line(strokeWidth=1)
        .encode(
            x=alt.X("time_s:Q", title="time, s"),
            y=alt.Y("cwnd_segments:Q", title="window, segments"),
            color=alt.Color("path:N", title=None),
        )
        .properties(width=520, height=220)
    )
    ratio = two.found / lone.found
    return Outcome(
        [
            truth(
                "decoupled",
                "Subflow 2 becomes independent: its window is that of a lone PERT flow on its path",
                f"{two.text(1)} segments, {ratio:.2f} of a background flow's; coupled it has {coupled.text(1)}",
                every(alike(two, lone), less(coupled, two)),
                cause="algorithm: the detector decided otherwise in a part of the time.",
            ),
            truth(
                "equal-windows",
                "The windows of subflows 1 and 3, which share, are equal",
                told,
                alike(one, three),
                cause="chance: windows of two or three segments: chance.",
            ),
            truth(
                "sum-equals",
                "Together they are close to the window of subflow 2",
                f"{both:.1f} against {two.mean:.1f} segments",
                Equality(both, two.found),
                cause="algorithm: windows do not fall below one segment.",
            ),
        ],
        figures=[("Windows, one seed", chart)],
    )


TABLES: Final[Mapping[str, tuple[tuple[int, ...], str]]] = {
    "table-3": ((6, 4), "suppress"),
    "table-4": ((2,), "suppress"),
    "table-5": ((6, 4), "both"),
    "table-6": ((2,), "both"),
}
_HELD_MBPS: Final = 0.3
"""A subflow below this is held: one packet a round trip is 0.15 to 0.2 Mbit/s."""
_SIX: Final = (
    "The coupled total is that of one PERT flow on the best path, in the thesis half more than that; which of the "
    "subflows have more is chance, in the thesis's single run as in ours."
)


def _table(item: str, context: Context) -> Outcome:
    cases, shared = TABLES[item]
    published = context.published
    warmup, measured = (40, 20) if context.quick else (40, context.machine["short"])
    rtt_ms = context.machine["rtt-six"]
    wanted: list[Asked] = [
        ({"paths_open": disjoint}, networks.six_subflows(disjoint, shared, (warmup, measured), rtt_ms), seed)
        for disjoint in cases
        for seed in networks.seeds(context.quick, 6)
    ]
    runs = run(context, wanted)
    claims: list[Claim] = []
    rows: list[dict[str, Any]] = []
    tables: list[tuple[str, pl.DataFrame]] = []
    for disjoint in cases:
        connections = runs.connections.filter(pl.col("paths_open") == disjoint)
        subflows = runs.subflows.filter(pl.col("paths_open") == disjoint)
        backs = [rate(connections, f"background {n}") for n in range(1, disjoint + 1)]
        flows = [subflow(subflows, "multi", n) for n in range(6)]
        total = rate(connections, "multi")
        held = by_seed(
            subflows.filter(pl.col("connection") == "multi"),
            (pl.col("goodput_bps") < _HELD_MBPS * 1e6).sum().cast(pl.Float64),
        )
        named = {f"background-{n}": each for n, each in enumerate(backs, 1)}
        # Those of one link are exchangeable, and so are those that have one for themselves.
        sharers = 7 - disjoint if disjoint < 6 else 0
        for group in (range(1, sharers + 1), range(sharers + 1, 7)):
            alike_ones = {f"subflow-{n}": flows[n - 1] for n in group}
            printed = {key: published[f"{disjoint}-paths.{key}"] for key in alike_ones}
            named |= ranked(alike_ones, printed) if alike_ones else {}
        if f"{disjoint}-paths.total" in published.values:
            named["total"] = total
        tried = _try(context, disjoint, shared, (warmup, measured), named, rtt_ms)
        tables.append((f"Variants, {disjoint} paths, Mbit/s of packets", tried.table()))
        for key, each in named.items():
            text = f"{key.replace('-', ' ')}, {disjoint} paths, Mbit/s"
            claims.append(number(published, f"{disjoint}-paths.{key}", each, text, cause=tried.cause(key)))
        alone = across(lambda *each: sum(each), *backs)
        best = across(max, *backs)
        rows.append(
            {
                "paths": disjoint,
                "total, Mbit/s": total.text(2),
                "best background flow": best.mean,
                "all paths' background flows": alone.mean,
                "subflows held": held.text(1),
                "expected": 6 - disjoint,
                "ratio to the best": total.mean / best.mean,
                "ratio to all": total.found / alone.found,
                "held": held,
            }
        )
    by_paths = {row["paths"]: row for row in rows}
    if "none-suppressed" in published.statements:
        claims.append(
            truth(
                "none-suppressed",
                "On six disjoint paths no subflow is suppressed (below 0.3 Mbit/s)",
                f"{by_paths[6]['subflows held']} below 0.3 Mbit/s",
                bistable(0.0, by_paths[6]["held"].values, whole=6.0),
                cause="algorithm: a coupled subflow with a window of one or two packets looks like a suppressed one.",
            )
        )
    if "one-per-path" in published.statements:
        fewest = min(cases)
        claims.append(
            truth(
                "one-per-path",
                f"On {fewest} paths every path keeps one subflow: {6 - fewest} are held",
                f"{by_paths[fewest]['subflows held']} below 0.3 Mbit/s",
                bistable(6.0 - fewest, by_paths[fewest]["held"].values, whole=6.0),
                cause="algorithm: the detector missed a sharer for a part of the time.",
            )
        )
    if "aggregates" in published.statements:
        ratios = [row["ratio to all"] for row in rows]
        claims.append(
            truth(
                "aggregates",
                "The total is that of single-path flows on all paths together",
                ", ".join(f"{ratio:.2f}" for ratio in ratios) + " of it",
                every(Equality(ratio, Found(1.0)) for ratio in ratios),
                cause="algorithm: before a decision, and whenever a pair is taken for sharers, subflows are coupled "
                "or held.",
            )
        )
    shown = pl.DataFrame([{key: value for key, value in row.items() if key != "held"} for row in rows])
    return Outcome(claims, tables=[("Totals", shown), *tables], notes=[_SIX])


_VARIANTS: Final = (variants.SMOOTHED, variants.DOUBLE)


def _try(
    context: Context, disjoint: int, shared: str, span: networks.Times, named: Mapping[str, Estimate], rtt_ms: float
) -> variants.Tried:
    """The numbers of a table in the variants."""

    def carried_out(variant: variants.Variant) -> dict[str, float]:
        scenario = variant.of(networks.six_subflows(disjoint, shared, span, rtt_ms))
        # Two seeds: each has ten flows on every link.
        runs = run(context, [({"variant": variant.text}, scenario, s) for s in networks.seeds(context.quick, 2)])
        found = {f"background-{n}": rate(runs.connections, f"background {n}") for n in range(1, disjoint + 1)}
        found |= {f"subflow-{n}": subflow(runs.subflows, "multi", n - 1) for n in range(1, 7)}
        return {key: each.mean for key, each in {**found, "total": rate(runs.connections, "multi")}.items()}

    printed = {key: context.published[f"{disjoint}-paths.{key}"] / 1e6 for key in named}
    chosen = () if context.machine.by_text else _VARIANTS[:1] if context.quick else _VARIANTS
    return variants.tried(printed, {key: each.mean for key, each in named.items()}, chosen, carried_out)


table_3 = partial(_table, "table-3")
table_4 = partial(_table, "table-4")
table_5 = partial(_table, "table-5")
table_6 = partial(_table, "table-6")
