"""n Reno flows through one queue: how long it is and how well it fills the link, for each discipline."""

import math

from mptcplab.plots import Figure

from tools.figures import draw
from tools.figures.runs import HUGE, connection, link, run, scenario
from tools.figures.study import Columns, Row, Rows, Study, Table, filled

RATE_MBPS, RTT_MS = 10.0, 40.0
PACKET = 1500
PACKETS_PER_S = RATE_MBPS * 1e6 / 8 / PACKET
BDP = PACKETS_PER_S * RTT_MS / 1e3
FLOWS = (1, 2, 4, 8, 16)
LIMITS = (20, 40, 60, 80, 100, 140, 200)
MIN, MAX, MAX_P = 10.0, 40.0, 0.1
QUEUES = {
    "drop-tail": '{ kind = "drop-tail", limit = "100 packets" }',
    "red": f'{{ kind = "red", min = "{MIN:g} packets", max = "{MAX:g} packets", limit = "300 packets", '
    f"max_probability = {MAX_P} }}",
    "codel": '{ kind = "codel" }',
    "fq-codel": '{ kind = "fq-codel" }',
    "pie": '{ kind = "pie" }',
}
COLOURS = {"drop-tail": "#0072B2", "red": "#E69F00", "codel": "#009E73", "fq-codel": "#882255", "pie": "#D55E00"}
SHAPES = {"drop-tail": "circle", "red": "square", "codel": "diamond", "fq-codel": "cross", "pie": "triangle-up"}


def measured(queue: str, flows: int) -> tuple[float, float, float]:
    """Mean queue in packets, utilisation, loss rate of runs of two minutes."""
    scene = scenario(
        130,
        link("a", f"{RATE_MBPS:g} Mbit/s", RTT_MS, queue=queue),
        connection(
            "flow",
            ["a"],
            protocol='"tcp"',
            congestion='"reno"',
            receive_buffer=HUGE,
            count=str(flows),
            start='["0 s", "2 s"]',
        ),
        warmup_s=10,
    )
    down = run(scene, 3).links.filter(direction="down")
    return tuple(float(down[name].mean()) for name in ("queue_mean_packets", "utilization", "loss_rate"))  # type: ignore[arg-type, return-value]


def sawtooth(limit: float) -> float | None:
    """Mean queue of one Reno flow at a drop-tail queue that never runs empty; None where it does.

    The window grows by one in each RTT = w/C, so w² grows evenly in time from (W/2)² to W², and its mean is 7W/9, W
    being what link and queue hold.
    """
    most = limit + BDP
    return 7 / 9 * most - BDP if most / 2 >= BDP else None


def red_balance(flows: int) -> float:
    """Mean queue at which RED's drops make n Reno flows fill the link: n·√(3/2p)/RTT(q) = C.

    Drops spread uniformly over 1 … 1/p_b are regular losses, hence the saw-tooth's constant; their share is
    2p_b/(1 + p_b).
    """

    def drops(q: float) -> float:
        p_b = 0.0 if q < MIN else MAX_P * (q - MIN) / (MAX - MIN)
        if q >= MAX:
            p_b = MAX_P + (1 - MAX_P) * (q - MAX) / MAX
        return 2 * p_b / (1 + p_b)

    low, high = MIN + 1e-9, 2 * MAX
    for _ in range(100):
        q = (low + high) / 2
        rate = flows * math.sqrt(1.5 / drops(q)) / (RTT_MS / 1e3 + q / PACKETS_PER_S)
        low, high = (q, high) if rate > PACKETS_PER_S else (low, q)
    return low


def _row(kind: str, limit: int, flows: int) -> Row:
    queue = f'"{limit} packets"' if limit else QUEUES[kind]
    packets, utilization, loss = measured(queue, flows)
    row: Row = {"kind": kind, "limit": limit, "flows": flows}
    row |= {
        "queue_packets": packets,
        "queue_ms": packets / PACKETS_PER_S * 1e3,
        "utilization": utilization,
        "loss": loss,
    }
    if limit:
        row["law_packets"] = sawtooth(limit)
    elif kind == "red":
        row["law_packets"] = red_balance(flows)
    return row


def _all() -> Rows:
    return [_row("drop-tail", limit, 1) for limit in LIMITS] + [_row(kind, 0, n) for kind in QUEUES for n in FLOWS]


def _figures(rows: Rows) -> list[Figure]:
    flows_axis = ("Reno flows", draw.scale(log=True, domain=(0.9, 18)), draw.axis(values=list(FLOWS), format="d"))
    by_flows = [row for row in rows if not row["limit"]]

    def points(column: str, factor: float = 1.0) -> list[Row]:
        return [{"x": row["flows"], "y": row[column] * factor, "series": row["kind"]} for row in by_flows]

    law = [
        {"x": row["flows"], "y": row["law_packets"] / PACKETS_PER_S * 1e3, "series": "red"}
        for row in by_flows
        if row["kind"] == "red"
    ]
    queue = draw.panel(
        "10 Mbit/s, RTT 40 ms: mean queueing delay (points: simulated; line: RED's balance)",
        flows_axis,
        ("queueing delay (ms)", draw.scale(), draw.axis()),
        points("queue_ms"),
        law,
        COLOURS,
        shapes=SHAPES,
        height=200,
    )
    full = draw.panel(
        "Utilisation of the link",
        flows_axis,
        ("utilisation (%)", draw.scale(domain=(80, 101), zero=False), draw.axis()),
        points("utilization", 100),
        [],
        COLOURS,
        shapes=SHAPES,
        joined=True,
        height=150,
    )
    single = [row for row in rows if row["limit"]]
    tooth = draw.panel(
        "One Reno flow at a drop-tail queue (points: simulated; line: the saw-tooth's mean)",
        ("limit (packets)", draw.scale(domain=(0, 210)), draw.axis()),
        ("mean queue (packets)", draw.scale(), draw.axis()),
        [{"x": row["limit"], "y": row["queue_packets"], "series": "drop-tail"} for row in single],
        [
            {"x": row["limit"], "y": row["law_packets"], "series": "drop-tail"}
            for row in single
            if row["law_packets"] is not None
        ],
        {"drop-tail": COLOURS["drop-tail"]},
        height=200,
    )
    return [draw.figure("queues", queue, full), draw.figure("drop-tail-sawtooth", tooth)]


def _table(rows: Rows, part: str) -> Table:
    if part == "sawtooth":
        of_limits: Columns = {
            "limit (packets)": "{limit}",
            "mean queue (packets)": "{queue_packets:.1f}",
            "saw-tooth": lambda row: "runs empty" if row["law_packets"] is None else f"{row['law_packets']:.1f}",
            "utilisation": "{utilization:.1%}",
        }
        return filled((row for row in rows if row["limit"]), of_limits)
    columns = {
        "flows": "{flows}",
        "mean queue (packets)": "{queue_packets:.1f}",
        **({"balance": "{law_packets:.1f}"} if part == "red" else {}),
        "delay (ms)": "{queue_ms:.1f}",
        "utilisation": "{utilization:.1%}",
        "lost": "{loss:.2%}",
    }
    return filled((row for row in rows if row["kind"] == part and not row["limit"]), columns)


def _close(rows: Rows, kind: str, within: float) -> bool:
    asked = [row for row in rows if row["kind"] == kind and row.get("law_packets")]
    return bool(asked) and all(abs(row["queue_packets"] / row["law_packets"] - 1) < within for row in asked)


STUDY = Study(
    "queues",
    ("kind", "limit", "flows"),
    _all,
    lambda: [_row("drop-tail", 100, 1), _row("red", 0, 4), _row("codel", 0, 4)],
    _figures,
    _table,
    {
        "drop-tail: one flow within 3 % of the saw-tooth": lambda rows: _close(rows, "drop-tail", 0.03),
        "red: within 15 % of its balance with 4 and 8 flows": lambda rows: all(
            abs(row["queue_packets"] / row["law_packets"] - 1) < 0.15
            for row in rows
            if row["kind"] == "red" and row["flows"] in (4, 8)
        ),
        "codel: up to 4 flows below three targets": lambda rows: all(
            row["queue_ms"] < 15 for row in rows if row["kind"] == "codel" and row["flows"] <= 4
        ),
        "pie: from 2 to 16 flows within a third of its target": lambda rows: all(
            abs(row["queue_ms"] / 15 - 1) < 1 / 3 for row in rows if row["kind"] == "pie" and row["flows"] >= 2
        ),
    },
)
