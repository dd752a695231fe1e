"""The one table of parameters, chosen from the equipment and the single-path values of the thesis, and nothing else.

The thesis prints no capacity, round-trip time, buffer or congestion control. What it prints of single paths: 93 Mbit/s
by Ethernet in the download of B; 20 MB in 5.192 s by Ethernet in the download of D; from −27 and −31 % for 50 MB that
Wi-Fi takes 0.73/0.69 = 1.06 times as long as Ethernet in the download of B. Values were not changed after multipath
runs were seen; `range` is what sensitivity runs span.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mptcplab.reproduce import machine

MACHINE: Final = machine.read(Path(__file__).parents[1] / machine.FILE)


@dataclass(frozen=True)
class Parameter:
    """A value, what else is plausible, and why."""

    name: str
    value: float
    unit: str
    range: tuple[float, float]
    reason: str


_TABLE: Final = (
    Parameter("ethernet", 100, "Mbit/s", (100, 100), "the client's card is a Fast Ethernet one (§3.2)"),
    Parameter("ethernet delay", 0.15, "ms", (0.05, 0.5), "one way, a cable and the router"),
    Parameter(
        "air",
        190,
        "Mbit/s",
        (140, 280),
        "what the air carries, headers counted: 88 Mbit/s by Wi-Fi alone (93/1.06) cross it twice in B, with headers "
        "(4 %) and acknowledgments (about 4 %)",
    ),
    Parameter("wifi delay", 1, "ms", (0.5, 3), "one way and leg, an access point with little other traffic"),
    Parameter("air variation", 20, "%", (0, 40), "of the rate over seconds: figures 4.7 and 4.9 say that it varies"),
    Parameter("cloud delay", 12.5, "ms", (5, 25), "one way, northern Italy to western Europe"),
    Parameter("access down", 1000, "Mbit/s", (300, 1000), "the router is one for fibre (§3.2)"),
    Parameter("access up", 200, "Mbit/s", (100, 300), "the usual other half of such a contract"),
    Parameter("cloud ethernet down", 33, "Mbit/s", (33, 60), "20 MB in 5.192 s, less 0.3 s to start and headers"),
    Parameter("cloud wifi down", 27, "Mbit/s", (27, 48), "'smaller but still comparable': 0.8 of Ethernet"),
    Parameter("cloud up", 100, "Mbit/s", (70, 100), "a path's: Wi-Fi has as much as Ethernet, which its card bounds"),
    Parameter("lte down", 15, "Mbit/s", (5, 30), "'more comparable to Ethernet': about half of the 33"),
    Parameter("lte up", 3, "Mbit/s", (1, 10), "'very little available resource blocks'"),
    Parameter("lte delay", 22.5, "ms", (15, 40), "one way, before the cloud's; an idle phone by USB"),
    Parameter("lte variation", 30, "%", (0, 50), "'not at all guaranteed over time'"),
    Parameter("lte queue", 500, "ms", (100, 2000), "deep, as base stations have it"),
    Parameter("queue", 50, "ms", (10, 200), "of all other links"),
    Parameter(
        "throttle queue",
        MACHINE["throttle"],
        "ms",
        (20, 4000),
        "the latency in the manual's example of tc's token bucket",
    ),
    Parameter(
        "receive window",
        MACHINE["window"],
        "MiB",
        (0.5, 64),
        "half of tcp_rmem's 6 MiB: tcp_adv_win_scale was 1 in these kernels",
    ),
)

PARAMETERS: Final = {each.name: each for each in _TABLE}

CONGESTION: Final[str] = MACHINE["congestion"]
SECONDS: Final[int] = MACHINE["seconds"]
THROTTLES_MBPS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Only 1 Mbit/s is named."""
SIZES: Final = {"16 kB": 16e3, "128 kB": 128e3, "1 MB": 1e6, "5 MB": 5e6, "20 MB": 20e6, "50 MB": 50e6}
"""16 kB, 20 MB and 50 MB are named. Up to 1 MB a file is small here."""
SMALL: Final = ("16 kB", "128 kB", "1 MB")
LARGE: Final = ("5 MB", "20 MB", "50 MB")


def value(name: str) -> float:
    """The value chosen."""
    return PARAMETERS[name].value
