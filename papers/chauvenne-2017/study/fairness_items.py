"""Section 5.3: fairness at a shared bottleneck, tables 5.3 and 5.4."""

from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt
import polars as pl
from mptcplab.plots import style
from mptcplab.reproduce import Check, Context, Equality, Found, Number, Outcome, Share, at_least, below, every
from mptcplab.reproduce.judge import unevenness

from . import charts
from .findings import Claims, median
from .scenarios import CONTROLS
from .sharing import DELAY_MS, every_segment, fairness, other_bottlenecks, other_responsiveness, own, responsiveness

_CAPACITY_KBPS: Final = 15_000


def table_5_3(context: Context) -> Outcome:
    """Fairness in the steady state."""
    claims = Claims(context)
    published = context.published
    table, each = fairness(context), every_segment(context)
    for control in CONTROLS:
        rows, acknowledged = own(context, table, control), own(context, each, control)
        found = {key: median(rows[key]) for key in ("mptcp", "tcp", "jain", "utilization")}
        total = median(rows["mptcp"] + rows["tcp"])
        for who, text, value in (
            ("mptcp", "the Multipath TCP connection", found["mptcp"]),
            ("tcp", "the TCP connection", found["tcp"]),
            ("both", "both together", total),
        ):
            key = f"{control}.{who}.throughput"
            claims.number(
                key,
                f"{control}: throughput of {text} in kbit/s.",
                published[key],
                round(value),
                Number(published[key], value),
                covers=[f"{control}.{who}.used"] if who != "both" else [],
                cause=_acknowledged(f"{median(acknowledged[who]):.0f} kbit/s") if who != "both" else "",
            )
        key = f"{control}.both.used"
        claims.number(
            key,
            f"{control}: the use of the bottleneck.",
            f"{published[key]:.2f} %",
            f"{100 * found['utilization']:.2f} %",
            Share(published[key], 100 * found["utilization"], whole=100),
        )
        claims.number(
            f"{control}.jain",
            f"{control}: Jain's index of the two connections.",
            published[f"{control}.jain"],
            round(found["jain"], 4),
            _index(published[f"{control}.jain"], median(rows["uneven"])),
            cause=_acknowledged(f"{median(acknowledged['jain']):.4f}"),
        )
    index = {control: median(own(context, table, control)["jain"]) for control in CONTROLS}
    shown = ", ".join(f"{control} {value:.4f}" for control, value in index.items())
    claims.statement("fair", every(at_least(value, 0.99, whole=1.0) for value in index.values()), shown)
    used = {control: median(own(context, table, control)["utilization"]) for control in CONTROLS}
    claims.statement(
        "wvegas-unused",
        every(below(used["wvegas"], used[control], whole=1.0) for control in CONTROLS[:3]),
        "use of the bottleneck: " + ", ".join(f"{control} {value:.1%}" for control, value in used.items()),
    )
    uneven = {control: median(own(context, table, control)["uneven"]) for control in CONTROLS}
    claims.statement("wvegas-fairest", _fairest("wvegas", CONTROLS, uneven), shown)
    claims.statement(
        "wvegas-not-max-min",
        below(used["wvegas"], Found(1.0), whole=1.0),
        f"{1 - used['wvegas']:.1%} of the bottleneck is nobody's, and could be given without taking from anybody",
    )
    tables = [
        ("Medians over the seeds", _shown_5_3(table)),
        ("The same with an acknowledgment for every segment", _shown_5_3(each)),
        ("Jain's index for other bottlenecks: delay and queue, which the thesis does not name", _grid(context)),
    ]
    return Outcome(
        claims.all,
        tables=tables,
        figures=[("Jain's index as a function of the queue, delay 13 ms", _grid_chart(context))],
        notes=[
            "The thesis says that with one bottleneck its parameters have no impact on fairness. They have: the grid.",
            "The form linux is the integer arithmetic of the kernel's modules, which counts ACKs and not segments: "
            "with delayed ACKs a window grows half as fast as a TCP's, and the connection gets less than its half.",
        ],
    )


def _acknowledged(found: str) -> str:
    """What acknowledgments have to do with it, as the runs have it."""
    return (
        "machine: acknowledgments. The kernel's form grows with each of them, and a receiver acknowledges every second "
        f"segment, where a NewReno counts bytes. With an acknowledgment for every segment it is {found}."
    )


def _index(published: float, uneven: Found) -> Check:
    """A printed index of Jain, by the unevenness that it stands for."""
    return Share(unevenness(published), uneven, index=True)


def _fairest(control: str, controls: Sequence[str], uneven: Mapping[str, Found]) -> Check:
    """That one has the best index of Jain: the least unevenness."""
    return every(below(uneven[control], uneven[other], whole=1.0) for other in controls if other != control)


def _shown_5_3(table: pl.DataFrame) -> pl.DataFrame:
    order = {control: number for number, control in enumerate(CONTROLS)}
    return (
        table.group_by("control", "form", maintain_order=True)
        .agg(
            **{
                "Multipath TCP (kbit/s)": pl.col("mptcp").median().round(0),
                "TCP (kbit/s)": pl.col("tcp").median().round(0),
                "both (kbit/s)": (pl.col("mptcp") + pl.col("tcp")).median().round(0),
                "use of the bottleneck": (100 * pl.col("utilization").median()).round(2).cast(pl.String) + " %",
                "Jain's index": pl.col("jain").median().round(4),
                "least of the seeds": pl.col("jain").min().round(4),
            }
        )
        .sort(pl.col("form") == "linux", pl.col("control").replace_strict(order), maintain_order=True)
    )


def _grid(context: Context) -> pl.DataFrame:
    long = (
        other_bottlenecks(context)
        .group_by("delay_ms", "queue", "control", maintain_order=True)
        .agg(pl.col("jain").median().round(3))
    )
    return long.pivot(on="control", index=["delay_ms", "queue"], values="jain").rename(
        {"delay_ms": "delay (ms)", "queue": "queue (packets)"}
    )


def _grid_chart(context: Context) -> alt.TopLevelMixin:
    points = (
        other_bottlenecks(context)
        .filter(pl.col("delay_ms") == DELAY_MS)
        .group_by("queue", "control", maintain_order=True)
        .agg(pl.col("jain").median())
    )
    return charts.curves(
        points,
        x="queue",
        x_title="queue of the bottleneck (packets)",
        y="jain",
        y_title="Jain's index of the two connections",
        series="control",
        colours=charts.control_colours(CONTROLS),
        shapes={control: style.algorithm(control).shape for control in CONTROLS},
        width=460,
    )


def table_5_4(context: Context) -> Outcome:
    """A TCP comes after 40 s and goes after 80 s."""
    claims = Claims(context)
    published = context.published
    table = responsiveness(context)
    names = {
        "phase_1": "phase-1.mptcp",
        "phase_2": "phase-2.mptcp",
        "phase_2_tcp": "phase-2.tcp",
        "phase_3": "phase-3.mptcp",
    }
    texts = {
        "phase_1": "phase I, the Multipath TCP connection alone",
        "phase_2": "phase II, the Multipath TCP connection beside a TCP",
        "phase_2_tcp": "phase II, the TCP",
        "phase_3": "phase III, the Multipath TCP connection alone again",
    }
    for control in CONTROLS:
        rows = own(context, table, control)
        for column, name in names.items():
            value, key = median(rows[column]), f"{control}.{name}.throughput"
            claims.number(
                key,
                f"{control}, {texts[column]}: its throughput in kbit/s (part of the capacity in brackets).",
                f"{published[key]:.0f} ({published[f'{control}.{name}.used']:.1f} %)",
                f"{value:.0f} ({100 * value / _CAPACITY_KBPS:.1f} %)",
                Number(published[key], value),
                covers=[f"{control}.{name}.used"],
            )
        both = median(rows["phase_2"] + rows["phase_2_tcp"])
        key = f"{control}.phase-2.both.throughput"
        claims.number(
            key,
            f"{control}, phase II, both together: kbit/s.",
            f"{published[key]:.0f}",
            f"{both:.0f}",
            Number(published[key], both),
            covers=[f"{control}.phase-2.both.used"],
        )
        index = median(rows["jain"])
        claims.number(
            f"{control}.phase-2.jain",
            f"{control}, phase II: Jain's index.",
            published[f"{control}.phase-2.jain"],
            round(index, 4),
            _index(published[f"{control}.phase-2.jain"], median(rows["uneven"])),
        )
    found = {
        column: {c: median(own(context, table, c)[column]) for c in CONTROLS}
        for column in ("jain", "uneven", "phase_2", "phase_2_tcp", "phase_3")
    }
    listed = {
        column: ", ".join(f"{c} {value:.4f}" if column == "jain" else f"{c} {value:.0f}" for c, value in each.items())
        for column, each in found.items()
    }
    totals = {c: median(own(context, table, c)["phase_2"] + own(context, table, c)["phase_2_tcp"]) for c in CONTROLS}
    before = {c: own(context, fairness(context), c) for c in CONTROLS}
    steady = {c: median(rows["mptcp"] + rows["tcp"]) for c, rows in before.items()}
    claims.statement(
        "wvegas-fairest",
        every(
            _fairest("wvegas", CONTROLS, found["uneven"]),
            Equality(totals["wvegas"], steady["wvegas"]),
            [below(totals[c], steady[c]) for c in CONTROLS[:3]],
        ),
        f"Jain's index: {listed['jain']}; kbit/s together, and in table 5.3: "
        + ", ".join(f"{c} {totals[c]:.0f} and {steady[c]:.0f}" for c in CONTROLS),
    )
    claims.statement(
        "olia-best",
        every(
            [below(totals[c], totals["olia"]) for c in ("lia", "balia")],
            _fairest("olia", CONTROLS[:3], found["uneven"]),
        ),
        "kbit/s together: "
        + ", ".join(f"{c} {value:.0f}" for c, value in totals.items())
        + f"; Jain's index: {listed['jain']}",
    )
    claims.statement(
        "lia-slowest",
        every(below(found["phase_3"]["lia"], found["phase_3"][c]) for c in CONTROLS[1:]),
        f"phase III, kbit/s: {listed['phase_3']}",
    )
    claims.statement(
        "balia-responsive",
        below(found["phase_3"]["olia"], found["phase_3"]["balia"]),
        f"phase III, kbit/s: {listed['phase_3']}",
    )
    shown = (
        table.group_by("control", "form", maintain_order=True)
        .agg(
            **{
                f"{text} (kbit/s)": pl.col(column).median().round(0)
                for column, text in (
                    ("phase_1", "I"),
                    ("phase_2", "II"),
                    ("phase_2_tcp", "II, the TCP"),
                    ("phase_3", "III"),
                )
            },
            **{"Jain's index in II": pl.col("jain").median().round(4)},
        )
        .sort(pl.col("form") == "linux", maintain_order=True)
    )
    tables = [
        ("Medians over the seeds", shown),
        ("Use of the capacity in phases I and III for other bottlenecks, % of payload", _recovery(context)),
    ]
    return Outcome(claims.all, tables=tables)


def _recovery(context: Context) -> pl.DataFrame:
    percent = 100 / _CAPACITY_KBPS
    found = pl.concat([responsiveness(context), other_responsiveness(context)])
    long = found.group_by("delay_ms", "queue", "form", "control", maintain_order=True).agg(
        before=(pl.col("phase_1").mean() * percent).round(1), after=(pl.col("phase_3").mean() * percent).round(1)
    )
    wide = long.pivot(on="control", index=["delay_ms", "queue", "form"], values=["before", "after"])
    names = {
        f"{when}_{control}": f"{control}, {phase}"
        for when, phase in (("before", "I"), ("after", "III"))
        for control in CONTROLS
    }
    return wide.rename({"delay_ms": "delay (ms)", "queue": "queue (packets)"} | names)
