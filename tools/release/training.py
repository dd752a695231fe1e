"""What the compiler watches before it builds the wheel: each kind of workload of the benchmark, shortened, and each
scheduler and congestion control, because code that is never run here is taken to be rare, and gets slower.

`python -m tools.release.training`, with an instrumented mptcplab first on PYTHONPATH; `tools.release.profile` does so.
Runs have seeds and no clock, so the simulator counts the same each time; a few functions around it
(tables with random hashes) do not, so a wheel that is to be built again to the byte needs the same profile.
"""

import sys
from typing import Final

import mptcplab
from mptcplab import registry
from mptcplab.scenario import Scenario

from tools.bench.plugins import SCENARIO as TWO_PATHS
from tools.bench.transfers import SCENARIO as TRANSFER

DUMBBELL: Final = """
title    = "Reno flows, each with a link of its own on either side of the one that all share"
duration = "60 s"
seed     = 1

[link.bottleneck]
rate  = "100 Mbit/s"
delay = "10 ms"
queue = "1 BDP"

{flows}
[measure]
sample = "never"
"""
FLOW: Final = """
[link.client-{n}]
rate  = "1 Gbit/s"
delay = "0 ms"
queue = "1000 packets"

[link.server-{n}]
rate  = "1 Gbit/s"
delay = "0 ms"
queue = "1000 packets"

[path.path-{n}]
links = ["client-{n}", "bottleneck", "server-{n}"]

[connection.reno-{n}]
paths      = ["path-{n}"]
protocol   = "tcp"
congestion = "reno"
start      = ["0 s", "1 s"]
"""
CROWD: Final = """
title    = "Very many flows over one link"
duration = "3 s"
seed     = 1

[link.bottleneck]
rate  = "2 Gbit/s"
delay = "50 ms"
queue = "1 BDP"

[connection.reno]
paths      = ["bottleneck"]
count      = 2000
protocol   = "tcp"
congestion = "reno"
start      = ["0 s", "1 s"]

[measure]
sample = "never"
"""
UNEQUAL: Final = """
title    = "A fast path and a slow one that loses packets, and a receive buffer that is too small for both"
duration = "{seconds} s"
seed     = 1

[link.fast]
rate  = "20 Mbit/s"
delay = "10 ms"
queue = "1 BDP"

[link.slow]
rate  = "8 Mbit/s"
delay = "40 ms"
queue = "1 BDP"
loss  = "0.1 %"

[connection.both]
paths          = ["fast", "slow"]
congestion     = "{congestion}"
scheduler      = {scheduler}
receive_buffer = "300 kB"

[connection.on-fast]
paths      = ["fast"]
protocol   = "tcp"
congestion = "cubic"

[measure]
sample = "never"
"""


def unequal(congestion: str, scheduler: str, *, seconds: int = 100) -> str:
    """The scenario of one control with one scheduler, a table in TOML."""
    return UNEQUAL.format(seconds=seconds, congestion=congestion, scheduler=scheduler)


def scenarios() -> dict[str, tuple[Scenario, int]]:
    """What is run, each with the number of seeds."""
    reno = TWO_PATHS.format(seconds=60, congestion='"reno"')
    fast = reno.replace('congestion = "reno"', 'congestion = "lia"', 1)  # the connection over both paths stands first
    texts = {
        "two fast paths": (fast, 1),
        "two slow paths": (fast.replace("100 Mbit/s", "20 Mbit/s").replace("60 s", "200 s"), 1),
        "dumbbell": (DUMBBELL.format(flows="".join(FLOW.format(n=n) for n in range(10))), 1),
        "crowd": (CROWD, 1),
        "transfers": (TRANSFER, 200),
        "opportunistic": (unequal("lia", '{ name = "min-rtt", reinjection = "orp" }'), 1),
    }
    for scheduler in registry.names("schedulers", "sim"):
        texts[f"scheduler {scheduler}"] = (unequal("cubic", f'"{scheduler}"'), 1)
    for control in registry.names("congestion", "sim"):
        texts[f"control {control}"] = (unequal(control, '"min-rtt"'), 1)
    tree = Scenario.load("fat-tree", overrides=["topology.k=8", "duration=0.5 s", "measure.warmup=0.1 s"])
    return {name: (Scenario.from_toml(text), count) for name, (text, count) in texts.items()} | {"fat tree": (tree, 1)}


def main() -> None:
    """Runs all of them on one core."""
    for name, (scenario, count) in scenarios().items():
        mptcplab.run(scenario, repeat=count, jobs=1)
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
