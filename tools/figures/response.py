"""One flow under random loss beside the response function of its control: Reno and CUBIC."""

import math
from functools import partial

import numpy as np
from mptcplab.models import single_path
from mptcplab.plots import Figure, style

from tools.figures import draw
from tools.figures.runs import HUGE, connection, link, run, scenario, subflow_means
from tools.figures.study import Row, Rows, Study, Table

MSS = 1448
"""Bytes of data of a segment of TCP with timestamps, of 1460 announced."""
RTTS_MS = (20, 100, 200)
LOSSES = {
    "reno": (0.0003, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05),
    "cubic": (0.0001, 0.0003, 0.001, 0.003, 0.01),
}
RTO_S = 0.2


def reno_window(p: float) -> float:
    """Reno's mean window when each segment is lost by itself (Ott, Kemperman and Mathis 1996)."""
    return 1.3098 / math.sqrt(p)


def cubic_window(p: float, rtt_s: float) -> float:
    """RFC 9438 equation 7: a loss at every 1/p-th segment."""
    return float(1.054 * (rtt_s / p) ** 0.75)


def cubic_played(p: float, rtt_s: float) -> float:
    """The mean window of RFC 9438's rules in a fluid, each segment lost by itself: drawn for 1000 flows."""
    beta, c, alpha = 0.7, 0.4, 3 * 0.3 / 1.7
    draws = np.random.default_rng(1)
    flows = 1000
    w_max = np.full(flows, cubic_window(p, rtt_s))
    prior, start = w_max.copy(), beta * w_max
    age, estimate = np.zeros(flows), start.copy()
    step_s, total = rtt_s / 2, 0.0
    steps = int(80 / (p * max(w_max[0], reno_window(p))))
    for at in range(steps):
        k = np.cbrt(np.maximum(w_max - start, 0) / c)
        cubic = c * (age - k) ** 3 + w_max
        w = np.maximum(np.maximum(cubic, estimate), 2)
        if at >= steps // 3:
            total += float(w.mean())
        estimate = estimate + np.where(estimate >= prior, 1.0, alpha) * step_s / rtt_s * np.minimum(1, w / estimate)
        age = age + step_s
        lost = draws.random(flows) < p * w * step_s / rtt_s
        w_max = np.where(lost, np.where(w < w_max, w * (1 + beta) / 2, w), w_max)
        prior, start = np.where(lost, w, prior), np.where(lost, beta * w, start)
        estimate, age = np.where(lost, beta * w, estimate), np.where(lost, 0.0, age)
        w_max = np.maximum(w_max, start)
    return total / (steps - steps // 3)


def measured(control: str, p: float, rtt_ms: float, repeat: int) -> Row:
    """Means of runs of five minutes."""
    scene = scenario(
        300,
        link("a", "1 Gbit/s", rtt_ms, loss=p),
        connection("flow", ["a"], protocol='"tcp"', congestion=f'"{control}"', receive_buffer=HUGE),
        warmup_s=20,
    )
    found = subflow_means(run(scene, repeat), "flow")[0]
    return {
        "loss": p,
        "rtt_ms": float(rtt_ms),
        "window": found["cwnd_mean_segments"],
        "goodput_mbps": found["goodput_bps"] / 1e6,
        "rtt_s": found["rtt_mean_s"],
    }


def _rows(control: str, losses: tuple[float, ...], rtts_ms: tuple[int, ...]) -> Rows:
    rows = []
    for rtt_ms in rtts_ms:
        for p in losses:
            row = measured(control, p, rtt_ms, 3)
            if control == "reno":
                row["law_window"] = reno_window(p)
                row["law_mbps"] = row["law_window"] * MSS * 8 / row["rtt_s"] / 1e6
                rate = single_path.padhye(p, row["rtt_s"], RTO_S, b=1, delivered=True)
                row["padhye_mbps"] = float(rate) * MSS * 8 / 1e6
            else:
                row["rfc_window"] = cubic_window(p, rtt_ms / 1e3)
                row["law_window"] = cubic_played(p, rtt_ms / 1e3)
            rows.append(row)
    return rows


def _figure(control: str, rows: Rows) -> list[Figure]:
    # A colour for each RTT: the paths' palette has enough.
    colours = style.path_colours([f"RTT {rtt} ms" for rtt in RTTS_MS])
    name = "1.31·MSS/(RTT·√p)" if control == "reno" else "the rule, memoryless losses"
    other = "Padhye 1998" if control == "reno" else "RFC 9438, equation 7"
    points, lines = [], []
    for row in rows:
        series = f"RTT {row['rtt_ms']:g} ms"
        if series not in colours:
            continue
        at = {"x": row["loss"] * 100, "series": series}
        points.append({**at, "y": row["goodput_mbps"]})
        per_window = MSS * 8 / (row["rtt_ms"] / 1e3) / 1e6
        lines.append({**at, "y": row["law_window"] * per_window, "theory": name, "series": series})
        second = row["padhye_mbps"] if control == "reno" else row["rfc_window"] * per_window
        lines.append({**at, "y": second, "theory": other, "series": series})
    shown = draw.panel(
        f"{control.upper() if control == 'cubic' else 'Reno'}: goodput under random loss (points: simulated)",
        (
            "loss rate (%)",
            draw.scale(log=True, domain=(80 * LOSSES[control][0], 125 * LOSSES[control][-1])),
            draw.axis(format="~g", values=[100 * p for p in LOSSES[control]]),
        ),
        (
            "goodput (Mbit/s)",
            draw.scale(log=True, domain=(0.2, 100)),
            draw.axis(format="~g", values=[0.2, 0.5, 1, 2, 5, 10, 20, 50, 100], labelOverlap=False),
        ),
        points,
        lines,
        colours,
        theories=[name, other],
        height=300,
    )
    return [draw.figure(f"{control}-response", shown)]


def _table(control: str, rows: Rows, _part: str) -> Table:
    if control == "reno":
        head = ["loss", "mean window", "1.31/√p", "ratio", "goodput (Mbit/s)", "1.31·MSS/(RTT√p)", "ratio", "Padhye"]
    else:
        head = ["loss", "mean window", "rule, memoryless", "ratio", "RFC 9438 eq. 7", "ratio"]
    body = []
    for row in (row for row in rows if row["rtt_ms"] == 100):
        cells = [f"{row['loss'] * 100:g} %", f"{row['window']:.2f}"]
        cells += [f"{row['law_window']:.2f}", f"{row['window'] / row['law_window']:.2f}"]
        if control == "reno":
            cells += [f"{row['goodput_mbps']:.3f}", f"{row['law_mbps']:.3f}"]
            cells += [f"{row['goodput_mbps'] / row['law_mbps']:.2f}", f"{row['padhye_mbps']:.3f}"]
        else:
            cells += [f"{row['rfc_window']:.2f}", f"{row['window'] / row['rfc_window']:.2f}"]
        body.append(cells)
    return [head, *body]


def _close(rows: Rows, within: float, most_loss: float) -> bool:
    return all(abs(row["window"] / row["law_window"] - 1) <= within for row in rows if row["loss"] <= most_loss)


RENO = Study(
    "reno-response",
    ("loss", "rtt_ms"),
    lambda: _rows("reno", LOSSES["reno"], RTTS_MS),
    lambda: _rows("reno", (0.01, 0.02), (100,)),
    partial(_figure, "reno"),
    partial(_table, "reno"),
    {
        "windows within 8 % of 1.31/√p up to 2 %": lambda rows: _close(rows, 0.08, 0.02),
        "goodput within 15 % of the law up to 2 %": lambda rows: all(
            abs(row["goodput_mbps"] / row["law_mbps"] - 1) < 0.15 for row in rows if row["loss"] <= 0.02
        ),
        "goodput above Padhye's": lambda rows: all(row["goodput_mbps"] > row["padhye_mbps"] for row in rows),
    },
)

CUBIC = Study(
    "cubic-response",
    ("loss", "rtt_ms"),
    lambda: _rows("cubic", LOSSES["cubic"], RTTS_MS),
    lambda: _rows("cubic", (0.001, 0.003), (100,)),
    partial(_figure, "cubic"),
    partial(_table, "cubic"),
    {"windows within 15 % of the rule played": lambda rows: _close(rows, 0.15, 1.0)},
)
