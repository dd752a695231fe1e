"""DCTCP and Reno or CUBIC through one DualPI2 queue: how they share, and what each waits."""

import math

import altair as alt
from mptcplab.plots import Figure, Panel

from tools.figures import draw
from tools.figures.runs import HUGE, connection, link, run, scenario
from tools.figures.study import Row, Rows, Study, Table, filled

RATE_MBPS = 40.0
RTTS_MS = (10, 20, 40, 80)
FLOWS = (1, 5)
CLASSIC = ("reno", "cubic")
COLOURS = {"1 reno": "#0072B2", "5 reno": "#56B4E9", "1 cubic": "#D55E00", "5 cubic": "#E69F00"}
SHAPES = {"1 reno": "circle", "5 reno": "square", "1 cubic": "diamond", "5 cubic": "triangle-up"}
SERVICE_MS = 1500 * 8 / (RATE_MBPS * 1e3)
RENO = math.sqrt(1.5)
"""Reno's window times the root of the drop probability, with regular drops."""


def _row(classic: str, flows: int, rtt_ms: int, duration_s: int = 120) -> Row:
    queue = '{ kind = "dualpi2" }'
    scene = scenario(
        duration_s,
        link("a", f"{RATE_MBPS:g} Mbit/s", rtt_ms, queue=queue),
        *(
            connection(
                name,
                ["a"],
                protocol='"tcp"',
                congestion=f'"{control}"',
                receive_buffer=HUGE,
                count=str(flows),
                start='["0 s", "2 s"]',
            )
            for name, control in (("low", "dctcp"), ("classic", classic))
        ),
        warmup_s=20,
    )
    result = run(scene, 2)
    waits: Row = {}
    rates = {}
    for name in ("low", "classic"):
        subflows = result.subflows.filter(connection=name)
        rates[name] = float(subflows["goodput_bps"].mean() or 0.0)  # type: ignore[arg-type]
        waits[f"{name}_ms"] = float(subflows["rtt_mean_s"].mean() or 0.0) * 1e3 - rtt_ms - SERVICE_MS  # type: ignore[arg-type]
    down = result.links.filter(direction="down")
    return {
        "classic": classic,
        "flows": flows,
        "rtt_ms": rtt_ms,
        "ratio": rates["low"] / rates["classic"],
        # Windows of 2/(2p') and 1.22/p', each sent in its own round trip.
        "law": (rtt_ms + waits["classic_ms"]) / (rtt_ms + waits["low_ms"]) / RENO,
        **waits,
        "utilization": float(down["utilization"].mean() or 0.0),  # type: ignore[arg-type]
    }


def _figures(rows: Rows) -> list[Figure]:
    across = ("RTT (ms)", draw.scale(log=True, domain=(9, 90)), draw.axis(values=list(RTTS_MS), format="d"))

    def points(column: str) -> list[Row]:
        return [{"x": r["rtt_ms"], "y": r[column], "series": f"{r['flows']} {r['classic']}"} for r in rows]

    def over_rtt(title: str, up: tuple[str, alt.Scale, alt.Axis], column: str, height: int) -> Panel:
        return draw.panel(title, across, up, points(column), [], COLOURS, shapes=SHAPES, joined=True, height=height)

    ratio = over_rtt(
        "40 Mbit/s: rate of a DCTCP flow over that of a classic one, n of each",
        ("ratio", draw.scale(log=True, domain=(0.4, 2.6)), draw.axis(values=[0.5, 1, 2], format=".1f")),
        "ratio",
        180,
    )
    wait = over_rtt(
        "Mean queueing delay of the classic flows",
        ("delay (ms)", draw.scale(domain=(0, 20)), draw.axis()),
        "classic_ms",
        150,
    )
    low = over_rtt(
        "Mean queueing delay of the DCTCP flows",
        ("delay (ms)", draw.scale(domain=(0, 3)), draw.axis()),
        "low_ms",
        150,
    )
    return [draw.figure("dualpi2", ratio, wait, low)]


def _table(rows: Rows, part: str) -> Table:
    columns = {
        "classic": "{classic}",
        "flows of each": "{flows}",
        "RTT (ms)": "{rtt_ms}",
        "DCTCP / classic": "{ratio:.2f}",
        "law": "{law:.2f}",
        "DCTCP waits (ms)": "{low_ms:.1f}",
        "classic waits (ms)": "{classic_ms:.1f}",
        "utilisation": "{utilization:.1%}",
    }
    return filled((row for row in rows if part in ("", row["classic"])), columns)


STUDY = Study(
    "dualpi2",
    ("classic", "flows", "rtt_ms"),
    lambda: [_row(classic, flows, rtt) for classic in CLASSIC for flows in FLOWS for rtt in RTTS_MS],
    lambda: [_row("reno", 1, 20)],
    _figures,
    _table,
    {
        "a DCTCP flow gets between half and twice as much as a classic one, where these keep a queue": lambda rows: all(
            0.5 <= row["ratio"] <= 2 for row in rows if row["classic_ms"] > 10
        ),
        "five Reno flows: within a quarter of the law of the coupling": lambda rows: all(
            abs(row["ratio"] / row["law"] - 1) < 0.25 for row in rows if (row["flows"], row["classic"]) == (5, "reno")
        ),
        "one DCTCP flow waits less than 1 ms, five less than 3 ms": lambda rows: all(
            row["low_ms"] < (1 if row["flows"] == 1 else 3) for row in rows
        ),
        "five of each: the classic queue within 4 ms of its target": lambda rows: all(
            abs(row["classic_ms"] - 15) < 4 for row in rows if row["flows"] == 5
        ),
    },
)
