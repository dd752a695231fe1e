"""Two disjoint lossy paths: what each coupled control takes of either, beside its balance."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from mptcplab.models import steady_state
from mptcplab.plots import Figure, Panel, style

from tools.figures import draw
from tools.figures.response import RENO
from tools.figures.runs import HUGE, connection, link, run, scenario, subflow_means
from tools.figures.study import Row, Rows, Study, Table, filled

MSS = 1420
CONTROLS = ("ewtcp", "coupled", "lia", "olia", "balia")
RATIOS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
RTTS_MS = (40, 80, 160, 320, 640)
SWEEPS = ("loss-1", "loss-0.2", "rtt")


def law(control: str, p: tuple[float, float], rtt_s: tuple[float, float]) -> Any:  # noqa: ANN401 - an array
    """Windows in balance; LIA with its cap, BALIA with its own decrease."""
    losses, rtts = np.array(p), np.array(rtt_s)
    if control == "lia":
        return steady_state.lia_capped(losses, rtts)
    if control == "balia":
        return steady_state.balia(losses, rtts, decrease="algorithm")
    return getattr(steady_state, control)(losses, rtts)


def two_paths(
    control: str, p: tuple[float, float], rtt_ms: tuple[float, float], repeat: int = 3
) -> list[dict[str, Any]]:
    """Runs of ten minutes; `control` is TOML."""
    scene = scenario(
        600,
        link("one", "1 Gbit/s", rtt_ms[0], loss=p[0]),
        link("two", "1 Gbit/s", rtt_ms[1], loss=p[1]),
        connection("m", ["one", "two"], congestion=control, receive_buffer=HUGE),
        warmup_s=20,
    )
    return subflow_means(run(scene, repeat), "m")


def _row(control: str, sweep: str, value: float) -> Row:
    if sweep == "rtt":
        p, rtt_ms = (0.005, 0.005), (40.0, value)
    else:
        least = float(sweep.removeprefix("loss-")) / 100
        p, rtt_ms = (least, least * value), (100.0, 100.0)
    found = two_paths(f'"{control}"', p, rtt_ms)
    rtt_s = (found[0]["rtt_mean_s"], found[1]["rtt_mean_s"])
    # Equal paths are equal, whatever their measured means differ by.
    mean_s = sum(rtt_s) / 2
    windows = law(control, p, (mean_s, mean_s) if p[0] == p[1] and rtt_ms[0] == rtt_ms[1] else rtt_s)
    row: Row = {"control": control, "sweep": sweep, "loss_2": p[1], "rtt_ms_2": rtt_ms[1]}
    for r, name in enumerate(("1", "2")):
        row[f"goodput_mbps_{name}"] = found[r]["goodput_bps"] / 1e6
        row[f"window_{name}"] = found[r]["cwnd_mean_segments"]
        row[f"law_mbps_{name}"] = float(windows[r]) / rtt_s[r] * MSS * 8 / 1e6
        row[f"law_window_{name}"] = float(windows[r])
    return row


def _values(sweep: str) -> tuple[float, ...]:
    return tuple(float(rtt) for rtt in RTTS_MS) if sweep == "rtt" else RATIOS


def _all(control: str) -> Rows:
    return [_row(control, sweep, value) for sweep in SWEEPS for value in _values(sweep)]


def _panel(rows: Rows, sweep: str, title: str) -> Panel:
    colours = {**style.path_colours(["path 1", "path 2"]), "total": "#444444"}
    points, lines = [], []
    for row in (row for row in rows if row["sweep"] == sweep):
        x = row["rtt_ms_2"] if sweep == "rtt" else row["loss_2"] * 100
        for series, ends in (("path 1", "1"), ("path 2", "2"), ("total", "12")):
            at = {"x": x, "series": series}
            points.append({**at, "y": sum(row[f"goodput_mbps_{end}"] for end in ends)})
            lines.append({**at, "y": sum(row[f"law_mbps_{end}"] for end in ends), "theory": "law"})
    ticks = [100 * value * float(sweep[5:]) / 100 for value in RATIOS] if sweep != "rtt" else list(RTTS_MS)
    x = "RTT of path 2 (ms)" if sweep == "rtt" else "loss rate of path 2 (%)"
    return draw.panel(
        title,
        (x, draw.scale(log=True, domain=(ticks[0] * 0.95, ticks[-1] * 1.05)), draw.axis(values=ticks, format="~g")),
        ("goodput (Mbit/s)", draw.scale(), draw.axis(format="~g")),
        points,
        lines,
        colours,
        shapes={"path 1": "circle", "path 2": "square", "total": "diamond"},
        height=190,
    )


def _figure(control: str, rows: Rows) -> list[Figure]:
    panels = (
        _panel(rows, "loss-1", f"{control}: path 1 loses 1 %; RTT 100 ms on both (points: simulated, lines: law)"),
        _panel(rows, "loss-0.2", "path 1 loses 0.2 %; RTT 100 ms on both"),
        _panel(rows, "rtt", "both lose 0.5 %; RTT of path 1 is 40 ms"),
    )
    return [draw.figure(f"{control}-two-paths", *panels)]


def share(row: Row, what: str) -> float:
    """Of path 1 in the sum of both."""
    one, two = row[f"{what}_1"], row[f"{what}_2"]
    return float(one / (one + two))


def _table(rows: Rows, _part: str) -> Table:
    head = ["losses", "RTTs (ms)", "windows", "law", "share of path 1", "law", "goodput (Mbit/s)", "law"]
    body = []
    for row in rows:
        first = "0.5" if row["sweep"] == "rtt" else row["sweep"].removeprefix("loss-")
        both = row["goodput_mbps_1"] + row["goodput_mbps_2"]
        body.append(
            [
                f"{first}, {row['loss_2'] * 100:g} %",
                f"{40 if row['sweep'] == 'rtt' else 100}, {row['rtt_ms_2']:g}",
                f"{row['window_1']:.1f}, {row['window_2']:.1f}",
                f"{row['law_window_1']:.1f}, {row['law_window_2']:.1f}",
                f"{share(row, 'goodput_mbps'):.2f}",
                f"{share(row, 'law_mbps'):.2f}",
                f"{both:.2f}",
                f"{row['law_mbps_1'] + row['law_mbps_2']:.2f}",
            ]
        )
    return [head, *body]


def _goodput(rows: Rows) -> bool:
    def ratio(row: Row) -> float:
        return float((row["goodput_mbps_1"] + row["goodput_mbps_2"]) / (row["law_mbps_1"] + row["law_mbps_2"]))

    return all(0.7 < ratio(row) < 1.05 for row in rows)


def _shares(within: float, rows: Rows) -> bool:
    return all(abs(share(row, "goodput_mbps") - share(row, "law_mbps")) <= within for row in rows)


def _probes(rows: Rows) -> bool:
    def most(row: Row) -> float:
        return float(1 + 1 / (row["loss_2"] * (row["window_1"] + row["window_2"])))

    worse = [row for row in rows if row["law_mbps_2"] == 0]
    return bool(worse) and all(row["window_2"] < most(row) for row in worse)


def _as_reno(rows: Rows) -> bool:
    reno = next(row["goodput_mbps"] for row in RENO.stored() if (row["loss"], row["rtt_ms"]) == (0.01, 100.0))
    asked = [row for row in rows if row["sweep"] == "loss-1"]
    return all(abs((row["goodput_mbps_1"] + row["goodput_mbps_2"]) / reno - 1) < 0.15 for row in asked)


_BOUNDS: dict[str, dict[str, Callable[[Rows], bool]]] = {
    "ewtcp": {"share of path 1 within 0.06 of the law": partial(_shares, 0.06)},
    "lia": {
        "share of path 1 within 0.08 of the law": partial(_shares, 0.08),
        "goodput within 15 % of Reno's on path 1": _as_reno,
    },
    "balia": {"share of path 1 within 0.1 of the law": partial(_shares, 0.1)},
    "olia": {"on the worse path only the least window and probes": _probes},
    "coupled": {"on the worse path only the least window and probes": _probes},
}

STUDIES = tuple(
    Study(
        f"{control}-two-paths",
        ("sweep", "loss_2", "rtt_ms_2"),
        partial(_all, control),
        partial(lambda control: [_row(control, "loss-1", 2.0)], control),
        partial(_figure, control),
        _table,
        {"goodput 0.7 to 1.05 of the law": _goodput, **_BOUNDS[control]},
    )
    for control in CONTROLS
)


def _variants(controls: tuple[str, ...] = ("lia", "olia", "balia"), rtts_ms: tuple[int, ...] = (10, 100)) -> Rows:
    rows = []
    for rtt_ms in rtts_ms:
        for control in controls:
            for variant in ("paper", "linux"):
                toml = f'{{ name = "{control}", variant = "{variant}" }}'
                one, two = two_paths(toml, (0.002, 0.004), (float(rtt_ms), float(rtt_ms)))
                rows.append(
                    {
                        "control": control,
                        "variant": variant,
                        "rtt_ms": rtt_ms,
                        "window_1": one["cwnd_mean_segments"],
                        "window_2": two["cwnd_mean_segments"],
                        "goodput_mbps": (one["goodput_bps"] + two["goodput_bps"]) / 1e6,
                    }
                )
    return rows


def _variants_table(rows: Rows, part: str) -> Table:
    columns = {
        "RTT": "{rtt_ms} ms",
        "variant": "{variant}",
        "windows": "{window_1:.1f}, {window_2:.1f}",
        "goodput (Mbit/s)": "{goodput_mbps:.2f}",
    }
    return filled((row for row in rows if row["control"] == part), columns)


VARIANTS = Study(
    "variants",
    ("control", "variant", "rtt_ms"),
    lambda: _variants(),
    lambda: _variants(("olia",), (100,)),
    lambda _rows: [],
    _variants_table,
    {
        "the kernel's forms take less, for they count ACKs and round down": lambda rows: all(
            linux["goodput_mbps"] < paper["goodput_mbps"] for paper, linux in zip(rows[::2], rows[1::2], strict=True)
        )
    },
)
