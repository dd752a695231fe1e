"""Where answering to delay is starved: multipath controls beside CUBIC and BBR, over rates, RTTs and queues."""

import math
from typing import Any, Final

import altair as alt
import polars as pl
from mptcplab.plots import Figure, Panel

from tools.figures import draw
from tools.figures.runs import HUGE, connection, link, run, scenario
from tools.figures.study import Row, Rows, Study, Table

COUPLED = ("lia", "olia", "balia", "mppert", "wvegas")
LOSS_BASED = COUPLED[:3]
BBR: Final = {"bbr": '"bbr"', "bbr v1": '{ name = "bbr", variant = "linux" }'}
"""Version 3 and version 1; as a multipath control each subflow has its own."""
RIVALS: Final = {"CUBIC": '"cubic"', "BBR": BBR["bbr"], "BBR v1": BBR["bbr v1"]}
BBR_RIVALS = ("BBR", "BBR v1")
CONTROLS = (*COUPLED, *BBR)
QUEUES = ("drop-tail", "RED", "CoDel")
RATES_MBPS = (1, 10, 100)
RTTS_MS = (10, 60, 300)


def _queue(kind: str, rate_mbps: int, rtt_ms: int) -> str:
    """One bandwidth-delay product in packets, 30 at least; RED between a sixth and a half of it; CoDel's defaults."""
    limit = max(30, round(rate_mbps * rtt_ms / 12))
    red = f'{{ kind = "red", min = "{limit // 6} packets", max = "{limit // 2} packets", limit = "{limit} packets" }}'
    return {"drop-tail": f'"{limit} packets"', "RED": red, "CoDel": '{ kind = "codel" }'}[kind]


def _row(control: str, rival: str, kind: str, rate_mbps: int, rtt_ms: int) -> Row:
    """Two links, on each a TCP flow, and a multipath connection over both."""
    queue = _queue(kind, rate_mbps, rtt_ms)
    name = "cubic" if rival == "CUBIC" else "rival"
    keys: dict[str, str] = {"receive_buffer": HUGE, "start": '["0 s", "2 s"]'}
    single: dict[str, str] = {"protocol": '"tcp"', "congestion": RIVALS[rival], **keys}
    scene = scenario(
        90,
        *(link(name, f"{rate_mbps} Mbit/s", rtt_ms, queue=queue) for name in ("one", "two")),
        connection("m", ["one", "two"], congestion=BBR.get(control, f'"{control}"'), **keys),
        *(connection(f"{name}-{path}", [path], **single) for path in ("one", "two")),
        warmup_s=30,
    )
    result = run(scene, 3)
    means = result.connections.group_by("name", maintain_order=True).agg(pl.col("goodput_bps").mean())
    rates = dict(means.iter_rows())
    down = result.links.filter(direction="down")
    mean_bps = (rates[f"{name}-one"] + rates[f"{name}-two"]) / 2
    return {
        "control": control,
        "rival": rival,
        "queue": kind,
        "rate_mbps": rate_mbps,
        "rtt_ms": rtt_ms,
        "ratio": rates["m"] / mean_bps,
        "queue_ms": 1000 * float(down["queue_mean_packets"].mean() or 0.0) * 12e-3 / rate_mbps,  # type: ignore[arg-type]
    }


def _figures(rows: Rows) -> list[Figure]:
    def drawn(name: str, rivals: tuple[str, ...]) -> Figure:
        parts = [
            (rival, kind, [row for row in rows if (row["rival"], row["queue"]) == (rival, kind)])
            for rival in rivals
            for kind in QUEUES
        ]
        return draw.figure(name, *(_panel(*part) for part in parts))

    return [drawn("starved", ("CUBIC",)), drawn("starved-bbr", ("BBR",))]


def _panel(rival: str, kind: str, rows: Rows) -> Panel:
    """A cell for each control and network: blue takes more than a flow of the rival, red less."""
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
    ).properties(
        title=f"{kind}: goodput of the multipath connection over that of a {rival} flow",
        width=860,
        height=26 * len({row["control"] for row in rows}),
    )
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    return Panel(spec, {"cells": pl.DataFrame(cells)})


def _middle(rows: Rows, control: str, queue: str, rival: str = "CUBIC") -> list[float]:
    """Least, median and most of the ratios."""
    key = (control, rival, queue)
    values = sorted(row["ratio"] for row in rows if (row["control"], row["rival"], row["queue"]) == key)
    return [values[0], values[len(values) // 2], values[-1]]


def _table(rows: Rows, part: str) -> Table:
    """Beside CUBIC; `bbr`: medians beside both versions of BBR."""
    if part == "bbr":
        head = ["control", *(f"{rival}, {queue}" for rival in BBR_RIVALS for queue in QUEUES)]
        return [head] + [
            [
                control,
                *(f"{_middle(rows, control, queue, rival)[1]:.2f}" for rival in BBR_RIVALS for queue in QUEUES),
            ]
            for control in COUPLED
        ]
    head = ["control", *(f"{queue}: least, median, most" for queue in QUEUES)]
    return [head] + [
        [control, *(", ".join(f"{value:.2f}" for value in _middle(rows, control, queue)) for queue in QUEUES)]
        for control in CONTROLS
    ]


def _all(controls: tuple[str, ...], rival: str = "CUBIC", rates: tuple[int, ...] = RATES_MBPS) -> Rows:
    return [
        _row(control, rival, kind, rate_mbps, rtt_ms)
        for control in controls
        for kind in QUEUES
        for rate_mbps in rates
        for rtt_ms in RTTS_MS
    ]


STUDY = Study(
    "starved",
    ("control", "rival", "queue", "rate_mbps", "rtt_ms"),
    lambda: _all(CONTROLS) + [row for rival in BBR_RIVALS for row in _all(COUPLED, rival)],
    lambda: _all(("lia", "wvegas"), rates=(1,)) + _all(("mppert",), "BBR", (1,)),
    _figures,
    _table,
    {
        "on drop-tail those that answer to delay get less than those that answer to loss": lambda rows: all(
            _middle(rows, delay, "drop-tail")[1] < _middle(rows, loss, "drop-tail")[1]
            for delay in ("mppert", "wvegas")
            for loss in LOSS_BASED
        ),
        "beside BBR every coupled control gets less than a BBR flow in the median network at all queues": lambda rows: (
            all(
                _middle(rows, control, queue, rival)[1] < 0.8
                for control in COUPLED
                for queue in QUEUES
                for rival in BBR_RIVALS
            )
        ),
        "at CoDel mppert gets more than on drop-tail, and as much as those that answer to loss": lambda rows: (
            _middle(rows, "mppert", "CoDel")[1] > 3 * _middle(rows, "mppert", "drop-tail")[1]
            and _middle(rows, "mppert", "CoDel")[1] > 0.8 * _middle(rows, "balia", "CoDel")[1]
        ),
    },
)
