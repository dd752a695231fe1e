"""A download over a fast and a slow path: its time by scheduler and receive buffer."""

from mptcplab.plots import Figure, style

from tools.figures import draw
from tools.figures.runs import connection, link, run, scenario
from tools.figures.study import Columns, Row, Rows, Study, Table, filled

FORMS = {
    "min-rtt": '"min-rtt"',
    "min-rtt, orp": '{ name = "min-rtt", reinjection = "orp" }',
    "round-robin": '"round-robin"',
    "redundant": '"redundant"',
    "blest": '"blest"',
    "linux": '"linux"',
}
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
BUFFERS_KB = (30, 60, 120, 250, 500, 1000, 4000)
SIZE_MB = 8
ALONE = "TCP, fast path"
FLOOR_S = SIZE_MB * 8 / 15 * 1500 / 1420
"""Both links full of packets with 1420 bytes of data from the first moment on."""


def _row(form: str, buffer_kb: int) -> Row:
    """Fast: 10 Mbit/s, 20 ms, 0.1 % lost; slow: 5 Mbit/s, 200 ms. Means of five seeds."""
    keys = {
        "application": f'{{ kind = "file", size = "{SIZE_MB} MB" }}',
        "receive_buffer": f'"{buffer_kb} kB"',
        "congestion": '"reno"',
    }
    if form == ALONE:
        keys |= {"protocol": '"tcp"'}
    else:
        keys |= {"scheduler": FORMS[form]}
    scene = scenario(
        900,
        link("fast", "10 Mbit/s", 20, queue='"50 packets"', loss=0.001),
        link("slow", "5 Mbit/s", 200, queue='"100 packets"'),
        connection("download", ["fast"] if form == ALONE else ["fast", "slow"], **keys),
    )
    result = run(scene, 5)
    frame, subflows = result.connections, result.subflows
    return {
        "form": form,
        "buffer_kb": buffer_kb,
        "completion_s": float(frame["completion_s"].mean()),  # type: ignore[arg-type]
        "share_fast": float(subflows.filter(path="fast")["share"].mean()),  # type: ignore[arg-type]
        "reinjections": float(subflows["reinjections"].sum()) / 5,
        "late_p95_s": float(frame["out_of_order_delay_p95_s"].mean()),  # type: ignore[arg-type]
    }


def _all() -> Rows:
    return [_row(form, buffer_kb) for form in (*FORMS, ALONE) for buffer_kb in BUFFERS_KB]


def _figures(rows: Rows) -> list[Figure]:
    colours = {**style.path_colours(FORMS), ALONE: "#444444"}
    points = [{"x": row["buffer_kb"], "y": row["completion_s"], "series": row["form"]} for row in rows]
    shown = draw.panel(
        f"{SIZE_MB} MB over 10 Mbit/s, 20 ms and 5 Mbit/s, 200 ms",
        (
            "receive buffer (kB)",
            draw.scale(log=True, domain=(25, 5000)),
            draw.axis(values=list(BUFFERS_KB), format="d"),
        ),
        (
            "download time (s)",
            draw.scale(log=True, domain=(4, 60)),
            draw.axis(values=[4, 5, 7, 10, 15, 20, 30, 40, 60], format="d", labelOverlap=False),
        ),
        points,
        [],
        colours,
        shapes={**dict(zip(FORMS, SHAPES, strict=True)), ALONE: "stroke"},
        joined=True,
        height=300,
    )
    return [draw.figure("schedulers", shown)]


def _table(rows: Rows, part: str) -> Table:
    alone = {row["buffer_kb"]: row["completion_s"] for row in rows if row["form"] == ALONE}
    columns: Columns = {
        "scheduler": "{form}",
        "receive buffer (kB)": "{buffer_kb}",
        "time (s)": "{completion_s:.1f}",
        f"{ALONE} (s)": lambda row: f"{alone[row['buffer_kb']]:.1f}",
        "data by the fast path": "{share_fast:.0%}",
        "reinjected segments": "{reinjections:.0f}",
        "late, p95 (ms)": lambda row: f"{row['late_p95_s'] * 1e3:.0f}",
    }
    forms = [
        form for form in FORMS if form.replace(", ", "-") == part or (part == "min-rtt" and form == "min-rtt, orp")
    ]
    return filled((row for row in rows if row["form"] in forms), columns)


def _time(rows: Rows, form: str, buffer_kb: int) -> float:
    return next(float(row["completion_s"]) for row in rows if row["form"] == form and row["buffer_kb"] == buffer_kb)


STUDY = Study(
    "schedulers",
    ("form", "buffer_kb"),
    _all,
    lambda: [_row(form, buffer_kb) for form in ("min-rtt", "min-rtt, orp") for buffer_kb in (60, 4000)],
    _figures,
    _table,
    {
        "none beats both links together": lambda rows: all(row["completion_s"] > FLOOR_S for row in rows),
        "with a small buffer ORP mends what min-rtt loses": lambda rows: (
            _time(rows, "min-rtt, orp", 60) < 0.85 * _time(rows, "min-rtt", 60)
        ),
        "with a small buffer BLEST keeps to the fast path": lambda rows: all(
            row["share_fast"] > 0.95 for row in rows if row["form"] == "blest" and row["buffer_kb"] <= 120
        ),
        "redundant is near TCP on the fast path with a large buffer": lambda rows: (
            abs(_time(rows, "redundant", 4000) / _time(rows, ALONE, 4000) - 1) < 0.1
        ),
        "with a large buffer all others beat TCP on the fast path": lambda rows: all(
            _time(rows, form, 4000) < 0.9 * _time(rows, ALONE, 4000) for form in FORMS if form != "redundant"
        ),
    },
)
