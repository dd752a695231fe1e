"""BBR alone on a clean link, and next to one CUBIC flow behind buffers of several sizes."""

from mptcplab.plots import Figure

from tools.figures import draw
from tools.figures.runs import HUGE, connection, link, run, scenario
from tools.figures.study import Columns, Row, Rows, Study, Table, filled, percent

VERSIONS = {"paper": "version 3", "linux": "version 1"}
CLEAN = ((10, 40), (40, 40), (100, 20), (100, 100))
RATE_MBPS, RTT_MS = 40, 40
BUFFERS = (0.5, 1.0, 2.0, 4.0, 8.0)
COLOURS = {"version 3": "#0072B2", "version 1": "#D55E00"}
SHAPES = {"version 3": "circle", "version 1": "diamond"}


def _flow(name: str, congestion: str, start: str = '"0 s"') -> str:
    return connection(name, ["a"], protocol='"tcp"', congestion=congestion, receive_buffer=HUGE, start=start)


def _bbr(variant: str) -> str:
    return f'{{ name = "bbr", variant = "{variant}" }}'


def _clean(variant: str, rate_mbps: int, rtt_ms: int) -> Row:
    scene = scenario(
        35, link("a", f"{rate_mbps} Mbit/s", rtt_ms, queue='"4 BDP"'), _flow("flow", _bbr(variant)), warmup_s=5
    )
    down = run(scene).links.filter(direction="down")
    bdp = rate_mbps * 1e3 * rtt_ms / 8 / 1500
    return {
        "case": "clean",
        "variant": variant,
        "rate_mbps": rate_mbps,
        "rtt_ms": rtt_ms,
        "buffer": 4.0,
        "utilization": float(down["utilization"].mean() or 0.0),  # type: ignore[arg-type]
        "queue": float(down["queue_mean_packets"].mean() or 0.0) / bdp,  # type: ignore[arg-type]
        "longest": float(down["queue_max_packets"].max() or 0.0) / bdp,  # type: ignore[arg-type]
    }


def _share(variant: str, buffer: float) -> Row:
    scene = scenario(
        60,
        link("a", f"{RATE_MBPS} Mbit/s", RTT_MS, queue=f'"{buffer:g} BDP"'),
        _flow("bbr", _bbr(variant), '["0 s", "1 s"]'),
        _flow("cubic", '"cubic"', '["0 s", "1 s"]'),
        warmup_s=10,
    )
    result = run(scene, 12)
    rates = [float(result.connections.filter(name=n)["goodput_bps"].mean() or 0.0) for n in ("bbr", "cubic")]  # type: ignore[arg-type]
    down = result.links.filter(direction="down")
    return {
        "case": "share",
        "variant": variant,
        "rate_mbps": RATE_MBPS,
        "rtt_ms": RTT_MS,
        "buffer": buffer,
        "share": rates[0] / sum(rates),
        "utilization": float(down["utilization"].mean() or 0.0),  # type: ignore[arg-type]
    }


def _all() -> Rows:
    clean = [_clean(variant, rate, rtt) for variant in VERSIONS for rate, rtt in CLEAN]
    return clean + [_share(variant, buffer) for variant in VERSIONS for buffer in BUFFERS]


def _figures(rows: Rows) -> list[Figure]:
    share = draw.panel(
        "40 Mbit/s, RTT 40 ms: share of one BBR flow next to one CUBIC flow",
        ("buffer (BDP)", draw.scale(log=True, domain=(0.45, 9)), draw.axis(values=list(BUFFERS), format="~g")),
        ("share of the throughput", draw.scale(domain=(0, 1)), draw.axis()),
        [
            {"x": row["buffer"], "y": row["share"], "series": VERSIONS[row["variant"]]}
            for row in rows
            if row["case"] == "share"
        ],
        [],
        COLOURS,
        shapes=SHAPES,
        joined=True,
        height=220,
    )
    return [draw.figure("bbr", share)]


def _table(rows: Rows, part: str) -> Table:
    if part == "clean":
        columns: Columns = {
            "version": lambda row: VERSIONS[row["variant"]].removeprefix("version "),
            "link": "{rate_mbps} Mbit/s",
            "RTT (ms)": "{rtt_ms}",
            "utilisation": "{utilization:.1%}",
            "mean queue (BDP)": "{queue:.2f}",
            "longest queue (BDP)": "{longest:.2f}",
        }
        return filled((row for row in rows if row["case"] == "clean"), columns)
    by = {(row["variant"], row["buffer"]): row for row in rows if row["case"] == "share"}
    return [["buffer (BDP)", "share of version 3", "of version 1", "utilisation with 3", "with 1"]] + [
        [
            f"{buffer:g}",
            *(f"{by[variant, buffer]['share']:.2f}" for variant in VERSIONS),
            *(percent(by[variant, buffer]["utilization"], 1) for variant in VERSIONS),
        ]
        for buffer in BUFFERS
    ]


STUDY = Study(
    "bbr",
    ("case", "variant", "rate_mbps", "rtt_ms", "buffer"),
    _all,
    lambda: [_clean("paper", 10, 40), _clean("linux", 10, 40)],
    _figures,
    _table,
    {
        "a clean link is 95 % full": lambda rows: all(
            row["utilization"] >= 0.95 for row in rows if row["case"] == "clean"
        ),
        "at most 1.25 BDP of queue": lambda rows: all(row["longest"] <= 1.25 for row in rows if row["case"] == "clean"),
        "next to CUBIC in 8 BDP: less than half": lambda rows: all(
            row["share"] < 0.5 for row in rows if row["case"] == "share" and row["buffer"] == 8
        ),
        "next to CUBIC in half a BDP: version 1 has more than half": lambda rows: all(
            row["share"] > 0.5
            for row in rows
            if row["case"] == "share" and (row["buffer"], row["variant"]) == (0.5, "linux")
        ),
    },
)
