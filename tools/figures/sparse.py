"""A sparse flow beside n Reno flows in one queue: what it waits, for each discipline."""

from mptcplab.plots import Figure

from tools.figures import draw
from tools.figures.queues import COLOURS, QUEUES, SHAPES
from tools.figures.runs import HUGE, connection, link, run, scenario
from tools.figures.study import Columns, Row, Rows, Study, Table, filled

RATE_MBPS, RTT_MS = 100.0, 40.0
PACKET = 1500
FLOWS = (5, 10, 20, 50)
LIMITS = {"drop-tail": '{ kind = "drop-tail", limit = "1 BDP" }'}
KINDS = ("drop-tail", "codel", "pie", "fq-codel")
ALONE_MS = 80.3
"""A new connection's 1 kB without a queue: two round trips and the time to send."""


def _row(kind: str, flows: int) -> Row:
    """Runs of a minute: the bulk flows' queue and what a request of 1 kB, five a second, waits beyond `ALONE_MS`."""
    scene = scenario(
        60,
        link("a", f"{RATE_MBPS:g} Mbit/s", RTT_MS, queue=LIMITS.get(kind, QUEUES[kind])),
        connection(
            "bulk",
            ["a"],
            protocol='"tcp"',
            congestion='"reno"',
            receive_buffer=HUGE,
            count=str(flows),
            start='["0 s", "2 s"]',
        ),
        connection(
            "sparse",
            ["a"],
            protocol='"tcp"',
            application='{ kind = "flows", size = "1 kB", arrivals = { distribution = "poisson", rate = "5 /s" } }',
        ),
        warmup_s=10,
    )
    result = run(scene, 3)
    down = result.links.filter(direction="down")
    columns = result.connections.filter(name="sparse")
    times_s = sorted(time_s for times in columns["transfer_times_s"].to_list() for time_s in times)
    queue_packets, utilization, loss = (
        float(down[name].mean() or 0.0)  # type: ignore[arg-type]
        for name in ("queue_mean_packets", "utilization", "loss_rate")
    )
    return {
        "kind": kind,
        "flows": flows,
        "queue_ms": queue_packets * PACKET * 8 / (RATE_MBPS * 1e3),
        "utilization": utilization,
        "loss": loss,
        "median_ms": times_s[len(times_s) // 2] * 1e3 - ALONE_MS,
        "p90_ms": times_s[len(times_s) * 9 // 10] * 1e3 - ALONE_MS,
    }


def _figures(rows: Rows) -> list[Figure]:
    flows_axis = ("Reno flows", draw.scale(log=True, domain=(4.5, 56)), draw.axis(values=list(FLOWS), format="d"))
    wait = draw.panel(
        "100 Mbit/s, RTT 40 ms: what a request of 1 kB waits beside n Reno flows (median, two round trips)",
        flows_axis,
        ("waiting (ms)", draw.scale(), draw.axis()),
        [{"x": row["flows"], "y": row["median_ms"], "series": row["kind"]} for row in rows],
        [],
        COLOURS,
        shapes=SHAPES,
        joined=True,
        height=180,
    )
    queue = draw.panel(
        "Mean queueing delay of all packets",
        flows_axis,
        ("queueing delay (ms)", draw.scale(), draw.axis()),
        [{"x": row["flows"], "y": row["queue_ms"], "series": row["kind"]} for row in rows],
        [],
        COLOURS,
        shapes=SHAPES,
        joined=True,
        height=180,
    )
    return [draw.figure("sparse", wait, queue)]


def _table(rows: Rows, part: str) -> Table:
    columns: Columns = {
        "flows": "{flows}",
        "mean delay (ms)": "{queue_ms:.1f}",
        "utilisation": "{utilization:.1%}",
        "lost": "{loss:.2%}",
        "sparse: median wait (ms)": lambda row: f"{max(row['median_ms'], 0):.1f}",
        "90th percentile (ms)": lambda row: f"{max(row['p90_ms'], 0):.1f}",
    }
    return filled((row for row in rows if row["kind"] == part), columns)


STUDY = Study(
    "sparse",
    ("kind", "flows"),
    lambda: [_row(kind, flows) for kind in KINDS for flows in FLOWS],
    lambda: [_row("pie", 5), _row("fq-codel", 5)],
    _figures,
    _table,
    {
        "pie: the mean delay within 2 ms of the target from 5 to 50 flows": lambda rows: all(
            abs(row["queue_ms"] - 15) < 2 for row in rows if row["kind"] == "pie"
        ),
        "fq-codel: a sparse flow's median wait below 1 ms from 5 to 50 flows": lambda rows: all(
            row["median_ms"] < 1 for row in rows if row["kind"] == "fq-codel"
        ),
        "fq-codel: and a tenth of drop-tail's or less": lambda rows: all(
            row["median_ms"] < 0.1 * other["median_ms"]
            for row in rows
            for other in rows
            if row["kind"] == "fq-codel" and other["kind"] == "drop-tail" and row["flows"] == other["flows"]
        ),
    },
)
