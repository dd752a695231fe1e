"""What the studies share: running a scenario over several seeds, and tables."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import mptcplab
import numpy as np
from mptcplab.models.checks import Array
from mptcplab.results.result import Result
from mptcplab.scenario import Scenario

from .tables import Table

# A data segment of 1,500 bytes on the wire: 20 of IP, 20 of TCP, 12 of timestamps; under Multipath TCP the mapping.
PACKET_BYTES = 1500
TCP_PAYLOAD_BYTES = 1448
MPTCP_PAYLOAD_BYTES = 1420


@dataclass(frozen=True)
class Flow:
    """One subflow: means over the seeds and over the connections of its kind."""

    rate: float
    """New data, in segments/s."""
    rtt_s: float
    loss: float
    cwnd: float
    """Time-weighted mean window in segments."""
    timeouts: float
    """Per connection and run."""
    sent: float
    retransmissions: float


def scenario_text(name: str) -> str:
    """The ready-made scenario of this name."""
    return (Path(__file__).parents[1] / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")


def run(text: str, *, seeds: int, jobs: int = 1, overrides: Sequence[str] = (), engine: str = "sim") -> Result:
    """Run a scenario given as a text with the seeds 1, 2, …; once on the engine that draws nothing."""
    repeat = 1 if engine == "model" else seeds
    return mptcplab.run(Scenario.from_toml(text, "<study>", overrides), engine, seed=1, repeat=repeat, jobs=jobs)


def flow(result: Result, connection: str, path: str) -> Flow:
    """The subflows of one kind of connection on one path."""
    table = result.subflows
    rows = table.filter((table["connection"] == connection) & (table["path"] == path))
    protocol = result.connections.filter(result.connections["name"] == connection)["protocol"][0]
    payload = TCP_PAYLOAD_BYTES if protocol == "tcp" else MPTCP_PAYLOAD_BYTES

    def mean(column: str) -> float:
        values = rows[column].drop_nulls().to_numpy()
        return float(values.mean()) if len(values) else float("nan")

    return Flow(
        rate=mean("goodput_bps") / 8 / payload,
        rtt_s=mean("rtt_mean_s"),
        loss=mean("loss_rate"),
        cwnd=mean("cwnd_mean_segments"),
        timeouts=mean("timeouts"),
        sent=mean("segments_sent"),
        retransmissions=mean("retransmissions"),
    )


def per_run(result: Result, connection: str) -> Array:
    """Mean goodput in bit/s of the connections of one kind, one value a run."""
    rows = result.connections.filter(result.connections["name"] == connection)
    means = rows.select("repeat", "goodput_bps").group_by("repeat", maintain_order=True).mean()["goodput_bps"]
    return np.asarray(means.to_numpy(), dtype=np.float64)


def link_loss(result: Result, link: str) -> float:
    """Loss rate of a link's direction down, mean over the runs."""
    links = result.links
    rows = links.filter((links["name"] == link) & (links["direction"] == "down"))["loss_rate"].drop_nulls().to_numpy()
    return float(rows.mean()) if len(rows) else float("nan")


PRINTED: list[Table] = []
"""The tables of the study that runs."""


def show(title: str, rows: Iterable[Mapping[str, str]], *, keep: bool = True) -> None:
    """Print a Markdown table as its rows come, and remember it for the pages unless it is not to be kept."""
    table = Table(title)
    if keep:
        PRINTED.append(table)
    sys.stdout.write(f"\n### {title}\n\n")
    for row in rows:
        if not table.header:
            table.header += row
            sys.stdout.write("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|\n")
        table.rows.append(list(row.values()))
        sys.stdout.write("| " + " | ".join(row.values()) + " |\n")
        sys.stdout.flush()


def say(text: str) -> None:
    """Print one line below a table, and remember it with the table."""
    if PRINTED:
        PRINTED[-1].notes.append(text)
    sys.stdout.write(f"\n{text}\n")
