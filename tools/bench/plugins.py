"""W1 with Reno as a plug-in in Python beside the built-in one, in turn: what a plug-in costs.

python -m tools.bench.plugins SECONDS
"""

import hashlib
import json
import resource
import statistics
import sys
import time

import mptcplab
from mptcplab.scenario import Scenario

from tools.bench.measure import ROOT

ROUNDS = 3
"""The median of the ratios is taken."""

SCENARIO = """
title    = "W1 with Reno"
duration = "{seconds} s"
seed     = 1

[link.a]
rate  = "100 Mbit/s"
delay = "10 ms"
queue = "1 BDP"

[link.b]
rate  = "100 Mbit/s"
delay = "10 ms"
queue = "1 BDP"

[connection.both]
paths      = ["a", "b"]
start      = ["0 s", "1 s"]
congestion = {congestion}

[connection.on-a]
paths      = ["a"]
protocol   = "tcp"
count      = 10
start      = ["0 s", "1 s"]
congestion = {congestion}

[connection.on-b]
paths      = ["b"]
protocol   = "tcp"
count      = 10
start      = ["0 s", "1 s"]
congestion = {congestion}

[measure]
sample = "never"
"""


def _run(scenario: Scenario) -> tuple[float, str]:
    began_s = time.process_time()
    goodput = mptcplab.run(scenario).subflows["goodput_bps"].to_list()
    cpu_s = time.process_time() - began_s
    return cpu_s, hashlib.sha256(json.dumps(goodput).encode()).hexdigest()[:16]


def main(seconds: str) -> None:
    """Runs both in turn, whose results must be the same, and prints how fast the plug-in is."""
    source = str(ROOT / "examples" / "plugins" / "w1.toml")
    plugin, built_in = (
        Scenario.from_toml(SCENARIO.format(seconds=seconds, congestion=congestion), source)
        for congestion in ('{ plugin = "reno.py:Reno" }', '"reno"')
    )
    _run(plugin)
    ratios = []
    for _ in range(ROUNDS):
        (there_s, there), (here_s, here) = _run(built_in), _run(plugin)
        if there != here:
            raise RuntimeError("Reno in Python gives other results than the built-in one")
        ratios.append(there_s / here_s)
    answer = {
        "plugin_speed": statistics.median(ratios),
        "simulated_s_per_cpu_s": float(seconds) / here_s,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "digest": here,
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
