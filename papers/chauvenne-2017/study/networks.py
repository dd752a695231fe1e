"""The networks of the thesis: two paths, drawn by WSP from the domains of table 3.1."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path as Paths
from typing import Final

import numpy as np
from mptcplab.designs import wsp
from mptcplab.reproduce import machine

MACHINE: Final = machine.read(Paths(__file__).parents[1] / machine.FILE)
MTU_BYTES: Final = 1500
CAPACITY_MBPS: Final = (1, 100)
LEAST_QUEUE_PACKETS: Final = 10
LOSSES_PERCENT: Final = (0, 1, 2)
"""Section 5.2.1; whole per cents, as Mininet takes no others."""
DESIGNS: Final = 3
"""For the sensitivity; the figures are of the first."""
BULK_DESIGNS: Final = 10
"""Of bulk transfers without random losses, which take least."""


@dataclass(frozen=True)
class Domain:
    """Table 3.1: ranges of the one-way propagation delay and of the maximum queueing delay."""

    name: str
    delay_ms: tuple[int, int]
    queueing_ms: tuple[int, int]
    points: int
    lossy_points: int


LOW: Final = Domain("low BDP", (1, 25), (0, 100), 98, 91)
HIGH: Final = Domain("high BDP", (1, 200), (0, 2000), 213, 221)
DOMAINS: Final = (LOW, HIGH)
QUICK_POINTS: Final = {LOW.name: 12, HIGH.name: 14}


@dataclass(frozen=True)
class Path:
    """One path: a link with its factors."""

    capacity_mbps: int
    delay_ms: int
    queue_packets: int
    queueing_ms: float = float("nan")
    loss_percent: int = 0


@dataclass(frozen=True)
class Network:
    """A point of a design: two paths, the first of which opens the connection."""

    domain: str
    design: int
    point: int
    first: Path
    second: Path

    @property
    def seed(self) -> int:
        """A seed of its own for each point."""
        return 1000 * self.design + self.point + 1

    @property
    def labels(self) -> dict[str, str | int | float]:
        """What marks a run over it."""
        return {"domain": self.domain, "design": self.design, "point": self.point}

    @property
    def factors(self) -> dict[str, str | int | float]:
        """The labels and all factors."""
        return self.labels | {
            f"{key}_{number}": value
            for number, path in enumerate((self.first, self.second), start=1)
            for key, value in vars(path).items()
        }


def queue_packets(capacity_mbps: float, queueing_ms: float) -> int:
    """Equation 3.2: what the capacity sends in the maximum queueing delay, but 10 packets at least.

    The equation prints 10³ · delay · capacity / (8 · MTU), with the delay in ms and the capacity in Mbit/s.
    """
    return max(LEAST_QUEUE_PACKETS, int(1e3 * queueing_ms * capacity_mbps / (8 * MTU_BYTES)))


@cache
def networks(domain: Domain, *, lossy: bool = False, design: int = 0, quick: bool = False) -> tuple[Network, ...]:
    """One design: 98 or 213 points in six dimensions, 91 or 221 in eight; `quick` has fewer."""
    points = QUICK_POINTS[domain.name] if quick else domain.lossy_points if lossy else domain.points
    cube = wsp(points=points, dimensions=8 if lossy else 6, seed=design + 1)
    return tuple(Network(domain.name, design, number, *_paths(domain, row)) for number, row in enumerate(cube))


def _paths(domain: Domain, row: Sequence[float]) -> list[Path]:
    half = len(row) // 2
    return [_path(domain, row[start : start + half]) for start in (0, half)]


def _path(domain: Domain, row: Sequence[float]) -> Path:
    capacity = _whole(row[0], CAPACITY_MBPS)
    queueing = domain.queueing_ms[0] + float(row[2]) * (domain.queueing_ms[1] - domain.queueing_ms[0])
    loss = LOSSES_PERCENT[min(int(row[3] * len(LOSSES_PERCENT)), len(LOSSES_PERCENT) - 1)] if len(row) > 3 else 0
    return Path(capacity, _whole(row[1], domain.delay_ms), queue_packets(capacity, queueing), queueing, loss)


def _whole(part: float, bounds: tuple[int, int]) -> int:
    # The testbed's files hold whole Mbit/s and ms.
    return int(np.rint(bounds[0] + float(part) * (bounds[1] - bounds[0])))
