"""What guests of the engine `linux-virtual` cost: CPU time of a start, of a simulated second, of several side by side.

CPU time is that of a guest's processes and does not contain what others compute meanwhile, but they slow a guest down
too, by caches and switches: the load of the machine stands beside. About three minutes of one core.
"""

import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
from mptcplab import kernels
from mptcplab.capture.settings import Capture
from mptcplab.engines.linux_virtual.guest import boot
from mptcplab.engines.runner import run
from mptcplab.scenario import Scenario

from .runs import say, show

RATES_MBPS: Final = (10, 30, 100)
SHORT_S: Final = 2
LONG_S: Final = 10
START_MS: Final = 50
SIDE_BY_SIDE: Final = 8
ROUNDS: Final = 3
SAME: Final = 20


def scenario(rate_mbps: float, duration: str, *, loss: str = "0 %") -> Scenario:
    """Two paths that have the rate together."""
    links = "".join(
        f'[link.{name}]\nrate = "{part * rate_mbps:g} Mbit/s"\ndelay = "{delay_ms} ms"\nqueue = "50 ms"\n'
        f'down.loss = "{loss}"\n'
        for name, part, delay_ms in (("fast", 2 / 3, 10), ("slow", 1 / 3, 30))
    )
    return Scenario.from_toml(
        f'duration = "{duration}"\n{links}[connection.m]\npaths = ["fast", "slow"]\ncongestion = "reno"\n'
        'scheduler = "linux"\n[measure]\nwarmup = "0 s"\n',
        "<study>",
    )


def cost(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of what processes of this one did meanwhile."""

    def cpu_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    cpu, wall = cpu_s(), time.monotonic()
    work()
    return cpu_s() - cpu, time.monotonic() - wall


def starts(engine: str, kernel: kernels.Kernel) -> Iterator[dict[str, str]]:
    """A boot alone, and the shortest run with it."""

    def only_boot() -> None:
        with tempfile.TemporaryDirectory(prefix="mptcplab-study-") as place:
            boot(kernel, Path(place), seed=1, progress=None, words=["/bin/true"])

    shortest = partial(run, scenario(10, f"{START_MS} ms"), engine)
    for what, work in (("boot", only_boot), (f"run of {START_MS} ms, boot included", shortest)):
        found = sorted(cost(work)[0] for _ in range(5))
        yield {"what": what, "CPU s (median of 5)": f"{found[2]:.2f}", "from, to": f"{found[0]:.2f}, {found[-1]:.2f}"}


def seconds(engine: str) -> Iterator[dict[str, str]]:
    """A simulated second: what a longer run costs more, so that the start does not count."""
    for rate in RATES_MBPS:
        short, long = (cost(partial(run, scenario(rate, f"{each} s"), engine))[0] for each in (SHORT_S, LONG_S))
        yield {"rate": f"{rate} Mbit/s", "CPU s per simulated second": f"{(long - short) / (LONG_S - SHORT_S):.2f}"}


def side_by_side(engine: str) -> Iterator[dict[str, str]]:
    """As many runs one after another and all at once, in turn."""
    cores = len(os.sched_getaffinity(0))
    what = scenario(30, "3 s")
    speeds = []
    for _ in range(ROUNDS):
        one, all_at_once = (
            cost(partial(run, what, engine, repeat=SIDE_BY_SIDE, jobs=jobs)) for jobs in (1, SIDE_BY_SIDE)
        )
        speeds.append(cores * one[0] / all_at_once[0])
        yield {
            "one after another": f"{one[0]:.1f} CPU s, {one[1]:.1f} s",
            f"{SIDE_BY_SIDE} at once": f"{all_at_once[0]:.1f} CPU s, {all_at_once[1]:.1f} s",
            f"on {cores} cores, by CPU time": f"{speeds[-1]:.2f} times one",
            "by the clock": f"{one[1] / all_at_once[1]:.2f}",
            "load": f"{os.getloadavg()[0]:.1f}",
        }


def digest(engine: str, seed: int) -> str:
    """Of the captures and the result of a run."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-study-") as place:
        result = run(scenario(10, "1 s", loss="1 %"), engine, seed=seed, capture=Capture(Path(place), 0))
        files = [path.read_bytes() for path in sorted(Path(place).iterdir())]
    return sha256(b"".join([result.to_json().encode(), *files])).hexdigest()


def main() -> None:
    """Print the tables."""
    kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    engine = f"linux-virtual:{kernel.name}"
    say(f"{engine}: Linux {kernel.version}, HZ {kernel.hz}; load {os.getloadavg()[0]:.1f}")
    show("A start", starts(engine, kernel))
    show("A simulated second, Reno over two paths", seconds(engine))
    show(f"{SIDE_BY_SIDE} guests side by side", side_by_side(engine))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: digest(engine, seed), [1] * SAME + [2]))
    count = int(np.unique(found[:SAME]).size)
    say(
        f"{SAME} runs of seed 1, four at a time: {count} different result{'s' * (count != 1)} and captures; "
        f"seed 2: {'another' if found[-1] != found[0] else 'the same'}; load {os.getloadavg()[0]:.1f}"
    )
