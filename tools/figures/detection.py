"""Which subflows share a bottleneck: two methods on 1 000 random networks, over the time that they have measured."""

from mptcplab.plots import Figure, style

from studies.shared_detection import (
    AFTER_S,
    BLIND,
    LASTS_S,
    METHODS,
    Found,
    changes,
    measure,
    rates,
    time_to_decide_s,
)
from tools.figures import draw
from tools.figures.study import Row, Rows, Study, Table, percent

LOADS = {"pert": "PERT", "reno": "Reno"}
FEW = 3
"""Networks of the rows that a test runs again."""
SECONDS = range(5, LASTS_S + 1)


def row(load: str, method: str, found: list[Found]) -> Row:
    """The rates at the moments of the table, and over time for the figure."""
    of: Row = {"load": load, "method": method, "networks": len(found), "changes": changes(found)}
    for after_s in AFTER_S:
        now = rates(found, after_s)
        of |= {f"right_{after_s}": now.right, f"found_{after_s}": now.detected, f"false_{after_s}": now.false_alarms}
    for part in (0.5, 0.9):
        of[f"settled_{part}"] = time_to_decide_s(found, part)
    if len(found) > FEW:
        of["over_time"] = [round(rates(found, after_s).right, 4) for after_s in SECONDS]
    return of


def _rows(count: int) -> Rows:
    seeds = BLIND[:count]
    return [row(load, method, measure(load, method, seeds)) for load in LOADS for method in METHODS]


def _all(rows: Rows) -> Rows:
    return [row for row in rows if row["networks"] > FEW]


def _figures(rows: Rows) -> list[Figure]:
    lines = [
        {"x": after_s, "y": 100 * right, "series": row["method"], "theory": f"{LOADS[row['load']]} load"}
        for row in _all(rows)
        for after_s, right in zip(SECONDS, row["over_time"], strict=True)
    ]
    shown = draw.panel(
        "",
        ("time since the multipath flow began (s)", draw.scale(domain=(5, LASTS_S)), draw.axis()),
        ("networks decided rightly (%)", draw.scale(domain=(0, 100)), draw.axis()),
        [],
        lines,
        dict(zip(METHODS, style.path_colours(METHODS).values(), strict=True)),
        theories=[f"{name} load" for name in LOADS.values()],
    )
    return [draw.figure("shared-detection", shown)]


def _table(rows: Rows, _: str) -> Table:
    head = ["load", "method", "after (s)", "right", "sharers found", "false alarms", "half, 90 % right for good (s)"]

    def time(value: float | None) -> str:
        return "–" if value is None else f"{value:.1f}"

    return [head] + [
        [
            LOADS[row["load"]],
            row["method"],
            str(after_s),
            percent(row[f"right_{after_s}"], 1),
            percent(row[f"found_{after_s}"], 1),
            percent(row[f"false_{after_s}"], 1),
            f"{time(row['settled_0.5'])}, {time(row['settled_0.9'])}" if after_s == AFTER_S[-1] else "",
        ]
        for row in _all(rows)
        for after_s in AFTER_S
    ]


def _at(rows: Rows, load: str, method: str, column: str) -> float:
    return float(next(row[column] for row in _all(rows) if (row["load"], row["method"]) == (load, method)))


STUDY = Study(
    "shared-detection",
    ("load", "method", "networks"),
    lambda: _rows(FEW) + _rows(len(BLIND)),
    lambda: _rows(FEW),
    _figures,
    _table,
    {
        "correlation finds most within 15 s": lambda rows: _at(rows, "pert", "correlation", "right_15") >= 0.9,
        "RFC 8382 decides from 21 s on": lambda rows: all(
            _at(rows, load, "rfc8382", "right_15") == 0 for load in LOADS
        ),
    },
)
