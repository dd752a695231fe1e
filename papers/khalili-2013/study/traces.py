"""A two-path flow among TCP users: figures 7 and 8."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import altair as alt
import numpy as np
import polars as pl
from mptcplab.models.checks import Array
from mptcplab.plots import style
from mptcplab.reproduce import Claim, Context, Found, Order, Outcome, Share, at_least, every, part_of

from . import networks
from .numbers import Estimate, estimate, less

OTHER: Final = {True: "OLIA, kernel's form", False: "OLIA, equations"}
"""What stands beside OLIA, by whether that has the equations."""
EVEN: Final = (0.2, 0.8)
"""Beyond these shares of the windows one path has nearly everything."""
SAMPLES_PER_S: Final = 10


@dataclass(frozen=True)
class Trace:
    """The windows of one control on the two paths, a run each."""

    windows: tuple[Estimate, Estimate]
    shares: list[float]
    """The first path's part of the windows, one a run."""
    uneven: Estimate
    """Part of the time in which one path has over 80 % of the windows."""
    longest_s: float
    """The longest such time in a row, of all runs."""
    turns: Estimate
    """How often a minute the path that has over 80 % is another than before."""
    swing: Estimate
    """Standard deviation of the first path's share, averaged over 10 s."""
    single: Estimate
    """Part of the time in which the second path's window is below two segments."""

    @property
    def within(self) -> int:
        """Runs whose share is from 40 to 60 %."""
        return sum(map(_is_even, self.shares))


def _is_even(share: float) -> bool:
    return 0.4 <= share <= 0.6


def _seconds(quick: bool) -> int:
    return 60 if quick else 120


def _other(context: Context) -> str:
    return OTHER[context.machine["form"] == "equations"]


def _run(context: Context, second: int) -> pl.DataFrame:
    seeds = range(1, 4) if context.quick else range(1, 11)
    other = _other(context)
    variant = "linux" if other == OTHER[True] else "paper"
    controls: dict[str, str | dict[str, str]] = {
        "OLIA": "olia",
        other: {"name": "olia", "variant": variant},
        "LIA": "lia",
        "fully coupled": "coupled",
    }
    scenarios = {
        name: networks.as_ran(networks.two_paths(control, second, seconds=_seconds(context.quick)), context)
        for name, control in controls.items()
    }
    runs = context.run_many(
        [({"control": name}, scenario, seed) for name, scenario in scenarios.items() for seed in seeds], samples=True
    )
    assert runs.samples is not None, "they were asked for"
    return runs.samples.filter((pl.col("connection") == "multi") & (pl.col("time_s") > 30))


def _windows(samples: pl.DataFrame, path: str) -> Array:
    return samples.filter(pl.col("path") == path).sort("time_s")["cwnd_segments"].to_numpy()


def trace(samples: pl.DataFrame) -> Trace:
    """What a control does, of the samples of its runs."""
    found: dict[str, list[float]] = {name: [] for name in ("one", "two", "share", "uneven", "turns", "swing", "single")}
    longest = 0
    for seed in samples["seed"].unique(maintain_order=True):
        run = samples.filter(pl.col("seed") == seed)
        one, two = _windows(run, "one"), _windows(run, "two")
        share = one / (one + two)
        side = np.where(share > EVEN[1], 1, np.where(share < EVEN[0], -1, 0))
        stay = 0
        for before, after in pairwise(side.tolist()):
            stay = stay + 1 if after and after == before else 0
            longest = max(longest, stay)
        sides = side[side != 0]
        tens = share[: len(share) // 100 * 100].reshape(-1, 100).mean(axis=1)
        found["one"].append(one.mean())
        found["two"].append(two.mean())
        found["share"].append(one.mean() / (one.mean() + two.mean()))
        found["uneven"].append((side != 0).mean())
        found["turns"].append(float((np.diff(sides) != 0).sum()) / (len(share) / SAMPLES_PER_S / 60))
        found["swing"].append(tens.std())
        found["single"].append((two < 2).mean())
    return Trace(
        (estimate(found["one"]), estimate(found["two"])),
        found["share"],
        estimate(found["uneven"]),
        longest / SAMPLES_PER_S,
        estimate(found["turns"]),
        estimate(found["swing"]),
        estimate(found["single"]),
    )


def _table(traces: dict[str, Trace]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "control": name,
                "mean windows, segments": f"{trace.windows[0].text(1)}; {trace.windows[1].text(1)}",
                "share of the first path": estimate(trace.shares).text(),
                "least and most of the runs": f"{min(trace.shares):.2f} to {max(trace.shares):.2f}",
                "runs within 40 to 60 %": f"{trace.within} of {len(trace.shares)}",
                "time with over 80 % on one path, %": trace.uneven.text(0, 100),
                "longest in a row, s": trace.longest_s,
                "changes of that path a minute": trace.turns.text(1),
                "standard deviation of the share over 10 s": trace.swing.text(2),
                "time with under 2 segments on the second path, %": trace.single.text(0, 100),
            }
            for name, trace in traces.items()
        ]
    )


def _traces(samples: pl.DataFrame) -> dict[str, Trace]:
    """By control: OLIA, its other form, LIA, fully coupled."""
    names = samples["control"].unique(maintain_order=True)
    return {name: trace(samples.filter(pl.col("control") == name)) for name in names}


def _figure(
    samples: pl.DataFrame,
    names: Sequence[str],
    seconds: int,
    column: str = "cwnd_segments",
    title: str = "window, segments",
) -> alt.FacetChart:
    colours = style.path_colours(["one", "two"])
    rows = (
        samples.filter(
            pl.col("control").is_in(list(names)) & (pl.col("seed") == 1) & (pl.col("time_s") <= 30 + seconds)
        )
        .with_columns((pl.col("time_s") - 30).alias("time"), pl.col("path").replace({"one": "first", "two": "second"}))
        .select("control", "path", "time", column)
    )
    values = samples[column].drop_nulls().to_numpy()
    low, most = min(float(values.min()), 0), float(np.quantile(values, 0.999)) or 1
    chart: alt.FacetChart = (
        alt.Chart(rows)
        .mark_line(strokeWidth=1.2, interpolate="step-after", clip=True)
        .encode(
            x=alt.X("time:Q", title="time, s", scale=alt.Scale(domain=(0, seconds))),
            y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(domain=(low, most))),
            color=alt.Color(
                "path:N",
                scale=alt.Scale(domain=["first", "second"], range=[colours["one"], colours["two"]]),
                legend=alt.Legend(title="path"),
            ),
        )
        .properties(width=560, height=110)
        .facet(
            row=alt.Row(
                "control:N", sort=list(names), header=alt.Header(title=None, labelFontSize=12, labelFontWeight="bold")
            )
        )
    )
    return chart


def _alphas(samples: pl.DataFrame, seconds: int) -> tuple[str, alt.FacetChart]:
    """The lower halves of the figures: OLIA's α on each path, and LIA's, which is one."""
    alpha = samples.with_columns(pl.coalesce(pl.col("olia_alpha").fill_nan(None), pl.col("lia_alpha")).alias("alpha"))
    return "α over the same time.", _figure(alpha, ["OLIA", "LIA"], seconds, "alpha", "α")


_SESSIONS: Final = (
    "Sessions last 120 s as on the testbed (a quick run: 60 s) after 30 s of warm-up, links have 10 Mbit/s and the "
    "paper's RED, round trips take about 150 ms."
)


_FLAPPING: Final = (
    "algorithm: OLIA lies between LIA and a fully coupled control (table). A path with a window of a few segments "
    "sends as many a round trip, and is best again (equation 4) only after as many segments without a loss as the "
    "other path has had at best. Until then α is 0 (second figure), and the first term adds (w/Σw)² of a segment a "
    "round trip, which is next to nothing."
)


def figure_7(context: Context) -> Outcome:
    """Five TCP users on each path."""
    samples = _run(context, 5)
    traces = _traces(samples)
    olia, beside, lia, coupled = traces.values()
    form = _other(context)
    share, of_lia = estimate(olia.shares), estimate(lia.shares)
    uneven = [100 * trace.uneven.mean for trace in traces.values()]
    more = olia.uneven.mean - lia.uneven.mean
    flapping = every(
        Share(0.0, Found(max(more, 0.0), more.half)),
        Order(olia.uneven.mean, coupled.uneven.mean, olia.uneven.half, coupled.uneven.half, whole=1.0, far=True),
    )
    return Outcome(
        [
            Claim(
                "both-paths",
                "On two equally good paths OLIA divides its windows evenly, as LIA does",
                "both paths alike",
                f"the first path has {share.text()} of the windows (LIA {of_lia.text()}); within 40 to 60 % in "
                f"{olia.within} of "
                f"{len(olia.shares)} runs ({form} {beside.within}, LIA {lia.within}, fully coupled "
                f"{coupled.within})",
                every(
                    Share(0.5, share.mean, share.half), Share(1.0, part_of(_is_even(share) for share in olia.shares))
                ),
                "chance: the paper shows one run. The share moves over tens of seconds, and "
                f"{olia.within} of {len(olia.shares)} runs here are as that one.",
            ),
            Claim(
                "no-flapping",
                "OLIA does not flap: it does not keep nearly everything on one path",
                "no sign of flappiness",
                f"one path has over 80 % of the windows for {uneven[0]:.0f} % of the time, {olia.longest_s:.0f} s in "
                f"a row at most ({form} "
                f"{uneven[1]:.0f} %, {beside.longest_s:.0f} s; LIA {uneven[2]:.0f} %, "
                f"{lia.longest_s:.0f} s; fully coupled {uneven[3]:.0f} %, {coupled.longest_s:.0f} s)",
                flapping,
                _FLAPPING,
            ),
        ],
        tables=[("Five TCP users on each path", _table(traces))],
        figures=[
            (
                f"Figure 7: windows over {_seconds(context.quick)} s of the first run. Each path is shared with five "
                f"TCP users; a fully coupled "
                "control, which flaps, is shown for comparison.",
                _figure(samples, list(traces), _seconds(context.quick)),
            ),
            _alphas(samples, _seconds(context.quick)),
        ],
        notes=[_SESSIONS],
    )


def figure_8(context: Context) -> Outcome:
    """Five on the first path, ten on the second."""
    samples = _run(context, 10)
    traces = _traces(samples)
    olia, beside, lia, _ = traces.values()
    form = _other(context)
    return Outcome(
        [
            Claim(
                "one-segment",
                "OLIA's window on the congested path is one segment most of the time",
                "1, most of the time",
                f"below two segments for {olia.single.text(0, 100)} % of the time, {olia.windows[1].text(1)} on "
                f"average ({form}: "
                f"{beside.single.text(0, 100)} %, {beside.windows[1].text(1)})",
                at_least(olia.single.mean, 0.5, olia.single.half, whole=1.0),
                "algorithm: a path that has lost nothing for long is best and gains half a segment a round trip until "
                "it loses.",
            ),
            Claim(
                "lia-congested",
                "LIA keeps a significant window on the congested path",
                "significant traffic",
                f"{lia.windows[1].text(1)} segments, OLIA {olia.windows[1].text(1)}",
                less(olia.windows[1], lia.windows[1], far=True),
                "unknown: not traced to a cause.",
            ),
            Claim(
                "lia-good",
                "LIA has less than OLIA on the good path",
                "less",
                f"{lia.windows[0].text(1)} segments, OLIA {olia.windows[0].text(1)}",
                less(lia.windows[0], olia.windows[0]),
                "unknown: not traced to a cause.",
            ),
        ],
        tables=[("Five TCP users on the first path, ten on the second", _table(traces))],
        figures=[
            (
                f"Figure 8: windows over {_seconds(context.quick)} s of the first run. The first path is shared with "
                f"five TCP users, the second "
                "with ten.",
                _figure(samples, ["OLIA", form, "LIA"], _seconds(context.quick)),
            ),
            _alphas(samples, _seconds(context.quick)),
        ],
        notes=[_SESSIONS],
    )
