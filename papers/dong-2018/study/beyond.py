"""Beyond the paper: five schedulers under four controls, over a design of networks, with files of today's web.

§6.2.2 concludes that DMPTCP improves on the other schedulers in heterogeneous and homogeneous networks alike, from
three pairs of links, one control and four sizes. Here the pairs fill the ranges that §6.1 announces.
"""

from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl
from mptcplab.designs import wsp
from mptcplab.reproduce import Check, Claim, Context, Outcome, below, every, resampled
from mptcplab.reproduce import Found as Mean
from mptcplab.reproduce.context import Wanted

from . import networks
from .measure import TESTBED, cause, scheduler
from .short import K

CONTROLS: Final = {"lia": "reno", "olia": "reno", "balia": "reno", "cubic": "cubic"}
"""With the control of TCP beside each: coupled ones are Reno on one path."""
SIZES_KB: Final = (18, 78, 131, 613, 1054)
"""What a median page for desktops had of HTML, CSS, fonts, JavaScript and images in October 2024 (HTTP Archive, Web
Almanac 2024, chapter "Page Weight"): each from an origin of its own."""
STARTS_S: Final = (0, 30, 60, 120, 240)
SECONDS: Final = 600
RANGES: Final = (
    ("rate0", 2.0, 100.0), ("rate1", 2.0, 100.0),
    ("rtt0", 20.0, 400.0), ("rtt1", 20.0, 400.0),
    ("loss0", 0.1, 5.0), ("loss1", 0.1, 5.0),
)  # fmt: skip
"""Mbit/s, ms and %, of two paths: the ranges of §6.1, by their logarithms."""
TIE: Final = 0.01
Labels = dict[str, str | int | float | bool | None]


def _points(count: int) -> list[dict[str, float]]:
    """Networks that fill the ranges evenly."""
    unit = wsp(count, len(RANGES), seed=1)
    return [
        {name: float(low * (high / low) ** place) for (name, low, high), place in zip(RANGES, row, strict=True)}
        for row in unit
    ]


def _made(point: dict[str, float], name: str | None, control: str, alone: int | None = None) -> dict[str, Any]:
    """The five files over both paths, or by TCP over the path `alone`."""
    links = {}
    for path in (0, 1):
        made = networks.link(round(point[f"rate{path}"], 3), round(point[f"rtt{path}"], 1))
        links[f"p{path}"] = {**made, "down": {"loss": f"{point[f'loss{path}']:.4g} %"}}
    paths = list(links) if alone is None else [f"p{alone}"]
    connections = {
        f"f{size}": {
            **networks.connection(paths, networks.file(size * K), scheduler(name), congestion=control),
            "direction": "down",
            "start": f"{start} s",
        }
        for size, start in zip(SIZES_KB, STARTS_S, strict=True)
    }
    return networks.scenario(links, connections, SECONDS)


def _times(context: Context, points: list[dict[str, float]], seeds: range) -> pl.DataFrame:
    """Time over that of TCP on the better path, mean of the files, by network, control and scheduler."""
    wanted: list[Wanted] = []
    for number, point in enumerate(points):
        for seed in seeds:
            for control in CONTROLS:
                for name in TESTBED:
                    labels: Labels = {"network": number, "control": control, "scheme": name}
                    wanted.append((labels, _made(point, name, control), seed))
            for control in sorted(set(CONTROLS.values())):
                for path in (0, 1):
                    beside: Labels = {"network": number, "control": control, "scheme": f"TCP {path}"}
                    wanted.append((beside, _made(point, None, control, path), seed))
    rows = context.run_many(wanted).connections
    # What did not end counts as if it had with the run.
    took = pl.col("completion_s").fill_null(SECONDS - pl.col("start_s"))
    # Files as different as 18 and 1,054 KB: the mean of logarithms.
    keys = ["network", "control", "scheme"]
    means = rows.group_by(keys, maintain_order=True).agg(log_s=took.log().mean())
    alone = means.filter(pl.col("scheme").str.starts_with("TCP"))
    better = alone.group_by("network", "control", maintain_order=True).agg(tcp=pl.col("log_s").min())
    multi = means.filter(~pl.col("scheme").str.starts_with("TCP"))
    multi = multi.with_columns(beside=pl.col("control").replace_strict(CONTROLS))
    joined = multi.join(better.rename({"control": "beside"}), on=["network", "beside"], maintain_order="left")
    best = pl.col("log_s").min().over("network", "control")
    return joined.with_columns(
        over_tcp=(pl.col("log_s") - pl.col("tcp")).exp(), regret=(pl.col("log_s") - best).exp() - 1
    ).drop("beside", "tcp")


def _best(rows: pl.DataFrame, points: list[dict[str, float]]) -> pl.DataFrame:
    """By network and control: who is best, and how unequal the paths are."""
    found = []
    for number, control in rows.select("network", "control").unique(maintain_order=True).iter_rows():
        own = rows.filter((pl.col("network") == number) & (pl.col("control") == control)).sort("regret", "scheme")
        near = own.filter(pl.col("regret") <= TIE)
        point = points[number]
        fast, slow = (0, 1) if point["rtt0"] <= point["rtt1"] else (1, 0)
        found.append(
            {
                "network": number,
                "control": control,
                "rtt_ratio": point[f"rtt{slow}"] / point[f"rtt{fast}"],
                "loss_percent": point[f"loss{fast}"],
                "best": near["scheme"][0] if near.height == 1 else "several",
            }
        )
    return pl.DataFrame(found)


def _sooner(rows: pl.DataFrame, control: str, name: str) -> Check:
    """That DMPTCP's mean regret is the smaller: over the same networks, drawn again."""
    wide = (
        rows.filter(pl.col("control") == control)
        .group_by("network", "scheme", maintain_order=True)
        .agg(pl.col("regret").mean())
        .pivot(on="scheme", index="network", values="regret")
    )
    mine, other = wide["dmptcp"].to_numpy(), wide[name].to_numpy()
    gap = resampled(lambda drawn: float(np.mean(other[drawn]) - np.mean(mine[drawn])), len(mine))
    return below(Mean(1 + float(mine.mean())), Mean(1 + float(other.mean()), gap.half))


def section(context: Context) -> Outcome:
    """Which scheduler is best where, regret, and how often TCP on the better path is sooner."""
    points = _points(12 if context.quick else 300)
    rows = _times(context, points, range(1, 2 if context.quick else 3))
    table = rows.group_by("control", "scheme", maintain_order=True).agg(
        mean_regret_percent=100 * pl.col("regret").mean(),
        worst_regret_percent=100 * pl.col("regret").max(),
        best_percent=100 * (pl.col("regret") <= TIE).mean(),
        below_tcp_percent=100 * (pl.col("over_tcp") > 1 + TIE).mean(),
    )
    regret = {
        (control, name): value
        for control, name, value in table.select("control", "scheme", "mean_regret_percent").iter_rows()
    }
    verdict = every([_sooner(rows, control, name) for control in CONTROLS for name in TESTBED if name != "dmptcp"])
    told = "; ".join(
        f"{control}: " + ", ".join(f"{name} {regret[control, name]:.1f}" for name in TESTBED) for control in CONTROLS
    )
    best = _best(rows, points)
    chart = (
        alt.Chart(best)
        .mark_point(filled=True, size=40)
        .encode(
            x=alt.X(
                "rtt_ratio:Q", title="RTT of the slower path over the faster's", scale=alt.Scale(type="log", nice=False)
            ),
            y=alt.Y("loss_percent:Q", title="loss of the faster path, %", scale=alt.Scale(type="log", nice=False)),
            color=alt.Color("best:N", title="best"),
            shape=alt.Shape("best:N", title="best"),
        )
        .properties(width=240, height=200)
        .facet("control:N", columns=2)
    )
    bars = (
        alt.Chart(table)
        .mark_bar()
        .encode(
            x=alt.X("scheme:N", title=None),
            y=alt.Y("mean_regret_percent:Q", title="mean regret, %"),
            column=alt.Column("control:N", title=None),
        )
        .properties(width=120, height=160)
    )
    return Outcome(
        [
            Claim(
                "everywhere",
                "DMPTCP is sooner than the other schedulers, whether the paths are alike or not",
                None,
                f"mean regret to the best of the five, %: {told}",
                verdict,
                cause(verdict, f"By {len(points)} networks over the ranges of §6.1 it is not: the regrets beside."),
            )
        ],
        tables=[
            (
                "Regret to the best of the five, how often each is best (within 1 %), and how often TCP on the better "
                "path is sooner by more than 1 %",
                table,
            )
        ],
        figures=[("Which scheduler is best where", chart), ("Mean regret", bars)],
        notes=[
            f"A WSP design of {len(points)} pairs of paths: 2 to 100 Mbit/s, 20 to 400 ms, 0.1 to 5 % loss.",
            "Files of 18, 78, 131, 613 and 1,054 KB, what a median page has of HTML, CSS, fonts, JavaScript and images "
            "(HTTP Archive, Web Almanac 2024); times are geometric means over them.",
            "The best of five noisy means is better than any is in truth: regrets are a little too large for all.",
        ],
    )
