"""The paper's networks and flows as scenarios.

The servers send (`direction = "up"`: the host that opens the connection sends), so that data begin one round trip after
the SYN, as in the paper's figure 8. Segments carry 1,400 bytes, §5.1.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from mptcplab.reproduce import machine

MACHINE: Final = machine.read(Path(__file__).parents[1] / machine.FILE)
PAYLOAD: Final = 1400
NSL_RTTS_MS: Final = (10, 20, 30, 40, 60, 80, 90, 100)
"""Disjoint paths, §5.1."""
SLOW_RTTS_MS: Final = (100, 100, 200, 200, 400, 400, 500, 500)
"""Figure 14 (b), at 10 Mbit/s."""
SL_RTTS_MS: Final = (20, 30, 40, 50, 60, 70, 80, 90)
"""Over a common link of 20 ms, §5.1."""
MSS: Final = {"tcp": PAYLOAD + 12, "mptcp": PAYLOAD + 40}
"""That leave 1,400 bytes beside the options."""


def link(
    rate_mbps: float,
    rtt_ms: float,
    *,
    loss: float = 0.0,
    queue: str = "1 BDP",
    one_way: bool = False,
) -> dict[str, Any]:
    """A path; `one_way` reads the printed round-trip time as that of one direction."""
    delay_us = round(rtt_ms * (1000 if one_way else 500))
    made: dict[str, Any] = {"rate": f"{rate_mbps:g} Mbit/s", "delay": f"{delay_us} us", "queue": queue}
    if loss:
        made["up"] = {"loss": f"{100 * loss:.6g} %"}
    return made


def file(size_bytes: int) -> dict[str, Any]:
    """An application that sends so much."""
    return {"kind": "file", "size": f"{size_bytes} B"}


def pareto_sizes(count: int, seed: int, mean_bytes: float = 57e3, shape: float = 1.5) -> list[int]:
    """Short flows: uncut Pareto, mean 57 KB. The printed 19 KB as the least of them makes the shape 1.5."""
    least = mean_bytes * (shape - 1) / shape
    drawn = np.random.default_rng(seed).random(count)
    return [round(least * float(1 - each) ** (-1 / shape)) for each in drawn]


def scenario(
    links: dict[str, Any],
    connections: dict[str, Any],
    seconds: float,
    paths: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """All of it, without samples."""
    made: dict[str, Any] = {"duration": f"{seconds:g} s", "link": links, "connection": connections}
    if paths:
        made["path"] = paths
    return {**made, "measure": {"sample": "never"}}


def connection(
    paths: Sequence[str],
    application: Any,  # noqa: ANN401 - what the format takes
    scheduler: Any = None,  # noqa: ANN401
    *,
    tcp: dict[str, Any] | None = None,
    **more: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """With a scheduler over all paths, or TCP on the first."""
    made: dict[str, Any] = {"direction": "up", "application": application, **more}
    if tcp:
        made["tcp"] = tcp
    if scheduler is None:
        return {**made, "paths": [paths[0]], "protocol": "tcp", "mss": f"{MSS['tcp']} B"}
    return {**made, "paths": list(paths), "scheduler": scheduler, "mss": f"{MSS['mptcp']} B"}
