"""What a request may take: several people can use one server, and a wrong request must not cost more than itself."""

import os
from dataclasses import dataclass, field

from mptcplab.qlog.recorded import SEGMENTS


def _processes() -> int:
    return max(3, (os.cpu_count() or 1) + 1)


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a server."""

    body_bytes: int = 512_000
    """The longest request."""
    run_s: float = 120.0
    """The longest that a task computes, by the clock; of an engine in real time beyond the scenario's own duration."""
    memory_bytes: int = 3 << 30
    """What a worker process may allocate; one that wants more ends, and its request is refused."""
    samples: int = 3_000_000
    """The most rows that a run may sample."""
    connections: int = 2_000
    """The most connections of a run."""
    points: int = 1_500
    """The most points of a line that the page draws; beyond that a point is the mean of several samples."""
    lines: int = 48
    """The most subflows, and the most directions of links, whose samples the page gets."""
    packets: int = 6_000
    """The most packets that the page gets to show them moving."""
    captured: int = 600_000
    """The most packets of a run that is captured for that."""
    traced: int = SEGMENTS
    """The most segments of a run whose decisions are recorded."""
    processes: int = field(default_factory=_processes)
    """The most worker processes."""
    waiting: int = 64
    """The most requests that wait."""
    waiting_of_page: int = 6
    """The most of those that are of one page."""
    running_of_page: int = 2
    """The most that a page computes at a time: A and B."""
