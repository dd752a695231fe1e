"""Links of the laboratory's emulator beside the kernel's own queueing disciplines, in the same guest.

Hosts, transport and measurement are the same; only what lies between them changes: our links, or tbf and netem with
pfifo, bfifo, red, codel, fq_codel, pie or cake inside (`links = "tc"`). The two draw their losses differently, so each
network is run with several seeds (MPTCPLAB_SEEDS, 8 by default) and the means are shown with their standard errors. The
guest's kernel is that of MPTCPLAB_KERNEL, or the only one there is; MPTCPLAB_NETWORKS chooses networks by name, with
commas between them. About an hour of one core.
"""

import os
from collections.abc import Iterator, Mapping
from statistics import mean, stdev
from typing import Final

from mptcplab import kernels
from mptcplab.engines.runner import run
from mptcplab.results.result import Result
from mptcplab.scenario import Scenario

from .runs import say, show

SEEDS: Final = 8
DURATION_S: Final = 20
_RED: Final = '{ kind = "red", min = "10 packets", max = "90 packets", limit = "100 packets", gentle = false }'
_BURSTS: Final = '{ kind = "gilbert-elliott", good_to_bad = "0.1 %", bad_to_good = "30 %" }'
NETWORKS: Final[Mapping[str, tuple[str, str]]] = {
    "drop-tail in bytes": ('"50 ms"', '"0 %"'),
    "drop-tail in packets": ('"40 packets"', '"0 %"'),
    "short drop-tail": ('"10 packets"', '"0 %"'),
    "loss of 1 %": ('"50 ms"', '"1 %"'),
    "bursts of losses": ('"50 ms"', _BURSTS),
    "RED": (_RED, '"0 %"'),
    "CoDel": ('{ kind = "codel" }', '"0 %"'),
    "FQ-CoDel": ('{ kind = "fq-codel" }', '"0 %"'),
    "PIE": ('{ kind = "pie" }', '"0 %"'),
    "Cake": ('{ kind = "cake" }', '"0 %"'),
}


def scenario(queue: str, loss: str, links: str) -> Scenario:
    """Two paths of 10 and 5 Mbit/s with Multipath TCP, and a TCP neighbour on the first."""
    tables = "".join(
        f'[link.{name}]\nrate = "{rate} Mbit/s"\ndelay = "{delay_ms} ms"\ndown.queue = {queue}\nup.queue = "100 ms"\n'
        f"down.loss = {loss}\n"
        for name, rate, delay_ms in (("fast", 10, 10), ("slow", 5, 25))
    )
    return Scenario.from_toml(
        f'duration = "{DURATION_S} s"\nlinks = "{links}"\n{tables}'
        '[connection.m]\npaths = ["fast", "slow"]\ncongestion = "reno"\nstart = ["0 s", "500 ms"]\n'
        '[connection.t]\npaths = ["fast"]\nprotocol = "tcp"\ncongestion = "reno"\nstart = ["0 s", "500 ms"]\n'
        '[measure]\nwarmup = "2 s"\n',
        "<study>",
    )


def values(result: Result) -> dict[str, list[float]]:
    """What is compared, by seed."""
    connections, links = result.connections.to_dicts(), result.links.to_dicts()
    down = [row for row in links if row["direction"] == "down"]
    found = {
        f"goodput of {name}, Mbit/s": [row["goodput_bps"] / 1e6 for row in connections if row["name"] == name]
        for name in ("m", "t")
    }
    for name in ("fast", "slow"):
        of_link = [row for row in down if row["name"] == name]
        found[f"queue of {name}, packets"] = [row["queue_mean_packets"] for row in of_link]
        found[f"loss on {name}, %"] = [100 * (row["loss_rate"] or 0.0) for row in of_link]
    return found


def rows(engine: str, seeds: int) -> Iterator[dict[str, str]]:
    """One for each network and quantity."""
    asked = os.environ.get("MPTCPLAB_NETWORKS", "")
    for name in asked.split(",") if asked else NETWORKS:
        queue, loss = NETWORKS[name]
        both = [
            values(run(scenario(queue, loss, links), engine, repeat=seeds, jobs=len(os.sched_getaffinity(0))))
            for links in ("emulator", "tc")
        ]
        for what, ours in both[0].items():
            theirs = both[1][what]
            error = ((_variance(ours) + _variance(theirs)) / seeds) ** 0.5
            apart = mean(theirs) - mean(ours)
            yield {
                "network": name,
                "quantity": what,
                "emulator": f"{mean(ours):.3f}",
                "tc": f"{mean(theirs):.3f}",
                "tc - emulator": f"{apart:+.3f}",
                "standard error": f"{error:.3f}",
                "relative": f"{apart / mean(ours):+.1%}" if mean(ours) else "–",
            }


def _variance(found: list[float]) -> float:
    return stdev(found) ** 2 if len(found) > 1 else 0.0


def main() -> None:
    """Print the table."""
    kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    seeds = int(os.environ.get("MPTCPLAB_SEEDS", SEEDS))
    engine = f"linux-virtual:{kernel.name}"
    say(f"{engine}: Linux {kernel.version}, HZ {kernel.hz}; {seeds} seeds, {DURATION_S} s each")
    show("Emulator and tc", rows(engine, seeds))
