"""A data centre: figures 13 and 14, table III."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import numpy as np
import polars as pl
from mptcplab.reproduce import Claim, Context, Equality, Order, Outcome, Share, at_least, below, every, mean_of
from mptcplab.reproduce.context import Wanted
from mptcplab.reproduce.judge import unevenness
from mptcplab.sweeps.frames import Runs

from . import charts, networks
from .numbers import WIRE, Estimate, alike, by_seed, estimate, less, printed

HOSTS: Final = 128
LINK_BPS: Final = 100e6
CONTROLS: Final = ("tcp", "lia", "olia")
NAMES: Final = {"tcp": "TCP", "lia": "MPTCP, LIA", "olia": "MPTCP, OLIA"}


def _static(context: Context) -> list[Wanted]:
    counts = (8,) if context.quick else (1, 2, 3, 4, 5, 6, 7, 8)
    points = [("tcp", 1), *((control, count) for count in reversed(counts) for control in ("lia", "olia"))]
    profile, host_queue = context.machine["simulator-tcp"], context.machine["host-queues"]
    scenarios = {
        point: networks.fat_tree(*point, profile=profile, host_queue=host_queue, quick=context.quick)
        for point in points
    }
    # What no claim is about is a point of the figure, with one seed.
    claimed = {("tcp", 1), ("lia", 8), ("olia", 8)}
    return [
        ({"control": control, "subflows": count}, scenarios[control, count], seed)
        for control, count in points
        for seed in range(1, 4 if (control, count) in claimed and not context.quick else 2)
    ]


def _dynamic(context: Context) -> list[Wanted]:
    seeds = {"htsim": 1} if context.quick else {"htsim": 6, "Linux": 1}
    scenarios = {
        (tcp, control): networks.short_flows(
            control, tcp, host_queue=context.machine["host-queues"], quick=context.quick
        )
        for tcp in seeds
        for control in CONTROLS
    }
    return [
        ({"tcp": tcp, "control": control}, scenario, seed)
        for (tcp, control), scenario in scenarios.items()
        for seed in range(1, seeds[tcp] + 1)
    ]


def _share(rows: pl.DataFrame) -> pl.Series:
    """Each connection's part of its host's link, in packets of 1,500 bytes."""
    factor = WIRE[rows["protocol"][0]]
    return rows["goodput_bps"] * factor / LINK_BPS


def _aggregate(runs: Runs, control: str, count: int, *, packets: bool) -> Estimate:
    """What all hosts have together, in % of what their links carry."""
    rows = runs.connections.filter((pl.col("control") == control) & (pl.col("subflows") == count))
    factor = WIRE[rows["protocol"][0]] if packets else 1.0
    return estimate(by_seed(rows, pl.col("goodput_bps").sum() * factor / (HOSTS * LINK_BPS) * 100))


def _jain(values: pl.Series) -> float:
    x = values.to_numpy()
    return float(x.sum() ** 2 / (len(x) * (x * x).sum()))


def _bars(points: Sequence[dict[str, object]]) -> alt.LayerChart | alt.FacetChart:
    """Figure 13 (a)."""
    frame = pl.DataFrame(points).with_columns(pl.col("control").replace(charts.LABELS).alias("what"))
    scales = charts.scales(CONTROLS)
    base = alt.Chart(frame)
    across = alt.X(
        "subflows:Q", title="subflows", scale=alt.Scale(domain=(0.5, 8.5)), axis=alt.Axis(tickCount=8, format="d")
    )
    label = "aggregate, % of optimal"
    up = alt.Y("value:Q", title=label, scale=alt.Scale(domain=(0, 100)))
    colour = scales["color"]
    chart: alt.LayerChart | alt.FacetChart = alt.layer(
        base.mark_line(strokeWidth=1.2).encode(x=across, y=up, color=colour),
        base.mark_rule(strokeWidth=1.5).encode(x=across, y=alt.Y("low:Q", title=label), y2="high:Q", color=colour),
        base.mark_point(size=60, strokeWidth=1.8).encode(x=across, y=up, color=colour, shape=scales["shape"]),
    ).properties(width=420, height=240)
    return chart


def _ranks(frame: pl.DataFrame) -> alt.Chart:
    """Figure 13 (b)."""
    chart: alt.Chart = (
        alt.Chart(frame.with_columns(pl.col("control").replace(charts.LABELS).alias("what")))
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("rank:Q", title="rank of the host's connection", scale=alt.Scale(domain=(1, HOSTS))),
            y=alt.Y("value:Q", title="throughput, % of optimal", scale=alt.Scale(domain=(0, 100))),
            color=charts.scales(CONTROLS)["color"],
        )
        .properties(width=420, height=240)
    )
    return chart


def figure_13(context: Context) -> Outcome:
    """Long flows, a permutation of 128 hosts."""
    wanted = _static(context)
    runs = context.run_many(wanted)
    points = list(dict.fromkeys((str(labels["control"]), int(str(labels["subflows"]))) for labels, _, _ in wanted))
    rows, spots = [], []
    for control, count in sorted(points, key=lambda point: (CONTROLS.index(point[0]), point[1])):
        packets = _aggregate(runs, control, count, packets=True)
        data = _aggregate(runs, control, count, packets=False)
        rows.append(
            {
                "control": NAMES[control],
                "subflows": count,
                "aggregate, % of optimal": packets.text(1),
                "application data, % of the links' rate": data.text(1),
                "runs": packets.runs,
            }
        )
        spots.append(
            {"control": control, "subflows": count, "value": packets.mean, "low": packets.low, "high": packets.high}
        )
    most = max(count for _, count in points)
    tcp = _aggregate(runs, "tcp", 1, packets=True)
    lia, olia = (_aggregate(runs, control, most, packets=True) for control in ("lia", "olia"))
    ranks, jain, spread, lost = [], {}, {}, {}
    for control in CONTROLS:
        own = (pl.col("control") == control) & (pl.col("subflows") == (1 if control == "tcp" else most))
        first = pl.col("seed") == 1
        ranks += [
            {"control": control, "rank": rank, "value": 100 * value}
            for rank, value in enumerate(sorted(_share(runs.connections.filter(own & first))), start=1)
        ]
        seeds = runs.connections.filter(own).partition_by("seed", maintain_order=True)
        indices = [_jain(_share(seed)) for seed in seeds]
        jain[control] = mean_of(indices)
        spread[control] = mean_of(unevenness(index, HOSTS) for index in indices)
        subflows = runs.subflows.filter(own)
        lost[control] = (
            mean_of(by_seed(subflows, pl.col("loss_rate").mean())),
            mean_of(by_seed(subflows, pl.col("loss_rate").quantile(0.95, "linear"))),
        )

    def loss_text(control: str) -> str:
        mean, most = lost[control]
        return f"{charts.LABELS[control]} {100 * mean:.3f} and {100 * most:.2f} %"

    return Outcome(
        [
            Claim(
                "tcp-poor",
                "Regular TCP, one path a connection, has little more than half of what the tree could carry",
                "poor performance",
                f"{tcp.text(1)} % of optimal",
                less(tcp, olia, far=True),
                "setting: fewer collisions than a random choice of paths would have.",
            ),
            Claim(
                "olia-uses",
                f"OLIA with {most} subflows uses the available capacity",
                "the available capacity",
                f"{olia.text(1)} % of optimal",
                Share(100.0, olia.mean, olia.half, whole=100),
                "setting: windows are still moving between the paths when the measurement begins: more at a longer "
                "run.",
            ),
            Claim(
                "similar",
                "LIA and OLIA perform similarly",
                "similar",
                f"LIA {lia.text(1)} %, OLIA {olia.text(1)} % of optimal with {most} subflows",
                Equality(lia.mean, olia.mean, lia.half, olia.half, whole=100),
                "unknown: not traced to a cause.",
            ),
            Claim(
                "fairer",
                f"With {most} subflows LIA and OLIA are alike in fairness among hosts, and fairer than TCP",
                "fairer than TCP",
                f"Jain's index: TCP {jain['tcp']:.3f}, LIA {jain['lia']:.3f}, OLIA {jain['olia']:.3f}",
                every(
                    Equality(spread["lia"], spread["olia"], whole=1.0),
                    [below(spread[control], spread["tcp"], whole=1.0) for control in ("lia", "olia")],
                ),
                "unknown: not traced to a cause.",
            ),
            Claim(
                "losses-alike",
                "All paths lose alike",
                "similar on all paths",
                f"mean of the subflows' losses and what 95 % of them do not exceed: {loss_text('tcp')}; "
                f"{loss_text('lia')}; "
                f"{loss_text('olia')}",
                every(Equality(*lost[control]) for control in ("lia", "olia")),
                "chance: a subflow sends some thousands of segments while it is measured, and loses one or two of them "
                "or none: "
                "its loss is hardly known. No subflow loses as TCP connections do that share a link with others for "
                "good.",
            ),
        ],
        tables=[
            (
                "Aggregate throughput. Optimal: every host sends packets of 1,500 bytes at its link's rate (as htsim "
                "counts); application "
                "data are 1,448 of them with TCP, 1,420 with Multipath TCP",
                pl.DataFrame(rows),
            )
        ],
        figures=[
            ("Figure 13 (a): aggregate over the number of subflows, with 95 % intervals over the seeds.", _bars(spots)),
            (
                f"Figure 13 (b): throughput of each host's connection, ranked; LIA and OLIA with {most} subflows, "
                f"first seed.",
                _ranks(pl.DataFrame(ranks)),
            ),
        ],
        notes=[
            "A fat tree of 8-port switches, 100 Mbit/s, queues of 100 packets at switches, links of 20 us (with "
            "1 us nothing changes: queues make "
            "the round trips). Each subflow draws one of the 16 paths between pods for itself, so two may share one, "
            "as in htsim.",
        ],
    )


def _flow_times(runs: Runs, tcp: str, control: str) -> dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """By seed, completion times in ms of short flows.

    Those begun in the last half second are left out, as some cannot complete.
    """
    own = (pl.col("tcp") == tcp) & (pl.col("control") == control)
    rows = runs.connections.filter(own & pl.col("name").str.starts_with("short "))
    flows = rows.select("seed", "transfer_times_s", "transfer_starts_s").explode(
        "transfer_times_s", "transfer_starts_s"
    )
    last = flows["transfer_starts_s"].max()
    assert isinstance(last, float)
    kept = flows.drop_nulls().filter(pl.col("transfer_starts_s") < last - 0.5)
    return {
        int(seed): kept.filter(pl.col("seed") == seed)["transfer_times_s"].to_numpy() * 1e3
        for seed in kept["seed"].unique(maintain_order=True)
    }


def _unfinished(runs: Runs, tcp: str, control: str) -> tuple[int, int, float]:
    """Short flows that had not finished by the end, all that began, and the mean in ms if these took the longest time.

    They are left out of the mean, which that could have shortened.
    """
    own = (pl.col("tcp") == tcp) & (pl.col("control") == control)
    rows = runs.connections.filter(own & pl.col("name").str.starts_with("short "))
    begun, complete = (int(rows[column].sum()) for column in ("transfers_begun", "transfers_complete"))
    times = np.concatenate(list(_flow_times(runs, tcp, control).values()))
    late = begun - complete
    return late, begun, float((times.sum() + late * times.max()) / (len(times) + late))


def _core(runs: Runs, tcp: str, control: str) -> Estimate:
    """Utilisation of the links between aggregation and core, %."""
    own = (pl.col("tcp") == tcp) & (pl.col("control") == control)
    rows = runs.links.filter(own & pl.col("name").str.starts_with("agg-"))
    return estimate(by_seed(rows, pl.col("utilization").mean() * 100))


def figure_14(context: Context) -> Outcome:
    """Short flows among long ones: distributions."""
    runs = context.run_many(_dynamic(context))
    seeds = {control: list(_flow_times(runs, "htsim", control).values()) for control in CONTROLS}
    times = {control: np.concatenate(found) for control, found in seeds.items()}
    parts = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
    quantiles = {
        control: [mean_of(float(np.quantile(each, part)) for each in found) for part in parts]
        for control, found in seeds.items()
    }
    table = pl.DataFrame(
        [
            {"long connections": NAMES[control], "flows": len(times[control])}
            | {
                f"{100 * part:g} % done by, ms": float(value)
                for part, value in zip(parts, quantiles[control], strict=True)
            }
            for control in CONTROLS
        ]
    )
    gain = {part: 100 * (1 - o / l_) for part, o, l_ in zip(parts, quantiles["olia"], quantiles["lia"], strict=True)}
    rows = pl.concat(
        [
            pl.DataFrame(
                {
                    "what": [control] * 200,
                    "value": np.quantile(found, np.linspace(0, 0.999, 200)),
                    "part": np.linspace(0, 0.999, 200),
                }
            )
            for control, found in times.items()
        ]
    )
    return Outcome(
        [
            Claim(
                "fast-and-slow",
                "Fast and slow short flows are earlier with OLIA than with LIA",
                "both",
                f"the fastest tenth {gain[0.1]:.1f} %, the median {gain[0.5]:.1f} %, nine tenths {gain[0.9]:.1f} % "
                f"earlier",
                every(
                    below(quantiles["olia"][parts.index(part)], quantiles["lia"][parts.index(part)])
                    for part in (0.1, 0.25, 0.75, 0.9)
                ),
                _DYNAMIC,
            ),
            Claim(
                "slow-gain",
                "Slow flows take over 25 % less time with OLIA than with LIA",
                "more than 25 %",
                f"{gain[0.9]:.1f} % at nine tenths, {gain[0.95]:.1f} % at 95 %, {gain[0.99]:.1f} % at 99 %",
                every(at_least(gain[part], context.published["slow-gain"], whole=100) for part in (0.9, 0.95, 0.99)),
                _DYNAMIC,
            ),
        ],
        tables=[("Completion times of short flows", table)],
        figures=[
            (
                "Figure 14: completion times of flows of 70 kB, by what the long connections run (LIA and OLIA with "
                "8 subflows).",
                charts.distribution(rows, CONTROLS, "completion time, ms", most=200),
            )
        ],
        notes=[_SETTING],
    )


_SETTING: Final = (
    "512 hosts, 16 at each edge switch with 4 links upwards (as htsim's oversubscribed tree), 100 Mbit/s, queues of "
    "100 packets at switches. A third "
    "sends without end, the others 70 kB every 200 ms on average over TCP. Flows of the last half second are left "
    "out. The paper gives neither "
    "the number of hosts nor what exactly the utilisation of the core is of; here it is the mean over the links "
    "between aggregation and core."
)
_DYNAMIC: Final = (
    "machine: a few per cent of the flows wait for a retransmission timer, that of a first segment above all; they "
    "make up most of the standard deviation and part of the mean: see the fastest 95 % in the table. The published "
    "deviations leave hardly room for such waits. They weigh most among long TCP connections, which keep the links on "
    "which they collide full for good; the median flow is earlier among these, as published."
)


def _found(runs: Runs, tcp: str, control: str) -> tuple[Estimate, Estimate, Estimate]:
    """Mean and standard deviation of the completion times in ms, utilisation of the core in %."""
    times = _flow_times(runs, tcp, control).values()
    return (
        estimate([float(each.mean()) for each in times]),
        estimate([float(each.std()) for each in times]),
        _core(runs, tcp, control),
    )


def _fastest(runs: Runs, tcp: str, control: str) -> str:
    """Mean and standard deviation in ms without the slowest twentieth of the flows."""
    times = np.concatenate(list(_flow_times(runs, tcp, control).values()))
    kept = times[times <= np.quantile(times, 0.95)]
    return f"{kept.mean():.1f} ± {kept.std():.1f}"


_WHAT: Final = (
    ("mean", "Short flows take {} on average among long connections of {}", "ms"),
    ("stdev", "The standard deviation of their times is {} with {}", "ms"),
    ("core", "The core is used to {} with {}", "%"),
)


def table_3(context: Context) -> Outcome:
    """Short flows among long ones: means, and the core."""
    wanted = _dynamic(context)
    runs = context.run_many(wanted)
    claims, rows = [], []
    means: dict[str, Estimate] = {}
    used: dict[str, Estimate] = {}
    for tcp in dict.fromkeys(str(labels["tcp"]) for labels, _, _ in wanted):
        for control in CONTROLS:
            found = _found(runs, tcp, control)
            theirs = [context.published[f"{control}-{key}"] for key, *_ in _WHAT]
            rows.append(
                {
                    "TCP": tcp,
                    "long connections": NAMES[control],
                    "completion, ms": found[0].text(1),
                    "published": theirs[0],
                    "standard deviation, ms": found[1].text(1),
                    "published ": theirs[1],
                    "the fastest 95 %, ms": _fastest(runs, tcp, control),
                    "not finished by the end": "{} of {}".format(*_unfinished(runs, tcp, control)[:2]),
                    "completion if these took the longest time, ms": _unfinished(runs, tcp, control)[2],
                    "core utilisation, %": found[2].text(1),
                    "published  ": theirs[2],
                }
            )
            if tcp != "htsim":
                continue
            means[control], used[control] = found[0], found[2]
            for (key, text, unit), each, published in zip(_WHAT, found, theirs, strict=True):
                value = f"{published:g} {unit}"
                core = key == "core"
                claims.append(
                    Claim(
                        f"{control}-{key}",
                        text.format(value, NAMES[control]),
                        value,
                        f"{each.text(1)} {unit}",
                        Share(published, each.mean, each.half, whole=100) if core else printed(published, each),
                        _CORE if core else _DYNAMIC,
                    )
                )
    gain = 100 * (1 - means["olia"].mean / means["lia"].mean)
    cores = [_core(runs, "htsim", control).text(1) for control in ("lia", "olia")]
    claims.append(
        Claim(
            "olia-gain",
            "OLIA shortens the mean completion time by 10 % against LIA and uses the core as well",
            "10 %",
            f"{gain:.1f} %; core {cores[0]} and {cores[1]} %",
            every(Share(context.published["olia-gain"], gain, whole=100), alike(used["olia"], used["lia"])),
            _DYNAMIC,
        )
    )
    told = ", ".join(f"{NAMES[control]} {means[control].text(1)} ms" for control in CONTROLS)
    cores_told = ", ".join(f"{NAMES[control]} {used[control].text(1)} %" for control in CONTROLS)
    claims += [
        Claim(
            "tcp-lower",
            "With TCP short flows take less time on average than with either",
            None,
            told,
            every(less(means["tcp"], means[control]) for control in ("lia", "olia")),
            _DYNAMIC,
        ),
        Claim(
            "tcp-lower/core",
            "With TCP the core is used very little",
            None,
            cores_told,
            every(
                Order(used["tcp"].mean, used[control].mean, used["tcp"].half, used[control].half, whole=100, far=True)
                for control in ("lia", "olia")
            ),
            _CORE,
        ),
    ]
    caption = "Short flows of 70 kB among long connections, with TCP as in the paper's simulator and as in Linux today"
    return Outcome(claims, tables=[(caption, pl.DataFrame(rows))], notes=[_SETTING])


_CORE: Final = (
    "setting: what the paper divides by is not said. Ours is the mean over links between aggregation and core, "
    "headers and "
    "acknowledgments counted."
)
