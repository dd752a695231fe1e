"""Section 5.3: fairness at a shared bottleneck, tables 5.3 and 5.4."""

from typing import Final

import altair as alt
import polars as pl
from mptcplab.plots import style
from mptcplab.reproduce import Context, Outcome, compare

from . import charts
from .findings import Claims, median, verdict
from .scenarios import CONTROLS
from .sharing import DELAY_MS, fairness, other_bottlenecks, other_responsiveness, own, responsiveness

_CAPACITY_KBPS: Final = 15_000


def table_5_3(context: Context) -> Outcome:
    """Fairness in the steady state."""
    claims = Claims(context)
    published = context.published
    table = fairness(context)
    for control in CONTROLS:
        rows = own(table, control)
        found = {key: median(rows[key]) for key in ("mptcp", "tcp", "jain", "utilization")}
        total = median(rows["mptcp"] + rows["tcp"])
        theirs = [published[f"{control}.{who}.throughput"] for who in ("mptcp", "tcp")]
        share = theirs[0] / sum(theirs)
        ours = found["mptcp"] / (found["mptcp"] + found["tcp"])
        claims.number(
            f"{control}.mptcp.throughput",
            f"{control}: what the Multipath TCP connection has of both's throughput (kbit/s of each in brackets).",
            f"{share:.1%} ({theirs[0]:.0f} and {theirs[1]:g})",
            f"{ours:.1%} ({found['mptcp']:.0f} and {found['tcp']:.0f})",
            compare(share, ours, 0.05, 0.1, absolute=True),
            covers=[f"{control}.{key}" for key in ("mptcp.used", "tcp.throughput", "tcp.used")],
        )
        claims.number(
            f"{control}.both.used",
            f"{control}: the use of the bottleneck (kbit/s together in brackets).",
            f"{published[f'{control}.both.used']:.2f} % ({published[f'{control}.both.throughput']:.0f})",
            f"{100 * found['utilization']:.2f} % ({total:.0f})",
            compare(published[f"{control}.both.used"], 100 * found["utilization"], 3, 6, absolute=True),
            covers=[f"{control}.both.throughput"],
        )
        claims.number(
            f"{control}.jain",
            f"{control}: Jain's index of the two connections.",
            published[f"{control}.jain"],
            round(found["jain"], 4),
            "holds" if found["jain"] >= 0.99 else "holds in part" if found["jain"] >= 0.95 else "differs",
        )
    jain = {control: median(own(table, control)["jain"]) for control in CONTROLS}
    shown = ", ".join(f"{control} {value:.4f}" for control, value in jain.items())
    claims.statement("fair", verdict(*(value >= 0.99 for value in jain.values())), shown)
    used = {control: median(own(table, control)["utilization"]) for control in CONTROLS}
    claims.statement(
        "wvegas-unused",
        verdict(*(used["wvegas"] < used[control] - 0.005 for control in CONTROLS[:3])),
        "use of the bottleneck: " + ", ".join(f"{control} {value:.1%}" for control, value in used.items()),
    )
    claims.statement("wvegas-fairest", verdict(jain["wvegas"] == max(jain.values())), shown)
    tables = [
        ("Medians over the seeds; throughput is payload", _shown_5_3(table)),
        ("Jain's index for other bottlenecks: delay and queue, which the thesis does not name", _grid(context)),
    ]
    return Outcome(
        claims.all,
        tables=tables,
        figures=[("Jain's index as a function of the queue, delay 13 ms", _grid_chart(context))],
        notes=[
            "The thesis says that with one bottleneck its parameters have no impact on fairness. They have: the grid.",
            "The form linux is the integer arithmetic of the kernel's modules, which counts ACKs and not segments: "
            "with delayed ACKs a window grows half as fast as a TCP's, and the connection gets less than its half. "
            "The thesis's numbers lie nearer to the equations (paper), and the claims take these.",
        ],
    )


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
        rows = own(table, control)
        for column, name in names.items():
            value, key = median(rows[column]), f"{control}.{name}.throughput"
            claims.number(
                key,
                f"{control}, {texts[column]}: its throughput in kbit/s (part of the capacity in brackets).",
                f"{published[key]:.0f} ({published[f'{control}.{name}.used']:.1f} %)",
                f"{value:.0f} ({100 * value / _CAPACITY_KBPS:.1f} %)",
                compare(published[key], value, 0.1, 0.2),
                covers=[f"{control}.{name}.used"],
            )
        both = median(rows["phase_2"] + rows["phase_2_tcp"])
        key = f"{control}.phase-2.both.throughput"
        claims.number(
            key,
            f"{control}, phase II, both together: kbit/s.",
            f"{published[key]:.0f}",
            f"{both:.0f}",
            compare(published[key], both, 0.05, 0.15),
            covers=[f"{control}.phase-2.both.used"],
        )
        jain = median(rows["jain"])
        claims.number(
            f"{control}.phase-2.jain",
            f"{control}, phase II: Jain's index.",
            published[f"{control}.phase-2.jain"],
            round(jain, 4),
            "holds" if jain >= 0.98 else "holds in part" if jain >= 0.95 else "differs",
        )
    found = {
        column: {c: median(own(table, c)[column]) for c in CONTROLS}
        for column in ("jain", "phase_2", "phase_2_tcp", "phase_3")
    }
    listed = {
        column: ", ".join(f"{c} {value:.4f}" if column == "jain" else f"{c} {value:.0f}" for c, value in each.items())
        for column, each in found.items()
    }
    claims.statement(
        "wvegas-fairest",
        verdict(found["jain"]["wvegas"] == max(found["jain"].values())),
        f"Jain's index: {listed['jain']}",
    )
    totals = {c: found["phase_2"][c] + found["phase_2_tcp"][c] for c in CONTROLS}
    claims.statement(
        "olia-best",
        verdict(
            totals["olia"] >= max(totals["lia"], totals["balia"]),
            found["jain"]["olia"] >= max(found["jain"]["lia"], found["jain"]["balia"]),
        ),
        "kbit/s together: "
        + ", ".join(f"{c} {value:.0f}" for c, value in totals.items())
        + f"; Jain's index: {listed['jain']}",
    )
    claims.statement(
        "lia-slowest",
        verdict(found["phase_3"]["lia"] < min(found["phase_3"][c] for c in CONTROLS[1:])),
        f"phase III, kbit/s: {listed['phase_3']}",
    )
    claims.statement(
        "balia-responsive",
        verdict(found["phase_3"]["balia"] > found["phase_3"]["olia"]),
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
        ("Medians over the seeds; throughput is payload", shown),
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
