"""Scenarios of the studies, and means over the runs of one."""

from collections.abc import Sequence
from typing import Any

import mptcplab
from mptcplab import Scenario

HUGE = '"64 MiB"'
"""A receive buffer that never binds here."""


def link(
    name: str, rate: str, rtt_ms: float, *, queue: str = '"10000 packets"', loss: float = 0.0, access: bool = False
) -> str:
    """A link; `loss` is a probability, towards the client only. `access`: wide enough never to queue."""
    rate = "10 Gbit/s" if access else rate
    lost = f'down.loss = "{loss * 100:.6g} %"\n' if loss else ""
    return f'[link.{name}]\nrate = "{rate}"\ndelay = "{rtt_ms / 2:g} ms"\nqueue = {queue}\n{lost}'


def scenario(duration_s: float, *parts: str, warmup_s: float = 0.0, sample: str = "never", seed: int = 1) -> Scenario:
    """A scenario from its parts."""
    head = f'title = "study"\nduration = "{duration_s:g} s"\nseed = {seed}\n'
    tail = f'[measure]\nwarmup = "{warmup_s:g} s"\nsample = "{sample}"\n'
    return Scenario.from_toml("\n".join([head, *parts, tail]))


def connection(name: str, paths: Sequence[str], **keys: str) -> str:
    """A connection; values are TOML."""
    lines = [f"{key} = {value}" for key, value in keys.items()]
    quoted = ", ".join(f'"{path}"' for path in paths)
    return "\n".join([f"[connection.{name}]", f"paths = [{quoted}]", *lines, ""])


def run(scene: Scenario, repeat: int = 1) -> mptcplab.Result:
    """On the simulator."""
    return mptcplab.run(scene, engine="sim", repeat=repeat)


def subflow_means(result: mptcplab.Result, name: str) -> list[dict[str, Any]]:
    """Per subflow of a connection, in the order of its paths: the means over its runs."""
    frame = result.subflows.filter(connection=name)
    paths = result.connections.filter(name=name)["paths"].to_list()[0]
    columns = ["goodput_bps", "cwnd_mean_segments", "rtt_mean_s", "share"]
    return [
        {column: float(frame.filter(path=path)[column].mean() or 0.0) for column in columns}  # type: ignore[arg-type]
        for path in paths
    ]
