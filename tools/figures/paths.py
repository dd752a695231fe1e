"""Which subflows each path manager opens, and what it does when the first path is down for ten seconds."""

import polars as pl
from mptcplab.plots import Figure, style

from tools.figures import draw
from tools.figures.runs import connection, link, run, scenario
from tools.figures.study import Row, Rows, Study, Table

FORMS = {
    "default": '"default"',
    "fullmesh": '"fullmesh"',
    "ndiffports": '{ name = "ndiffports", subflows = 3 }',
    "backup": '"backup"',
    "binder": '"binder"',
}
PHASES = {"before": (2.0, 10.0), "while": (12.0, 20.0), "after": (22.0, 40.0)}
"""Two seconds are left to each change."""


def _row(form: str) -> Row:
    scene = scenario(
        40,
        link("wifi", "10 Mbit/s", 30, queue='"100 ms"'),
        link("lte", "5 Mbit/s", 60, queue='"100 ms"'),
        connection("m", ["wifi", "lte"], path_manager=FORMS[form]),
        '[[event]]\nat = "10 s"\nlink = "wifi"\nset = { down = true }\n',
        '[[event]]\nat = "20 s"\nlink = "wifi"\nset = { down = false }\n',
        sample="500 ms",
    )
    result = run(scene)
    samples = result.samples.filter(kind="subflow")
    row: Row = {"form": form, "subflows": result.subflows.sort("subflow")["path"].to_list()}
    for phase, (begin_s, end_s) in PHASES.items():
        for path in ("wifi", "lte"):
            of = samples.filter(pl.col("time_s") > begin_s, pl.col("time_s") <= end_s, path=path)
            row[f"{path}_{phase}_mbps"] = float(of["goodput_bps"].sum()) * 0.5 / (end_s - begin_s) / 1e6
    for path in ("wifi", "lte"):
        sums = samples.filter(path=path).group_by("time_s").agg(pl.col("goodput_bps").sum()).sort("time_s")
        row[f"{path}_samples"] = [[round(t, 3), round(rate / 1e6, 4)] for t, rate in sums.iter_rows()]
    return row


def _figures(rows: Rows) -> list[Figure]:
    colours = style.path_colours(["wifi", "lte"])
    figures = []
    for row in rows:
        lines = [{"x": t, "y": rate, "series": path} for path in colours for t, rate in row[f"{path}_samples"]]
        shown = draw.panel(
            f"{row['form']}: the Wi-Fi is down from 10 to 20 s",
            ("time (s)", draw.scale(domain=(0, 40)), draw.axis()),
            ("goodput (Mbit/s)", draw.scale(domain=(0, 12)), draw.axis()),
            [],
            lines,
            colours,
            height=150,
        )
        figures.append(draw.figure(f"path-manager-{row['form']}", shown))
    return figures


def _table(rows: Rows, part: str) -> Table:
    head = ["path manager", "subflows, as opened", "path", "before (Mbit/s)", "Wi-Fi down", "after"]
    return [head] + [
        [row["form"], ", ".join(row["subflows"]), path, *(f"{row[f'{path}_{phase}_mbps']:.2f}" for phase in PHASES)]
        for row in rows
        if part in ("", row["form"])
        for path in ("wifi", "lte")
    ]


def _is(rows: Rows, form: str, key: str, low: float, high: float) -> bool:
    return all(low <= row[key] <= high for row in rows if row["form"] == form)


STUDY = Study(
    "path-managers",
    ("form",),
    lambda: [_row(form) for form in FORMS],
    lambda: [_row(form) for form in ("fullmesh", "backup")],
    _figures,
    _table,
    {
        "default has one subflow": lambda rows: (
            next(row for row in rows if row["form"] == "default")["subflows"] == ["wifi"]
        ),
        "the others bridge the outage": lambda rows: all(
            _is(rows, form, "lte_while_mbps", 4, 5) for form in ("fullmesh", "backup", "binder")
        ),
        "the backup is idle before": lambda rows: _is(rows, "backup", "lte_before_mbps", 0, 0.01),
        "ndiffports has three subflows over the first path": lambda rows: (
            _is(rows, "ndiffports", "lte_while_mbps", 0, 0)
            and next(row for row in rows if row["form"] == "ndiffports")["subflows"][:3] == ["wifi"] * 3
        ),
    },
)
