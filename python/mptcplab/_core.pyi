"""The engines in Rust."""

from collections.abc import Callable
from typing import TypedDict, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SimulationError",
    "build_commit",
    "build_sources",
    "create_namespace",
    "create_tun",
    "enter_namespace",
    "simulate",
    "version",
]

@type_check_only
class SubflowSamples(TypedDict):
    """Columns of equal length, ordered by time. NaN in `srtt_s` before the first RTT sample."""

    time_s: NDArray[np.float64]
    connection: NDArray[np.uint32]
    subflow: NDArray[np.uint32]
    goodput_bps: NDArray[np.float64]
    cwnd_segments: NDArray[np.float64]
    srtt_s: NDArray[np.float64]
    in_flight_segments: NDArray[np.uint32]

@type_check_only
class LinkSamples(TypedDict):
    """Columns of equal length, ordered by time."""

    time_s: NDArray[np.float64]
    link: NDArray[np.uint32]
    queue_packets: NDArray[np.uint32]
    queue_bytes: NDArray[np.uint64]
    utilization: NDArray[np.float64]
    drops: NDArray[np.uint32]

@type_check_only
class Outcome(TypedDict):
    """What a simulation answers; `summary` is JSON: connections, links and work of `simulator::outcome`."""

    summary: str
    subflow_samples: SubflowSamples
    link_samples: LinkSamples

class SimulationError(Exception):
    """A simulation that could not be carried out or finished."""

def simulate(description: str, progress: Callable[[float], None] | None = None) -> Outcome:
    """Simulate one complete description (JSON of `simulator::description`).

    The GIL is released. At most every 50 ms signals are checked and `progress` is called with the virtual time in
    seconds; an exception from either ends the simulation and is raised.

    Raises ValueError for a description that is not one, SimulationError when the simulation fails.
    """

def version() -> str:
    """Version of the core; equals that of the Python package."""

def build_commit() -> str | None:
    """Commit the core was built from, where the build was told it (`MPTCPLAB_COMMIT`); None in a checkout."""

def build_sources() -> str | None:
    """Digest of the sources the core was built from (`mptcplab.sources`), where the build was told it."""

def create_namespace() -> int:
    """The descriptor of a new network namespace without a name, which goes with the last that holds it.

    Raises OSError without CAP_SYS_ADMIN.
    """

def enter_namespace(descriptor: int) -> None:
    """Move the calling thread into a network namespace.

    Raises OSError without CAP_SYS_ADMIN, or when the descriptor is not that of a network namespace.
    """

def create_tun(namespace: int, name: str) -> int:
    """The descriptor of a new TUN device in a network namespace; the device goes when it is closed.

    Raises OSError without CAP_NET_ADMIN or /dev/net/tun, or with a name that does not do.
    """
