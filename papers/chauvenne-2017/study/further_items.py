"""More of what the thesis leaves for later (section 7.1): an application's latency, the model beside TCP flows."""

from typing import Final

import numpy as np
import polars as pl
from mptcplab.models.predict import predict
from mptcplab.reproduce import Context, Equality, Found, Outcome, every, mean_of
from mptcplab.reproduce.context import Wanted

from . import charts, scenarios
from .data import PAYLOAD_BYTES
from .findings import Claims
from .networks import Network, Path, queue_packets

_QUEUEING_MS: Final = (10, 25, 50, 100, 200, 400)
_PAIRS: Final = {
    "delays of 10 and 20 ms": ((50, 10), (30, 20)),
    "delays of 50 and 150 ms": ((50, 50), (30, 150)),
}
_WHO: Final = ("Multipath TCP", "redundant", "TCP on path 1", "TCP on path 2")
_MESSAGES: Final = {"kind": "ping", "size": "500 B", "interval": "100 ms"}
_RIVALS: Final = (0, 1, 2, 4)
_WARMUP_S: Final = 20


def future_latency(context: Context) -> Outcome:
    """Small messages beside a bulk transfer over the same paths: how long they take, and over which transport."""
    claims = Claims(context)
    table = _messages(context)
    shown = table.select(
        "panel", "queueing", "who", pl.col("mean").round(1), pl.col("p95").round(1), pl.col("bulk").round(1)
    ).rename(
        {
            "panel": "network",
            "queueing": "maximum queueing delay (ms)",
            "mean": "message and answer, mean (ms)",
            "p95": "95th percentile (ms)",
            "bulk": "bulk transfer (Mbit/s)",
        }
    )
    colours = dict(zip(_WHO, ("#0072B2", "#E69F00", "#8A8A8A", "#C0C0C0"), strict=True))
    chart = charts.curves(
        table,
        x="queueing",
        x_title="maximum queueing delay of both paths (ms)",
        y="mean",
        y_title="message and answer (ms)",
        series="who",
        colours=colours,
        panels=list(_PAIRS),
        log_x=True,
    )
    longest = table.filter(pl.col("queueing") == pl.col("queueing").max())
    told = "; ".join(
        f"{panel}: " + ", ".join(f"{who} {mean:.0f} ms" for who, mean in own.select("who", "mean").iter_rows())
        for (panel,), own in longest.group_by("panel", maintain_order=True)
    )
    return Outcome(
        claims.all,
        tables=[("Messages of 500 bytes every 100 ms beside a bulk transfer of LIA over both paths", shown)],
        figures=[("Time of a message and its answer", chart)],
        notes=[f"Mean time of a message and its answer at the longest queues: {told}."],
        not_covered={"open": "A question, which claims nothing; the note and the table answer it."},
    )


def _messages(context: Context) -> pl.DataFrame:
    """Means over the seeds, in milliseconds and Mbit/s."""
    bulk = scenarios.mptcp(congestion=scenarios.control("lia", "linux"), window="3 MiB")
    kinds = {
        "Multipath TCP": scenarios.mptcp(congestion=scenarios.control("lia", "linux"), application=_MESSAGES),
        "redundant": scenarios.mptcp(congestion="lia", scheduler={"name": "redundant"}, application=_MESSAGES),
        "TCP on path 1": scenarios.tcp("one", application=_MESSAGES),
        "TCP on path 2": scenarios.tcp("two", application=_MESSAGES),
    }
    wanted: list[Wanted] = []
    for panel, pair in _PAIRS.items():
        for queueing in _QUEUEING_MS[::2] if context.quick else _QUEUEING_MS:
            paths = [Path(c, d, queue_packets(c, queueing), queueing) for c, d in pair]
            scenario = scenarios.over(Network("latency", 0, 0, paths[0], paths[1]), bulk)
            for who in _WHO:
                one = {**scenario, "connection": {"bulk": bulk, "messages": kinds[who]}}
                labels = {"panel": panel, "queueing": queueing, "who": who}
                wanted += [({**labels, "number": seed}, one, seed) for seed in range(1, 2 if context.quick else 6)]
    found = context.run_many(wanted).connections
    keys = ["panel", "queueing", "who"]
    messages = found.filter(pl.col("name") == "messages").group_by(keys, maintain_order=True)
    carried = found.filter(pl.col("name") == "bulk").group_by(keys).agg(bulk=pl.col("goodput_bps").mean() / 1e6)
    times = messages.agg(mean=1e3 * pl.col("transfer_mean_s").mean(), p95=1e3 * pl.col("transfer_p95_s").mean())
    return times.join(carried, on=keys, maintain_order="left")


def future_competing(context: Context) -> Outcome:
    """The thesis's model where the losses are those that competing TCP flows make."""
    claims = Claims(context)
    rows, checks, away, halved = [], [], [], []
    for rivals, own in _beside(context).group_by("rivals", maintain_order=True):
        measured = [mean_of(own.filter(pl.col("path") == path)["rate"].to_list()) for path in ("one", "two")]
        by_path = own.group_by("path", maintain_order=True).agg(pl.col("loss_rate", "rtt_mean_s").mean()).sort("path")
        losses, rtts = by_path["loss_rate"].to_numpy(), by_path["rtt_mean_s"].to_numpy()
        law = np.asarray(predict(losses, rtts, "lia").rates_segments_per_s)
        whole, total = sum(measured, start=Found(0.0)), float(law.sum())
        slower = float(np.asarray(predict(losses, rtts, "lia", b=2).rates_segments_per_s).sum())
        halved.append(slower / float(whole) - 1)
        checks.append(Equality(Found(total), whole))
        away.append(total / float(whole) - 1)
        rows.append(
            {
                "TCP flows on each path": rivals[0],
                "path 1, simulated (packets/s)": round(float(measured[0]), 1),
                "path 1, model": round(float(law[0]), 1),
                "path 2, simulated": round(float(measured[1]), 1),
                "path 2, model": round(float(law[1]), 1),
                "loss of path 1, %": round(100 * float(losses[0]), 3),
                "loss of path 2, %": round(100 * float(losses[1]), 3),
                "total, model over simulation": f"{away[-1]:+.0%}",
                "the same, an acknowledgment for two segments": f"{halved[-1]:+.0%}",
            }
        )
    claims.statement(
        "open",
        every(checks),
        "the model's total is off by "
        + ", ".join(f"{x:+.0%}" for x in away)
        + "; with an acknowledgment for two segments, as here, by "
        + ", ".join(f"{x:+.0%}" for x in halved),
    )
    return Outcome(
        claims.all,
        tables=[
            (
                "LIA over 20 and 10 Mbit/s, 20 and 40 ms, with TCP flows; the model at measured losses",
                pl.DataFrame(rows),
            )
        ],
    )


def _beside(context: Context) -> pl.DataFrame:
    """The multipath connection's subflows, in packets/s."""
    links = {
        "one": {"rate": "20 Mbit/s", "delay": "10 ms", "queue": "50 ms"},
        "two": {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "50 ms"},
    }
    seconds = _WARMUP_S + (60 if context.quick else 200)
    wanted: list[Wanted] = []
    for rivals in _RIVALS:
        connections = {"multi": scenarios.mptcp(congestion=scenarios.control("lia", "linux"))}
        if rivals:
            connections |= {
                f"tcp {path}": {**scenarios.tcp(path), "count": rivals, "start": ["0 s", "2 s"]} for path in links
            }
        scenario = {
            "duration": f"{seconds} s",
            "link": links,
            "connection": connections,
            "measure": {"warmup": f"{_WARMUP_S} s", "sample": "never"},
        }
        wanted += [({"rivals": rivals, "number": seed}, scenario, seed) for seed in range(1, 4 if context.quick else 6)]
    subflows = context.run_many(wanted).subflows.filter(pl.col("connection") == "multi")
    return subflows.with_columns(rate=pl.col("goodput_bps") / (8 * PAYLOAD_BYTES))
