"""What the thesis announces or leaves for the future: chapters V (pages 25 and 32), VII (page 49) and VIII.

It gives no networks or numbers for any of it. Ours are chosen to be like its other experiments, before any run.
"""

from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl
from mptcplab.reproduce import Context, Outcome, every

from . import networks
from .numbers import Asked, Estimate, alike, by_seed, estimate, less, rate, run, truth

_LITTLE: Final = 0.1
"""Of its connection's data a subflow brings little below a tenth: less than half of what four equal ones would."""
_HIGH: Final = 0.8
"""Figure 14's correlation is 0.74 where 40 flows share a link: this threshold misses sharers, one of 0.5 does not."""
_FULL_MBPS: Final = 2.0
"""The rate of a flow among 20: with 40 flows, 1 Mbit/s each, a threshold in proportion is half as high."""


def future_suppression(context: Context) -> Outcome:
    """Fewer subflows, and a threshold in proportion to the bandwidth."""
    span = networks.times(context.quick)
    seeds = networks.seeds(context.quick)
    controls = {"all": networks.mppert(0.0), "few": networks.mppert(0.0, suppress_below=_LITTLE)}
    runs = run(
        context,
        [({"kept": name}, _four_paths(control, span), seed) for name, control in controls.items() for seed in seeds],
    )
    totals = {name: rate(runs.connections.filter(pl.col("kept") == name), "multi") for name in controls}
    worse = by_seed(
        runs.subflows.filter(
            (pl.col("kept") == "all") & (pl.col("connection") == "multi") & pl.col("path").is_in(["three", "four"])
        ),
        100 * pl.col("share").sum(),
    )

    found: dict[str, dict[str, Estimate]] = {}
    for name, parameters in {"fixed": {}, "in proportion": {"shared_full_rate_mbps": _FULL_MBPS}}.items():
        scenario = networks.three_subflows("mix", _watched(context), sample="500 ms")
        scenario["connection"]["multi"]["congestion"] = networks.mppert(
            0.0, shared="watch", shared_threshold=_HIGH, **parameters
        )
        watched = run(
            context, [({"threshold": name}, scenario, seed) for seed in networks.seeds(context.quick, 5)], samples=True
        )
        assert watched.samples is not None, "asked for"
        found[name] = _missed(watched.samples)
    shown = pl.DataFrame(
        [{"threshold": name, **{key: each.text(1) for key, each in parts.items()}} for name, parts in found.items()]
    )
    return Outcome(
        [
            truth(
                "few-subflows",
                "Of four subflows those that bring less than a tenth can be suppressed and the total remains the same",
                f"{totals['few'].text(2)} Mbit/s; with all {totals['all'].text(2)}, of which the worse paths bring "
                f"{worse.text(0)} %",
                alike(totals["few"], totals["all"]),
                cause="chance: the difference is smaller than that of the runs among each other.",
            ),
            truth(
                "threshold",
                f"Under mixed load a threshold of {_HIGH:g} in proportion to the bandwidth misses fewer sharers than a "
                "fixed one",
                "; ".join(f"{name}: {parts['missed, %'].text(1)} % of the time" for name, parts in found.items()),
                less(found["in proportion"]["missed, %"], found["fixed"]["missed, %"], whole=100),
                cause="chance: runs differ among each other as much as the thresholds do.",
            ),
        ],
        tables=[("Parts of the time from 20 s after the last start on", shown)],
        notes=["With the threshold of 0.5 nothing is missed here: the thesis's proposal helps where it is set high."],
    )


def _four_paths(congestion: dict[str, Any], span: networks.Times) -> dict[str, Any]:
    """Two paths 20(10) and two 20(40): by the law (k = 0) a worse one has a sixteenth of a better one's traffic."""
    links: dict[str, Any] = {}
    connections: dict[str, Any] = {}
    for name, count in (("one", 10), ("two", 10), ("three", 40), ("four", 40)):
        links[name] = networks.link(20, 40)
        connections |= networks.background(name, count, "pert")
    connections["multi"] = networks.multi(list(links), congestion)
    return networks.scenario(links, connections, span)


def _watched(context: Context) -> networks.Times:
    return (0, 60) if context.quick else (0, 90)


def _missed(samples: pl.DataFrame) -> dict[str, Estimate]:
    """Percentages of the time: the sharers were not found; a subflow on the other link was taken for one."""
    rows = samples.filter((pl.col("connection") == "multi") & (pl.col("kind") == "subflow") & (pl.col("time_s") > 40))
    missed, alarms = [], []
    for one_run in rows.partition_by("seed"):
        wide = one_run.pivot("path", index="time_s", values="shares_with").drop_nulls()
        one, other, three = (wide[path].to_numpy() for path in ("p1", "p2", "p3"))
        missed.append(100 * float(np.mean(one != three)))
        alarms.append(100 * float(np.mean((other == one) | (other == three))))
    return {"missed, %": estimate(missed), "false alarms, %": estimate(alarms)}


_BURST_S: Final = (60, 80)


def future_short_flows(context: Context) -> Outcome:
    """Flows of short duration: twenty more on path 1 for 20 s."""
    ks = (1.0, 0.0, -0.5)
    wanted: list[Asked] = [({"k": k}, _burst(k), seed) for k in ks for seed in networks.seeds(context.quick, 5)]
    runs = run(context, wanted, samples=True)
    assert runs.samples is not None, "asked for"
    rows = runs.samples.filter((pl.col("connection") == "multi") & (pl.col("kind") == "subflow"))
    begin, end = _BURST_S
    spans = {"before": (30, begin), "during": (begin + 5, end), "after": (end + 10, end + 40)}
    part = pl.col("goodput_bps").filter(pl.col("subflow") == 0).sum() / pl.col("goodput_bps").sum()
    shares = {
        (k, when): by_seed(rows.filter((pl.col("k") == k) & pl.col("time_s").is_between(low, high)), 100 * part)
        for k in ks
        for when, (low, high) in spans.items()
    }
    table = pl.DataFrame([{"k": k, **{f"{when}, %": shares[k, when].text(1) for when in spans}} for k in ks])
    lines = (
        rows.with_columns(time_s=(pl.col("time_s") / 5).floor() * 5)
        .group_by("k", "time_s", maintain_order=True)
        .agg(share=100 * part)
        .with_columns(k=pl.format("k = {}", "k"))
    )
    chart = (
        alt.Chart(lines)
        .mark_line(strokeWidth=1.4)
        .encode(
            x=alt.X("time_s:Q", title="time, s"),
            y=alt.Y("share:Q", title="traffic on path 1, %", scale=alt.Scale(domain=(0, 100))),
            color=alt.Color("k:N", title=None),
        )
        .properties(width=480, height=220)
    )
    return Outcome(
        [
            truth(
                "short-flows",
                "Twenty more flows on path 1 for 20 s: MPPERT moves traffic off it, and back when they have gone, for "
                "every k",
                "; ".join(
                    f"k = {k:g}: {', '.join(shares[k, when].text(0) for when in spans)} % before, during, after"
                    for k in ks
                ),
                every(
                    *(less(shares[k, "during"], shares[k, "before"], whole=100) for k in ks),
                    *(less(shares[k, "during"], shares[k, "after"], whole=100) for k in ks),
                ),
            )
        ],
        tables=[("Part of the traffic on path 1", table)],
        figures=[("Part of the traffic on path 1, means over the seeds and 5 s; more flows from 60 to 80 s", chart)],
    )


def _burst(k: float) -> dict[str, Any]:
    """40(20)+40(20), and 20 flows more on the first for a time."""
    begin, end = _BURST_S
    links = {"one": networks.link(40, 40), "two": networks.link(40, 40)}
    connections = networks.background("one", 20, "pert") | networks.background("two", 20, "pert")
    connections["short"] = networks.single("one", "pert", 20, start=[f"{begin} s", f"{begin + 2} s"], stop=f"{end} s")
    connections["multi"] = networks.multi(("one", "two"), networks.mppert(k))
    return networks.scenario(links, connections, (30, 90), "1 s")


_NUMBERS: Final = (1, 2, 4, 8)


def future_data_centre(context: Context) -> Outcome:
    """A fat tree of 16 hosts of which each sends to one other: single PERT flows, and MPPERT with several subflows."""
    seeds = networks.seeds(context.quick, 5)
    cases: dict[str, dict[str, Any]] = {"PERT": {"protocol": "tcp", "congestion": "pert"}}
    for count in _NUMBERS:
        cases[f"MPPERT, {count}"] = {"congestion": networks.mppert(0.0), "subflows": count}
    runs = run(
        context, [({"case": name}, _fat_tree(traffic), seed) for name, traffic in cases.items() for seed in seeds]
    )
    found = {
        name: by_seed(runs.connections.filter(pl.col("case") == name), pl.col("goodput_bps").mean() / 1e6)
        for name in cases
    }
    table = pl.DataFrame([{"": name, "goodput of a host, Mbit/s": each.text(1)} for name, each in found.items()])
    paths = 4
    return Outcome(
        [
            truth(
                "data-centre",
                "In a fat tree with permutation traffic MPPERT (8 subflows) carries considerably more than single-path "
                "PERT",
                f"{found['MPPERT, 8'].text(1)} against {found['PERT'].text(1)} Mbit/s for each host",
                less(found["PERT"], found["MPPERT, 8"], far=True),
            ),
            truth(
                "number",
                f"The number of equal-cost paths, {paths} here, predicts how many subflows are enough: fewer carry "
                "less, twice as many the same",
                "; ".join(f"{count}: {found[f'MPPERT, {count}'].text(1)}" for count in _NUMBERS) + " Mbit/s",
                every(
                    less(found["MPPERT, 2"], found[f"MPPERT, {paths}"]),
                    alike(found[f"MPPERT, {paths}"], found[f"MPPERT, {2 * paths}"]),
                ),
                cause="algorithm: subflows take paths by chance: in the mean "
                f"{_taken(paths, paths):.1f} of {paths} paths if they are as many, {_taken(2 * paths, paths):.1f} if "
                "twice as many.",
            ),
        ],
        tables=[("Permutation traffic, 16 hosts at 100 Mbit/s", table)],
        notes=["The thesis names the topology and no numbers; the network is scenarios/fat-tree.toml's."],
    )


def _taken(subflows: int, paths: int) -> float:
    """Paths that subflows take at least once in the mean, each drawing one by itself."""
    return paths * (1 - (1 - 1 / paths) ** subflows)


def _fat_tree(traffic: dict[str, Any]) -> dict[str, Any]:
    return {
        "duration": "4 s",
        "topology": {"kind": "fat-tree", "k": 4, "rate": "100 Mbit/s", "delay": "20 us", "queue": "100 packets"},
        "traffic": {"kind": "permutation", "start": ["0 s", "200 ms"], **traffic},
        "measure": {"warmup": "1 s", "sample": "never"},
    }
