"""The speed and memory of the simulator on the workloads of the benchmark; instructions are counted with callgrind.

Instructions and memory do not depend on what else the machine does; CPU time does, and says little on a busy one.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.bench import measure

from .runs import say, show

SHOWN: Final = ("w1", "w5", "w3")


def _rows() -> Iterator[Mapping[str, str]]:
    program = measure.build()
    for name in SHOWN:
        found = measure.measure(name, program)
        hop = found.instructions_per_hop
        yield {
            "workload": f"`{name}`: {measure.WORKLOADS[name]}",
            "simulated s per CPU s": f"{found.simulated_s_per_cpu_s:.3g}",
            "ns per packet-hop": f"{found.ns_per_hop:.0f}",
            "instructions per packet-hop": "–" if hop is None else f"{hop:.0f}",
            "peak memory": f"{found.peak_rss_mb:.0f} MB",
        }


def _from_python() -> Iterator[Mapping[str, str]]:
    transfers = measure.measure("w6", measure.ROOT / measure.PROGRAM)
    plugin = measure.measure("w1-python", measure.ROOT / measure.PROGRAM)
    yield {"what": f"{measure.WORKLOADS['w6']}, one core", "figure": f"{transfers.transfers_per_s:.0f} runs per CPU s"}
    yield {"what": measure.WORKLOADS["w1-python"], "figure": f"{plugin.plugin_speed:.2f}"}


def main() -> None:
    """Print the tables."""
    show("One simulation on one core", _rows())
    show("From Python", _from_python())
    with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown")
    say(f"{os.cpu_count()} cores, {model}; load while it ran: {os.getloadavg()[1]:.1f}.")
