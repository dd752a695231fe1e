"""PERT's queue beside Reno's and the fixed point, and the traffic shift of MPPERT and the ε-family beside their law."""

from mptcplab.models.pert import Response, settled_delay_s
from mptcplab.models.predict import predict
from mptcplab.plots import Figure, style

from tools.figures import draw
from tools.figures.runs import HUGE, connection, link, run, scenario, subflow_means
from tools.figures.study import Columns, Row, Rows, Study, Table, filled

EVERY = "{ segments_per_ack = 1 }"
FLOWS = (2, 5, 10, 20)
BUFFER = 50


def _queue(control: str, flows: int) -> Row:
    """So many flows on 10 Mbit/s, 40 ms, packets of 1000 bytes, a buffer of one bandwidth-delay product."""
    keys = {"protocol": '"tcp"', "congestion": f'"{control}"', "count": f"{flows}", "start": '["0 s", "20 s"]'}
    scene = scenario(
        120,
        link("one", "10 Mbit/s", 40, queue=f'"{BUFFER} packets"'),
        connection("flow", ["one"], mss='"960 B"', tcp=EVERY, **keys),
        warmup_s=60,
    )
    down = run(scene, repeat=5).links.filter(direction="down")
    law = settled_delay_s(Response(0.040), 1250, 0.040, flows) * 1250
    return {
        "control": control,
        "flows": flows,
        "queue": float(down["queue_mean_packets"].median() or 0),  # type: ignore[arg-type]
        "law": law,
        "used": float(down["utilization"].median() or 0),  # type: ignore[arg-type]
        "drops": float(down["drops"].median() or 0),  # type: ignore[arg-type]
        "lossless": int((down["drops"] == 0).sum()),
    }


def _queues() -> Rows:
    return [_queue(control, flows) for control in ("pert", "reno") for flows in FLOWS]


def _queue_figure(rows: Rows) -> list[Figure]:
    colours = {"pert": style.path_colours(["a", "b"])["a"], "reno": style.algorithm("reno").colour}
    points = [{"x": row["flows"], "y": row["queue"] / BUFFER, "series": row["control"]} for row in rows]
    lines = [
        {"x": row["flows"], "y": row["law"] / BUFFER, "series": "pert"} for row in rows if row["control"] == "pert"
    ]
    shown = draw.panel(
        "Mean queue on 10 Mbit/s, 40 ms; line: PERT's fixed point",
        ("flows", draw.scale(), draw.axis()),
        ("part of the buffer", draw.scale(domain=(0, 1)), draw.axis()),
        points,
        lines,
        colours,
        height=220,
    )
    return [draw.figure("pert-queue", shown)]


def _queue_table(rows: Rows, _part: str) -> Table:
    columns: Columns = {
        "control": "{control}",
        "flows": "{flows}",
        "queue (packets)": "{queue:.1f}",
        "fixed point": lambda row: f"{row['law']:.1f}" if row["control"] == "pert" else "",
        "lost in a minute": "{drops:.0f}",
        "runs without loss": "{lossless} of 5",
        "utilisation": "{used:.1%}",
    }
    return filled(rows, columns)


QUEUE = Study(
    "pert-queue",
    ("control", "flows"),
    _queues,
    lambda: [_queue("pert", 10)],
    _queue_figure,
    _queue_table,
    {
        "up to ten PERT flows are within 15 % of the fixed point": lambda rows: all(
            abs(row["queue"] / row["law"] - 1) < 0.15 for row in rows if row["control"] == "pert" and row["flows"] <= 10
        ),
        "most runs of up to ten PERT flows lose nothing": lambda rows: all(
            row["lossless"] >= 3 for row in rows if row["control"] == "pert" and row["flows"] <= 10
        ),
    },
)

FORMS = {
    **{f"mppert {k:g}": f'{{ name = "mppert", k = {k}, alpha_max = 1.0 }}' for k in (1.0, 0.0, -0.5)},
    **{f"epsilon {e:g}": f'{{ name = "epsilon", epsilon = {e} }}' for e in (2.0, 1.0, 0.5)},
}
RATIOS = (1, 2, 4, 9)
LOSS = 0.0005


def _law(form: str, losses: list[float]) -> float:
    name, number = form.split()
    parameter = {"mppert": "k", "epsilon": "epsilon"}[name]
    return float(predict(losses, [0.04, 0.04], name, **{parameter: float(number)}).shares[0])


def _share(form: str, ratio: int) -> Row:
    """Two paths that lose at random, the second so many times as much, and never fill."""
    losses = [LOSS, LOSS * ratio]
    scene = scenario(
        400,
        link("one", "1 Gbit/s", 40, loss=losses[0]),
        link("two", "1 Gbit/s", 40, loss=losses[1]),
        connection("m", ["one", "two"], congestion=FORMS[form], receive_buffer=HUGE, tcp=EVERY),
        warmup_s=50,
    )
    means = subflow_means(run(scene, repeat=3), "m")
    total = sum(each["goodput_bps"] for each in means)
    return {"form": form, "ratio": ratio, "share": means[0]["goodput_bps"] / total, "law": _law(form, losses)}


def _shares() -> Rows:
    return [_share(form, ratio) for form in FORMS for ratio in RATIOS]


def _share_figure(rows: Rows) -> list[Figure]:
    figures = []
    for name in ("mppert", "epsilon"):
        forms = [form for form in FORMS if form.startswith(name)]
        hues = style.path_colours(forms)
        mine = [row for row in rows if row["form"] in forms]
        shown = draw.panel(
            "Share of the better of two paths; points: simulated, lines: the law",
            ("loss of the second path over that of the first", draw.scale(log=True), draw.axis(values=list(RATIOS))),
            ("share of the first path", draw.scale(domain=(0.4, 1), zero=False), draw.axis()),
            [{"x": row["ratio"], "y": row["share"], "series": row["form"]} for row in mine],
            [{"x": row["ratio"], "y": row["law"], "series": row["form"]} for row in mine],
            {form: hues[form] for form in forms},
            height=220,
        )
        figures.append(draw.figure(f"{name}-shares", shown))
    return figures


def _share_table(rows: Rows, part: str) -> Table:
    columns: Columns = {
        {"mppert": "k", "epsilon": "ε"}[part]: lambda row: row["form"].split()[1].replace("-", "−"),
        "losses": lambda row: f"{LOSS * 100:g}, {LOSS * row['ratio'] * 100:g} %",
        "share of the first path": "{share:.1%}",
        "law": "{law:.1%}",
    }
    return filled((row for row in rows if row["form"].startswith(part)), columns)


SHARES = Study(
    "coupling-shares",
    ("form", "ratio"),
    _shares,
    lambda: [_share("mppert 0", 4), _share("epsilon 1", 4)],
    _share_figure,
    _share_table,
    {
        "all shares are within 6 points of the law": lambda rows: all(
            abs(row["share"] - row["law"]) < 0.06 for row in rows
        ),
    },
)
