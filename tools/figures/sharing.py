"""Connections that share a bottleneck: how much a control takes beside one TCP, and what wVegas leaves in the queue."""

from mptcplab.plots import Figure, style

from tools.figures import draw
from tools.figures.runs import HUGE, connection, link, run, scenario, subflow_means
from tools.figures.study import Columns, Row, Rows, Study, Table, filled

CONTROLS = ("reno", "cubic", "ewtcp", "coupled", "lia", "olia", "balia", "wvegas")
VARIANTS = tuple(f"{control}, linux" for control in ("lia", "olia", "balia", "wvegas"))
QUEUES = {
    "RED": '{ kind = "red", min = "15 packets", max = "60 packets", limit = "300 packets" }',
    "drop-tail": '"100 packets"',
}


def share(control: str, queue: str) -> Row:
    """Of two subflows over one bottleneck of 15 Mbit/s, beside a TCP of Reno (of CUBIC, for CUBIC)."""
    alone = control if control == "cubic" else "reno"
    name, _, variant = control.partition(", ")
    congestion = f'{{ name = "{name}", variant = "{variant}" }}' if variant else f'"{name}"'
    scene = scenario(
        160,
        link("one", "", 10, access=True),
        link("two", "", 10, access=True),
        link("shared", "15 Mbit/s", 40, queue=QUEUES[queue]),
        '[path.a]\nlinks = ["one", "shared"]\n[path.b]\nlinks = ["two", "shared"]\n',
        connection("m", ["a", "b"], congestion=congestion, receive_buffer=HUGE, start='["0 s", "2 s"]'),
        connection(
            "tcp", ["a"], protocol='"tcp"', congestion=f'"{alone}"', receive_buffer=HUGE, start='["0 s", "2 s"]'
        ),
        warmup_s=40,
    )
    result = run(scene, 5)
    of = {name: float(result.connections.filter(name=name)["goodput_bps"].mean()) / 1e6 for name in ("m", "tcp")}  # type: ignore[arg-type]
    both = of["m"] + of["tcp"]
    return {
        "control": control,
        "queue": queue,
        "goodput_mbps": of["m"],
        "tcp_mbps": of["tcp"],
        "share": of["m"] / both,
        "jain": both**2 / (2 * (of["m"] ** 2 + of["tcp"] ** 2)),
    }


def _share_figure(rows: Rows) -> list[Figure]:
    shown = draw.bars(
        "",
        "share of the connection beside one TCP (%)",
        [
            {"name": row["control"], "series": row["queue"], "x": row["share"] * 100}
            for row in rows
            if row["control"] in CONTROLS
        ],
        dict(zip(QUEUES, style.path_colours(QUEUES).values(), strict=True)),
        {"equal": 50.0, "two flows of three": 200 / 3},
        (0, 100),
    )
    return [draw.figure("shared-bottleneck", shown)]


def _share_table(rows: Rows, part: str) -> Table:
    shown = [row for row in rows if row["control"].partition(", ")[0] == part]
    variant: Columns = {"variant": lambda row: row["control"].partition(", ")[2] or "paper"}
    columns: Columns = {
        **(variant if len(shown) > len(QUEUES) else {}),
        "queue": "{queue}",
        "connection (Mbit/s)": "{goodput_mbps:.2f}",
        "one TCP (Mbit/s)": "{tcp_mbps:.2f}",
        "share": "{share:.2f}",
        "Jain": "{jain:.3f}",
    }
    return filled(shown, columns)


def _share_of(rows: Rows, queue: str, controls: tuple[str, ...]) -> list[float]:
    return [row["share"] for row in rows if row["queue"] == queue and row["control"] in controls]


SHARED = Study(
    "shared-bottleneck",
    ("control", "queue"),
    lambda: [share(control, queue) for control in (*CONTROLS, *VARIANTS) for queue in QUEUES],
    lambda: [share("lia", "RED"), share("reno", "RED")],
    _share_figure,
    _share_table,
    {
        "RED: two uncoupled flows take 60 to 70 %": lambda rows: all(
            0.6 < found < 0.7 for found in _share_of(rows, "RED", ("reno", "cubic"))
        ),
        "RED: coupled ones take 42 to 58 %": lambda rows: all(
            0.42 < found < 0.58 for found in _share_of(rows, "RED", ("ewtcp", "coupled", "lia", "olia", "balia"))
        ),
    },
)

RATES_MBPS = (5.0, 10.0, 20.0)
FORMS = {
    "reno": '"reno"',
    "wvegas": '"wvegas"',
    "wvegas, linux": '{ name = "wvegas", variant = "linux" }',
}


def _queue(form: str, rate_mbps: float, sample: str = "never") -> Row:
    """Two disjoint paths of this rate and of half of it, drop-tail of 100 packets."""
    scene = scenario(
        130,
        link("one", f"{rate_mbps:g} Mbit/s", 40, queue='"100 packets"'),
        link("two", f"{rate_mbps / 2:g} Mbit/s", 40, queue='"100 packets"'),
        connection("m", ["one", "two"], congestion=FORMS[form], receive_buffer=HUGE),
        warmup_s=10,
        sample=sample,
    )
    result = run(scene)
    down = result.links.filter(direction="down")
    row: Row = {"form": form, "rate_mbps": rate_mbps}
    for name in ("one", "two"):
        of = down.filter(name=name)
        row[f"queue_{name}"] = of["queue_mean_packets"].item()
        row[f"used_{name}"] = of["utilization"].item()
    row["goodput_mbps"] = sum(found["goodput_bps"] for found in subflow_means(result, "m")) / 1e6
    if sample != "never":
        queue = result.samples.filter(kind="link", link="one", direction="down").select("time_s", "queue_packets")
        row["samples"] = [[round(t, 3), q] for t, q in queue.iter_rows() if 20 < t <= 50]
    return row


def _delay() -> Rows:
    return [_queue(form, rate, "200 ms" if rate == 10 else "never") for form in FORMS for rate in RATES_MBPS]


def _delay_figure(rows: Rows) -> list[Figure]:
    colours = {"reno": style.algorithm("reno").colour, "wvegas": style.algorithm("wvegas").colour}
    lines = [
        {"x": t, "y": q, "series": row["form"]}
        for row in rows
        if row["form"] in colours
        for t, q in row.get("samples", [])
    ]
    shown = draw.panel(
        "Queue of the 10 Mbit/s path of one connection over 10 and 5 Mbit/s",
        ("time (s)", draw.scale(domain=(20, 50), zero=False), draw.axis()),
        ("queue (packets)", draw.scale(), draw.axis()),
        [],
        lines,
        colours,
        height=220,
    )
    return [draw.figure("wvegas-queue", shown)]


def _delay_table(rows: Rows, _part: str) -> Table:
    columns: Columns = {
        "control": "{form}",
        "paths (Mbit/s)": lambda row: f"{row['rate_mbps']:g}, {row['rate_mbps'] / 2:g}",
        "mean queues (packets)": "{queue_one:.1f}, {queue_two:.1f}",
        "utilisation": "{used_one:.0%}, {used_two:.0%}",
        "goodput (Mbit/s)": "{goodput_mbps:.2f}",
    }
    return filled(rows, columns)


WVEGAS = Study(
    "wvegas-queue",
    ("form", "rate_mbps"),
    _delay,
    lambda: [_queue("wvegas", 10.0), _queue("reno", 10.0)],
    _delay_figure,
    _delay_table,
    {
        "wVegas keeps less than its ten segments queued": lambda rows: all(
            row["queue_one"] + row["queue_two"] < 12 for row in rows if row["form"] != "reno"
        ),
        "Reno fills the links, and the queue": lambda rows: all(
            row["used_one"] > 0.99 and row["queue_one"] > 50 for row in rows if row["form"] == "reno"
        ),
    },
)
