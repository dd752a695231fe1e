"""The round model: figures 7 to 11. Figures 9 to 11 against the simulator, for a model cannot confirm itself."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl
from mptcplab.models.rounds import RoundModel, RoundPath, Subflow, after_rounds, transfer_time_s
from mptcplab.reproduce import Claim, Context, Equality, Exact, Outcome, every, steps
from mptcplab.reproduce import Found as Mean
from mptcplab.reproduce.context import Wanted
from mptcplab.reproduce.judge import MARGIN

from . import networks
from .measure import ONE, across

_MODEL: Final = RoundModel(initial_window=1, restart_window=1, segment_bytes=networks.PAYLOAD)
_TCP: Final = {"initial_window": 1}
_MBPS: Final = 1.0


def figure_7(context: Context) -> Outcome:
    """The first round's three states; the second's nine, six after equal ones are merged."""
    printed = context.published
    model = replace(_MODEL, initial_window=10, initial_threshold=80)
    flow = after_rounds(RoundPath(0.02, 0.3), 1, model)
    states = sorted(flow.states, reverse=True)
    flow.next_round()
    names = ("doubled", "halved", "restarted")
    claims = [
        Claim(
            f"{name}-{what}",
            f"The {what} is {printed[f'{name}-{what}']:g} in the state “{name}”",
            printed[f"{name}-{what}"],
            state[at],
            Exact(printed[f"{name}-{what}"], state[at]),
        )
        for name, state in zip(names, states, strict=True)
        for at, what in enumerate(("window", "threshold"))
    ]
    nodes = len(states) * 3
    claims.append(
        Claim(
            "nodes",
            "Each state has three successors",
            printed["nodes"],
            f"{nodes}; {len(flow.states)} different",
            Exact(printed["nodes"], nodes),
        )
    )
    return Outcome(claims)


def _file(size: int, rtt_ms: float, loss: float) -> dict[str, Any]:
    """A lone TCP on a queue that never overflows, as the model has it: §4.3 names none."""
    links = {"a": networks.link(_MBPS, rtt_ms, loss=loss, queue="10000 packets")}
    seconds = 60 + 40 * size * 8 / (_MBPS * 1e6)
    return networks.scenario(
        links, {"c": networks.connection(["a"], networks.file(size), tcp=_TCP)}, min(seconds, 3000)
    )


def _compare(context: Context, cases: Sequence[tuple[int, float, float]], seeds: int) -> pl.DataFrame:
    """Throughput in Mbit/s by model and simulator of (size, RTT, loss)."""
    wanted: list[Wanted] = [
        ({"size": size, "rtt_ms": float(rtt), "loss": loss}, _file(size, rtt, loss), seed)
        for size, rtt, loss in cases
        for seed in range(1, (seeds if loss else 1) + 1)
    ]
    runs = context.run_many(wanted).connections
    rows = []
    for size, rtt, loss in cases:
        own = runs.filter((pl.col("size") == size) & (pl.col("rtt_ms") == rtt) & (pl.col("loss") == loss))
        # The model's rounds begin after the handshake and end with an acknowledgment.
        times = own["completion_s"].to_numpy() - rtt / 2e3
        mean = across(times.tolist())
        path = RoundPath(rtt / 1e3, loss, _MBPS * 1e6)
        rows.append(
            {
                "size_kb": size / 1e3,
                "rtt_ms": float(rtt),
                "loss_percent": 100 * loss,
                "model_mbps": 8e-6 * size / transfer_time_s(size, path, _MODEL),
                "sim_mbps": 8e-6 * size / float(mean),
                "half": mean.half / float(mean),
            }
        )
    return pl.DataFrame(rows).with_columns(difference=pl.col("model_mbps") / pl.col("sim_mbps") - 1)


def _close(identity: str, text: str, table: pl.DataFrame, cause: str) -> Claim:
    """That both are the same everywhere."""
    worst = max(table["difference"].to_list(), key=abs)
    check = every(
        Equality(Mean(1 + difference, half), ONE) for difference, half in table.select("difference", "half").iter_rows()
    )
    mean = np.mean(np.abs(table["difference"].to_numpy()))
    found = f"{100 * worst:+.1f} % at the worst, {100 * mean:.1f} % on average"
    return Claim(identity, text, "a close match", found, check, cause)


def _chart(table: pl.DataFrame, x: str, title: str, *, log: bool = False) -> alt.Chart:
    rows = table.unpivot(["model_mbps", "sim_mbps"], index=[x], variable_name="by", value_name="mbps")
    scale = alt.Scale(type="log") if log else alt.Scale()
    chart: alt.Chart = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x}:Q", title=title, scale=scale),
            y=alt.Y("mbps:Q", title="throughput, Mbit/s"),
            color=alt.Color("by:N", title=None),
        )
        .properties(width=380, height=220)
    )
    return chart


_SERIAL: Final = (
    "algorithm: equation 3 adds a window's time on the wire to the round trip, though a window leaves while the "
    "acknowledgments "
    "of the one before come in. The table's last column has the same transfers with the two overlapped."
)


def figure_9(context: Context) -> Outcome:
    """Sizes at 20 ms, and other delays."""
    sizes = (20_000, 100_000, 1_000_000, 10_000_000) if not context.quick else (20_000, 100_000, 1_000_000)
    by_size = _overlapped(_compare(context, [(size, 20, 0.0) for size in sizes], 1))
    by_delay = _overlapped(_compare(context, [(1_000_000, rtt, 0.0) for rtt in (20, 50, 100, 200)], 1))
    return Outcome(
        [
            _close("sizes", "Model and simulation agree over the transfer's size at 20 ms", by_size, _SERIAL),
            _close("delays", "They agree over the round-trip time, 1 MB", by_delay, _SERIAL),
        ],
        tables=[("Over the size", by_size), ("Over the round-trip time", by_delay)],
        figures=[("Throughput over the size", _chart(by_size, "size_kb", "size, KB", log=True))],
        notes=["At 1 Mbit/s and 20 ms two segments fill the path: the capacity alone decides what is large."],
    )


def _overlapped(table: pl.DataFrame) -> pl.DataFrame:
    from mptcplab.models.rounds import transfer  # the name is a column's elsewhere

    found = []
    for size_kb, rtt_ms, loss in table.select("size_kb", "rtt_ms", "loss_percent").iter_rows():
        path = RoundPath(rtt_ms / 1e3, loss / 100, _MBPS * 1e6)
        done = transfer(1e3 * size_kb, [path], _MODEL)
        found.append(8e-3 * size_kb / (done.receiver_s - rtt_ms / 2e3))
    return table.with_columns(pl.Series("overlapped_mbps", found)).with_columns(
        overlapped_difference=pl.col("overlapped_mbps") / pl.col("sim_mbps") - 1
    )


def figure_10(context: Context) -> Outcome:
    """What has been delivered at 20 times, 20 ms, 10 MB."""
    given = _file(10_000_000, 20, 0.0)
    given = {**given, "duration": "100 s", "measure": {"sample": "100 ms"}}
    samples = context.run_many([({}, given, 1)], samples=True).samples
    assert samples is not None, "asked for"
    rows = samples.filter(pl.col("kind") == "subflow").sort("time_s")
    at = np.array([0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70])
    got = np.cumsum(rows["goodput_bps"].to_numpy()) * 0.1 / 1e6
    simulated = np.interp(at, rows["time_s"].to_numpy(), got)
    flow, times, delivered = Subflow(_MODEL, RoundPath(0.02, 0.0, _MBPS * 1e6)), [0.02], [0.0]
    while times[-1] < at[-1]:
        flow.next_round()
        times.append(0.02 + flow.time_s)
        delivered.append(flow.delivered_segments * networks.PAYLOAD * 8e-6)
    model = np.interp(at, times, delivered)
    table = pl.DataFrame({"time_s": at, "model_mbit": model, "sim_mbit": simulated}).with_columns(
        difference=pl.col("model_mbit") / pl.col("sim_mbit") - 1, half=0.0
    )
    long = table.unpivot(["model_mbit", "sim_mbit"], index=["time_s"], variable_name="by", value_name="mbit")
    chart = (
        alt.Chart(long)
        .mark_line(point=True)
        .encode(
            x=alt.X("time_s:Q", title="s since the SYN", scale=alt.Scale(type="log")),
            y=alt.Y("mbit:Q", title="Mbit delivered", scale=alt.Scale(type="log")),
            color=alt.Color("by:N", title=None),
        )
        .properties(width=380, height=220)
    )
    return Outcome(
        [_close("each-round", "The model predicts what is delivered at any time", table, _SERIAL)],
        tables=[("Delivered, Mbit", table)],
        figures=[("Delivered over time", chart)],
    )


def figure_11(context: Context) -> Outcome:
    """Six loss rates at 100 ms, 10 MB (the largest of figure 9: the text names no size)."""
    size = 2_000_000 if context.quick else 10_000_000
    losses = (0.0001, 0.0002, 0.0003, 0.0005, 0.0008, 0.001)
    table = _overlapped(_compare(context, [(size, 100, loss) for loss in losses], 4 if context.quick else 10))
    falls = table["sim_mbps"].to_list()
    share = sum(after < before * (1 + MARGIN) for before, after in pairwise(falls))
    return Outcome(
        [
            _close("close", "Model and simulation agree at each of six loss rates", table, _SERIAL),
            Claim(
                "falls",
                "Throughput falls with the loss rate",
                None,
                f"{falls[0]:.3f} to {falls[-1]:.3f} Mbit/s; {share} of {len(falls) - 1} steps do not rise",
                steps(
                    [Mean(each, each * half) for each, half in table.select("sim_mbps", "half").iter_rows()], "falls"
                ),
                _FULL,
            ),
        ],
        tables=[(f"{size / 1e6:g} MB at 100 ms", table)],
        figures=[("Throughput over the loss rate", _chart(table, "loss_percent", "loss, %"))],
    )


_FULL: Final = (
    "setting: at 1 Mbit/s nine segments fill the path: so little loss leaves it full (`sim_mbps` is near the capacity)."
)
