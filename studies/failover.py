"""A path is unplugged in the middle of a transfer: how long nothing arrives, in the simulator and in Linux.

10 and 5 Mbit/s with round-trip times of 20 and 60 ms, CUBIC, unplugged at ten instants after four seconds; the median
of the longest silences. The simulator is asked twice: with the keys that make it send and receive as Linux does
(`exact`), and with its defaults. Each transfer has a guest to itself. It takes a minute on two cores.
"""

import os
import statistics
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from mptcplab import kernels

from .exact import AS_LINUX_SENDS
from .runs import run, say, show

INSTANTS_MS: Final = tuple(4000 + 137 * number for number in range(10))
CASES: Final = (("first", "fullmesh"), ("second", "fullmesh"), ("first", "backup"))
"""Which path goes, and the path manager."""
ALIKE_S: Final = 1e-3
SENDERS: Final[Mapping[str, str]] = {
    "linux": 'congestion = "cubic"\nscheduler = "linux"',
    "as Linux": 'congestion = { name = "cubic", variant = "linux" }\nscheduler = "linux"\n'
    f"tcp = {{ {AS_LINUX_SENDS} }}",
    "by default": 'congestion = { name = "cubic", variant = "linux" }\nscheduler = "linux"\nreceive_buffer = "4 MiB"',
}
_TEXT: Final = """
duration = "8 s"
[link.first]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 ms"
[link.second]
rate = "5 Mbit/s"
delay = "30 ms"
queue = "50 ms"
[connection.m]
paths = ["first", "second"]
path_manager = "{manager}"
{sender}
[[event]]
at = "{at_ms} ms"
link = "{gone}"
set = {{ down = true }}
[measure]
sample = "never"
"""


def silence_s(sender: str, gone: str, manager: str, engine: str, at_ms: int) -> float:
    """The longest time in which nothing arrived."""
    result = run(_TEXT.format(manager=manager, sender=SENDERS[sender], at_ms=at_ms, gone=gone), seeds=1, engine=engine)
    found: float = result.connections["longest_silence_s"][0]
    return found


def rows(kernel: kernels.Kernel) -> Iterator[Mapping[str, str]]:
    """One for each case."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for gone, manager in CASES:
            found = {
                sender: list(
                    pool.map(
                        partial(
                            silence_s,
                            sender,
                            gone,
                            manager,
                            f"linux-virtual:{kernel.name}" if sender == "linux" else "sim",
                        ),
                        INSTANTS_MS,
                    )
                )
                for sender in SENDERS
            }
            alike = sum(abs(a - b) < ALIKE_S for a, b in zip(found["linux"], found["as Linux"], strict=True))
            yield {
                "unplugged": "the 10 Mbit/s path" if gone == "first" else "the 5 Mbit/s path",
                "path manager": f"`{manager}`",
                "Linux": f"{statistics.median(found['linux']):.2f} s",
                "sim as Linux": f"{statistics.median(found['as Linux']):.2f} s",
                "within a millisecond": f"{alike} of {len(INSTANTS_MS)}",
                "sim by default": f"{statistics.median(found['by default']):.2f} s",
            }


def main() -> None:
    """Print the table."""
    kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    show("The longest silence after a path is unplugged, median of ten", rows(kernel))
    say("As Linux: with `window_validation`, `tso`, `receiver` and `timers`.")
