"""MPPERT in the kernel beside the simulator's: two subflows and one TCP, at RED and at drop-tail.

`mppert` on the two subflows, PERT or Reno as the TCP, 10 Mbit/s and 44 ms: the share of the multipath connection and
the mean queue of the bottleneck, in eight such networks side by side on Linux and in 24 on the simulator. Needs root,
clang and libbpf (`mptcplab doctor`); the controls are in the kernel for the time of the runs.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Side:
    """What stands in a row of the table."""

    title: str
    engine: str
    scheduler: str | None = None
    """None: the engine's own."""
    tcp: Mapping[str, object] | None = None
    copies: int = 24
    """Networks side by side; fewer in real time, as the emulator carries them all at once."""


SIDES = (
    Side("sim", "sim", "min-rtt"),
    Side("sim, scheduler linux", "sim", "linux"),
    # Windows are a few segments here: what an acknowledgment waits for looks like a queue to PERT.
    Side("sim, scheduler linux, each segment acknowledged", "sim", "linux", {"segments_per_ack": 1}),
    Side("Linux", "linux", copies=8),
)
WITHIN = 0.10
"""What a mean on Linux may be away from the simulator's with the kernel's scheduler, or its cause is due."""


def scenario(multipath: str, single: str, queue: str, side: Side, seconds: int) -> str:
    """Two subflows and one TCP at one bottleneck, many times."""
    multi: dict[str, object] = {"paths": ["first", "second"], "congestion": multipath}
    if side.scheduler is not None:
        multi["scheduler"] = side.scheduler
    tcp = {} if side.tcp is None else {"tcp": dict(side.tcp)}
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
            "multipath": multi | tcp,
            "single": {"paths": ["third"], "protocol": "tcp", "congestion": single, "start": ["0 s", "1 s"]} | tcp,
        },
        "measure": {"warmup": "20 s", "sample": "never"},
    }
    return side_by_side(tomli_w.dumps(one), side.copies)


def measured(multipath: str, single: str, queue: str, side: Side, *, seconds: int = 100) -> tuple[Array, Array]:
    """Share of the multipath connection, and mean queue of the bottleneck in packets, in each network."""
    text = scenario(multipath, single, queue, side, seconds)
    with ExitStack() as stack:
        if side.engine == "linux":
            for control in sorted({multipath, single} & set(bpf.NAMES)):
                stack.enter_context(bpf.registered(control))
        result = run(text, seeds=1, engine=side.engine)
    for note in result.notes:
        if note.startswith("INVALID"):
            sys.stderr.write(f"{multipath}, {single}, {queue}: {note}\n")
    copies = range(side.copies)
    ours = np.concatenate([per_run(result, f"multipath-{copy}") for copy in copies])
    theirs = np.concatenate([per_run(result, f"single-{copy}") for copy in copies])
    links = result.links.filter(result.links["direction"] == "down")
    queues = [
        links.filter(links["name"] == f"shared-{copy}")["queue_mean_packets"].to_numpy().mean() for copy in copies
    ]
    return np.asarray(ours / (ours + theirs)), np.asarray(queues)


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _with_error(values: Array) -> str:
    return f"{values.mean():.3g} ± {_error(values):.1g}"


def beside(linux: Array, simulated: Array) -> str:
    """How far Linux is from the simulator, in % and in standard errors of the difference."""
    off = float(linux.mean() / simulated.mean() - 1)
    errors = abs(float(linux.mean() - simulated.mean())) / float(np.hypot(_error(linux), _error(simulated)))
    return f"{'within' if abs(off) <= WITHIN else 'beyond'} {WITHIN:.0%}: {off:+.1%}, {errors:.1f} σ"


def table(multipath: str = "mppert", singles: tuple[str, ...] = ("pert", "reno")) -> Iterator[Mapping[str, str]]:
    """A row for each queue, control of the TCP and side, Linux last; there each simulated side is compared with it."""
    for queue in QUEUES:
        for single in singles:
            found = {side: measured(multipath, single, queue, side) for side in SIDES}
            linux_share, linux_packets = found[SIDES[-1]]
            for side, (share, packets) in found.items():
                same = side.engine == "linux"
                yield {
                    "queue": queue,
                    "TCP": single,
                    "engine": side.title,
                    "share": _with_error(share),
                    "Linux beside it": "" if same else beside(linux_share, share),
                    "mean queue, packets": _with_error(packets),
                    "Linux's beside it": "" if same else beside(linux_packets, packets),
                }


def main() -> None:
    """Print the table; some eight minutes, as Linux has no virtual time."""
    show("mppert's two subflows and one TCP, 80 s after 20 s", table())
