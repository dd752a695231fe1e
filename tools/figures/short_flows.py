"""Files from 16 KB to 8 MB over a fast and a slow path: their times by scheduler, beside TCP on the fast path."""

from mptcplab.plots import Figure, style

from tools.figures import draw
from tools.figures.runs import connection, link, run, scenario
from tools.figures.study import Columns, Row, Rows, Study, Table, filled

FORMS = {
    "min-rtt": '"min-rtt"',
    "blest": '"blest"',
    "blest, no slow start": '{ name = "blest", slow_start = false }',
    "ecf": '"ecf"',
    "ecf, linux": '{ name = "ecf", variant = "linux" }',
    "dmptcp": '"dmptcp"',
    "otias": '"otias"',
    "otias, linux": '{ name = "otias", variant = "linux" }',
    "daps": '"daps"',
    "sttf": '"sttf"',
}
SHAPES = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
    "arrow",
    "wedge",
)
SIZES_KB = (16, 64, 256, 1024, 8192)
LOSSES = (0.0, 0.01)
SEEDS = 20
ALONE = "TCP, fast path"
MBPS = 8
HALF_FAST_S = 0.01


def _row(form: str, size_kb: int, loss: float) -> Row:
    """8 Mbit/s each, 20 and 100 ms, as Dong 2018 §6.2.1; the sender opens the connection."""
    keys = {
        "application": f'{{ kind = "file", size = "{size_kb} kB" }}',
        "direction": '"up"',
    }
    keys |= {"protocol": '"tcp"'} if form == ALONE else {"scheduler": FORMS[form]}
    lost = f'up.loss = "{100 * loss:g} %"\n' if loss else ""
    scene = scenario(
        300,
        link("fast", f"{MBPS} Mbit/s", 20, queue='"50 packets"') + lost,
        link("slow", f"{MBPS} Mbit/s", 100, queue='"100 packets"') + lost,
        connection("upload", ["fast"] if form == ALONE else ["fast", "slow"], **keys),
    )
    result = run(scene, SEEDS if loss else 1)
    slow = result.subflows.filter(path="slow")
    share = float(slow["share"].fill_null(0).mean() or 0.0) if slow.height else 0.0  # type: ignore[arg-type]
    return {
        "form": form,
        "size_kb": size_kb,
        "loss": loss,
        "completion_s": float(result.connections["completion_s"].mean()),  # type: ignore[arg-type]
        "share_slow": share,
    }


def _all() -> Rows:
    return [_row(form, size, loss) for form in (*FORMS, ALONE) for loss in LOSSES for size in SIZES_KB]


def _figures(rows: Rows) -> list[Figure]:
    colours = {**style.path_colours(FORMS), ALONE: "#444444"}
    alone = {(row["size_kb"], row["loss"]): row["completion_s"] for row in rows if row["form"] == ALONE}
    points = [
        {"x": row["size_kb"], "y": row["completion_s"] / alone[row["size_kb"], row["loss"]], "series": row["form"]}
        for row in rows
        if row["loss"] == LOSSES[1] and row["form"] != ALONE
    ]
    shown = draw.panel(
        "A file over 8 Mbit/s, 20 ms and 8 Mbit/s, 100 ms; 1 % lost on both",
        ("size (kB)", draw.scale(log=True, domain=(12, 10000)), draw.axis(values=list(SIZES_KB), format="d")),
        ("time, of TCP's on the fast path", draw.scale(domain=(0.4, 1.6)), draw.axis()),
        points,
        [],
        {form: colours[form] for form in FORMS},
        shapes=dict(zip(FORMS, SHAPES, strict=False)),
        joined=True,
        height=300,
    )
    return [draw.figure("short-flows", shown)]


def _time(rows: Rows, form: str, size_kb: int, loss: float) -> float:
    found = (row for row in rows if (row["form"], row["size_kb"], row["loss"]) == (form, size_kb, loss))
    return float(next(found)["completion_s"])


def _share(rows: Rows, form: str, size_kb: int, loss: float) -> float:
    found = (row for row in rows if (row["form"], row["size_kb"], row["loss"]) == (form, size_kb, loss))
    return float(next(found)["share_slow"])


def _table(rows: Rows, part: str) -> Table:
    columns: Columns = {
        "scheduler": "{form}",
        "loss": "{loss:.0%}",
        "size (kB)": "{size_kb}",
        "time (s)": "{completion_s:.3f}",
        "min-rtt (s)": lambda row: f"{_time(rows, 'min-rtt', row['size_kb'], row['loss']):.3f}",
        f"{ALONE} (s)": lambda row: f"{_time(rows, ALONE, row['size_kb'], row['loss']):.3f}",
        "data by the slow path": "{share_slow:.0%}",
    }
    forms = [form for form in FORMS if form.split(",")[0] == part]
    return filled((row for row in rows if row["form"] in forms), columns)


def _floor_s(size_kb: int) -> float:
    """Both links full of 1500-byte packets with 1420 bytes of data, and half a round trip."""
    return HALF_FAST_S + size_kb * 8e-3 / (2 * MBPS) * 1500 / 1420


STUDY = Study(
    "short-flows",
    ("form", "size_kb", "loss"),
    _all,
    lambda: [_row(form, size, 0.0) for form in ("ecf", "dmptcp") for size in (64, 1024)],
    _figures,
    _table,
    {
        "nothing beats both links together": lambda rows: all(
            row["completion_s"] > _floor_s(row["size_kb"]) for row in rows
        ),
        "16 kB fit in a first window and are the same for all": lambda rows: all(
            _share(rows, form, 16, 0.0) == 0 for form in FORMS
        ),
        "without loss dmptcp is never later than min-rtt by more than 2 %": lambda rows: all(
            _time(rows, "dmptcp", size, 0.0) <= 1.02 * _time(rows, "min-rtt", size, 0.0) for size in SIZES_KB
        ),
        "without loss ecf is never later than min-rtt by more than 2 %": lambda rows: all(
            _time(rows, "ecf", size, 0.0) <= 1.02 * _time(rows, "min-rtt", size, 0.0) for size in SIZES_KB
        ),
        "dmptcp uses both paths for 8 MB": lambda rows: _share(rows, "dmptcp", 8192, 0.0) > 0.3,
    },
)
