"""Where answering to delay is starved: multipath controls beside CUBIC, over rates, round-trip times and queues."""

import math
from typing import Any

import altair as alt
import polars as pl
from mptcplab.plots import Figure, Panel

from tools.figures import draw
from tools.figures.runs import HUGE, connection, link, run, scenario
from tools.figures.study import Row, Rows, Study, Table

CONTROLS = ("lia", "olia", "balia", "mppert", "wvegas")
LOSS_BASED = CONTROLS[:3]
QUEUES = ("drop-tail", "RED", "CoDel")
RATES_MBPS = (1, 10, 100)
RTTS_MS = (10, 60, 300)


def _queue(kind: str, rate_mbps: int, rtt_ms: int) -> str:
    """One bandwidth-delay product in packets, 30 at least; RED between a sixth and a half of it; CoDel's defaults."""
    limit = max(30, round(rate_mbps * rtt_ms / 12))
    red = f'{{ kind = "red", min = "{limit // 6} packets", max = "{limit // 2} packets", limit = "{limit} packets" }}'
    return {"drop-tail": f'"{limit} packets"', "RED": red, "CoDel": '{ kind = "codel" }'}[kind]


def _row(control: str, kind: str, rate_mbps: int, rtt_ms: int) -> Row:
    """Two links, on each a CUBIC, and a multipath connection over both."""
    queue = _queue(kind, rate_mbps, rtt_ms)
    keys: dict[str, str] = {"receive_buffer": HUGE, "start": '["0 s", "2 s"]'}
    cubic: dict[str, str] = {"protocol": '"tcp"', "congestion": '"cubic"', **keys}
    scene = scenario(
        90,
        *(link(name, f"{rate_mbps} Mbit/s", rtt_ms, queue=queue) for name in ("one", "two")),
        connection("m", ["one", "two"], congestion=f'"{control}"', **keys),
        *(connection(f"cubic {name}".replace(" ", "-"), [name], **cubic) for name in ("one", "two")),
        warmup_s=30,
    )
    result = run(scene, 3)
    means = result.connections.group_by("name", maintain_order=True).agg(pl.col("goodput_bps").mean())
    rates = dict(means.iter_rows())
    down = result.links.filter(direction="down")
    mean_bps = (rates["cubic-one"] + rates["cubic-two"]) / 2
    return {
        "control": control,
        "queue": kind,
        "rate_mbps": rate_mbps,
        "rtt_ms": rtt_ms,
        "ratio": rates["m"] / mean_bps,
        "queue_ms": 1000 * float(down["queue_mean_packets"].mean() or 0.0) * 12e-3 / rate_mbps,  # type: ignore[arg-type]
    }


def _figures(rows: Rows) -> list[Figure]:
    return [draw.figure("starved", *(_panel(kind, [row for row in rows if row["queue"] == kind]) for kind in QUEUES))]


def _panel(kind: str, rows: Rows) -> Panel:
    """A cell for each control and network: blue takes more than a CUBIC flow, red less."""
    cells = [
        {
            "control": row["control"],
            "network": f"{row['rate_mbps']} Mbit/s, {row['rtt_ms']} ms",
            "text": f"{row['ratio']:.2f}",
            "shade": max(-4.0, min(1.0, math.log2(max(row["ratio"], 1e-3)))),
        }
        for row in rows
    ]
    networks = list(dict.fromkeys(cell["network"] for cell in cells))
    base = alt.Chart(alt.NamedData(name="cells")).encode(
        x=alt.X("network:N", title=None, sort=networks, axis=alt.Axis(labelAngle=0, labelFontSize=9)),
        y=alt.Y("control:N", title=None, sort=list(CONTROLS)),
    )
    scale = alt.Scale(domain=[-4, -2, 0, 1], range=["#8c1d18", "#e08a6d", "#f4f1e8", "#3f7fbf"])
    dark = alt.condition("datum.shade < -2.6", alt.value("#ffffff"), alt.value("#222222"))
    chart = alt.layer(
        base.mark_rect(stroke="#ffffff").encode(color=alt.Color("shade:Q", scale=scale, legend=None)),
        base.mark_text(fontSize=11).encode(text="text:N", color=dark),
    ).properties(title=f"{kind}: goodput of the multipath connection over that of a CUBIC flow", width=860, height=130)
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    return Panel(spec, {"cells": pl.DataFrame(cells)})


def _middle(rows: Rows, control: str, queue: str, column: str = "ratio") -> list[float]:
    values = sorted(row[column] for row in rows if (row["control"], row["queue"]) == (control, queue))
    return [values[0], values[len(values) // 2], values[-1]]


def _table(rows: Rows, _: str) -> Table:
    head = ["control", *(f"{queue}: least, median, most" for queue in QUEUES)]
    return [head] + [
        [control, *(", ".join(f"{value:.2f}" for value in _middle(rows, control, queue)) for queue in QUEUES)]
        for control in CONTROLS
    ]


def _all(controls: tuple[str, ...], rates: tuple[int, ...] = RATES_MBPS) -> Rows:
    return [
        _row(control, kind, rate_mbps, rtt_ms)
        for control in controls
        for kind in QUEUES
        for rate_mbps in rates
        for rtt_ms in RTTS_MS
    ]


STUDY = Study(
    "starved",
    ("control", "queue", "rate_mbps", "rtt_ms"),
    lambda: _all(CONTROLS),
    lambda: _all(("lia", "wvegas"), (1,)),
    _figures,
    _table,
    {
        "on drop-tail those that answer to delay get less than those that answer to loss": lambda rows: all(
            _middle(rows, delay, "drop-tail")[1] < _middle(rows, loss, "drop-tail")[1]
            for delay in ("mppert", "wvegas")
            for loss in LOSS_BASED
        ),
        "at CoDel mppert gets more than on drop-tail, and as much as those that answer to loss": lambda rows: (
            _middle(rows, "mppert", "CoDel")[1] > 3 * _middle(rows, "mppert", "drop-tail")[1]
            and _middle(rows, "mppert", "CoDel")[1] > 0.8 * _middle(rows, "balia", "CoDel")[1]
        ),
    },
)
