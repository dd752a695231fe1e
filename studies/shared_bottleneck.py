"""Fairness in a shared bottleneck of 15 Mbit/s: table 5.3 of Chauvenne and Libioulle 2017.

A connection of two subflows against one TCP, five seeds as in the thesis; the median counts, as there. Starts are drawn
from two seconds, 30 s of warm-up are left out. The thesis has Mininet's drop-tail queues; RED is shown beside it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from mptcplab.metrics import jain_indices
from mptcplab.models.checks import Array

from .runs import per_run, run, show

CONTROLS = ("reno", "lia", "olia", "balia", "wvegas", "ewtcp", "coupled")
PUBLISHED = {"lia": 0.9923, "olia": 0.9993, "balia": 0.9974, "wvegas": 0.9997}
"""Jain's index in table 5.3."""
QUEUES = {
    "RED": '{ kind = "red", min = "25 packets", max = "75 packets", max_probability = 0.1, limit = "300 packets" }',
    "drop-tail": '"1 BDP"',
}

_SCENARIO = """
duration = "{duration} s"
[link.access1]
rate = "100 Mbit/s"
delay = "5 ms"
queue = "1000 packets"
[link.access2]
rate = "100 Mbit/s"
delay = "5 ms"
queue = "1000 packets"
[link.access3]
rate = "100 Mbit/s"
delay = "5 ms"
queue = "1000 packets"
[link.shared]
rate = "15 Mbit/s"
delay = "35 ms"
queue = {queue}
[path.first]
links = ["access1", "shared"]
[path.second]
links = ["access2", "shared"]
[path.third]
links = ["access3", "shared"]
[connection.multi]
paths = ["first", "second"]
congestion = {congestion}
start = ["0 s", "2 s"]
[connection.single]
paths = ["third"]
protocol = "tcp"
start = ["0 s", "2 s"]
[measure]
warmup = "30 s"
sample = "never"
"""


@dataclass(frozen=True)
class Contest:
    """Goodputs in bit/s, one a run."""

    multi: Array
    single: Array
    utilization: float

    @property
    def jain(self) -> float:
        """Median over the runs of Jain's index."""
        return float(np.median(jain_indices(np.stack([self.multi, self.single], axis=-1))))

    @property
    def share(self) -> float:
        """What the multipath connection takes of both, mean over the runs."""
        return float(np.mean(self.multi / (self.multi + self.single)))


def measure(congestion: str, queue: str, *, variant: str = "", seconds: int = 300, seeds: int = 5) -> Contest:
    """One control, with a ``variant`` where it has two, at one of `QUEUES`."""
    control = f'{{ name = "{congestion}", variant = "{variant}" }}' if variant else f'"{congestion}"'
    text = _SCENARIO.format(duration=seconds + 30, queue=QUEUES[queue], congestion=control)
    result = run(text, seeds=seeds)
    links = result.links
    used = links.filter((links["name"] == "shared") & (links["direction"] == "down"))["utilization"].to_numpy()
    return Contest(per_run(result, "multi"), per_run(result, "single"), float(used.mean()))


def _rows(queue: str) -> Iterator[Mapping[str, str]]:
    linux = [(name, "linux") for name in ("lia", "olia", "balia", "wvegas")]
    for control, variant in [*((name, "") for name in CONTROLS), *linux]:
        found = measure(control, queue, variant=variant)
        yield {
            "control": f"{control} {variant}".strip(),
            "multipath, kbit/s": f"{np.median(found.multi) / 1e3:.0f}",
            "TCP, kbit/s": f"{np.median(found.single) / 1e3:.0f}",
            "share": f"{found.share:.3f}",
            "shares of the runs": " ".join(f"{x:.2f}" for x in found.multi / (found.multi + found.single)),
            "Jain": f"{found.jain:.4f}",
            "published": str(PUBLISHED.get(control, "–")) if not variant else "–",
            "utilization": f"{found.utilization:.3f}",
        }


def main() -> None:
    """Print a table for each queue."""
    for queue in QUEUES:
        show(f"Shared bottleneck, {queue}", _rows(queue))
