"""MPPERT in the kernel beside the simulator's: two subflows and one TCP, at RED and at drop-tail.

`mppert` on the two subflows, PERT or Reno as the TCP, 10 Mbit/s and 44 ms: the share of the multipath connection and
the mean queue of the bottleneck, in eight such networks at a time. Needs root, clang and libbpf (`mptcplab doctor`);
the controls are in the kernel for the time of the runs.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import numpy as np
import tomli_w

from mptcplab import bpf
from mptcplab.models.checks import Array

from .kernel_fairness import side_by_side
from .runs import per_run, run, show

ACCESS = {"rate": "100 Mbit/s", "delay": "1 ms", "queue": "100 packets"}
QUEUES: Mapping[str, object] = {
    "red": {"kind": "red", "min": "10 packets", "max": "30 packets", "max_probability": 0.1, "limit": "120 packets"},
    "drop-tail": "40 packets",
}
"""Of 10 Mbit/s; at the RTT of 44 ms 40 packets are one bandwidth-delay product."""

ENGINES = (("sim", "min-rtt"), ("sim", "linux"), ("linux", None))
"""Engine and scheduler."""


def scenario(multipath: str, single: str, queue: str, scheduler: str | None, seconds: int, copies: int) -> str:
    """Two subflows and one TCP at one bottleneck, `copies` times."""
    multi: dict[str, object] = {"paths": ["first", "second"], "congestion": multipath}
    if scheduler is not None:
        multi["scheduler"] = scheduler
    one = {
        "duration": f"{seconds} s",
        "link": {
            **{f"access{number}": ACCESS for number in (1, 2, 3)},
            "shared": {"rate": "10 Mbit/s", "delay": "20 ms", "queue": QUEUES[queue]},
        },
        "path": {
            name: {"links": [f"access{number}", "shared"]}
            for number, name in enumerate(("first", "second", "third"), start=1)
        },
        "connection": {
            "multipath": multi,
            "single": {"paths": ["third"], "protocol": "tcp", "congestion": single, "start": ["0 s", "1 s"]},
        },
        "measure": {"warmup": "20 s", "sample": "never"},
    }
    return side_by_side(tomli_w.dumps(one), copies)


def measured(
    multipath: str, single: str, queue: str, engine: str, scheduler: str | None, *, seconds: int = 100, copies: int = 8
) -> tuple[Array, Array]:
    """Share of the multipath connection, and mean queue of the bottleneck in packets, in each copy."""
    text = scenario(multipath, single, queue, scheduler, seconds, copies)
    with ExitStack() as stack:
        if engine == "linux":
            for control in sorted({multipath, single} & set(bpf.NAMES)):
                stack.enter_context(bpf.registered(control))
        result = run(text, seeds=1, engine=engine)
    for note in result.notes:
        if note.startswith("INVALID"):
            sys.stderr.write(f"{multipath}, {single}, {queue}: {note}\n")
    ours = np.concatenate([per_run(result, f"multipath-{copy}") for copy in range(copies)])
    theirs = np.concatenate([per_run(result, f"single-{copy}") for copy in range(copies)])
    links = result.links.filter(result.links["direction"] == "down")
    queues = [
        links.filter(links["name"] == f"shared-{copy}")["queue_mean_packets"].to_numpy().mean()
        for copy in range(copies)
    ]
    return np.asarray(ours / (ours + theirs)), np.asarray(queues)


def _with_error(values: Array) -> str:
    return f"{values.mean():.3g} ± {values.std(ddof=1) / np.sqrt(len(values)):.1g}"


def table(multipath: str = "mppert", singles: tuple[str, ...] = ("pert", "reno")) -> Iterator[Mapping[str, str]]:
    """One row for each queue and control of the TCP."""
    for queue in QUEUES:
        for single in singles:
            for engine, scheduler in ENGINES:
                share, packets = measured(multipath, single, queue, engine, scheduler)
                yield {
                    "queue": queue,
                    "multipath, TCP": f"{multipath}, {single}",
                    "engine": engine if scheduler is None else f"{engine}, scheduler {scheduler}",
                    "share": _with_error(share),
                    "mean queue, packets": _with_error(packets),
                }


def main() -> None:
    """Print the table; some eight minutes, as Linux has no virtual time."""
    show("MPPERT's two subflows and one TCP, eight networks, 80 s after 20 s", table())
