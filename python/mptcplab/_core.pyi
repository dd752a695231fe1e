"""The engines in Rust."""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Protocol, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

from mptcplab.errors import Error
from mptcplab.plugins.base import Carried

__all__ = [
    "Ack",
    "Context",
    "Counters",
    "Demand",
    "RttSample",
    "SimulationError",
    "Socket",
    "Stack",
    "Subflow",
    "Subflows",
    "algorithms",
    "analyze",
    "build_commit",
    "build_sources",
    "check_plugin",
    "create_namespace",
    "create_tun",
    "enter_namespace",
    "open_tun",
    "play_cases",
    "read_trace",
    "run_linux",
    "run_stack",
    "run_testbed_end",
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
    own: dict[str, NDArray[np.float64]]
    """Congestion controls' own numbers by the names of their columns; NaN for subflows of others."""

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
    """What a simulation answers; `summary` is JSON: connections, links and work of `simulator::outcome`.

    A simulation in which nothing was sampled has no samples.
    """

    summary: str
    subflow_samples: SubflowSamples | None
    link_samples: LinkSamples | None

@type_check_only
class HalfOutcome(TypedDict):
    """What one end of a run of the engine testbed saw; a column of samples is the bytes of an array, but for `own`,
    which is empty."""

    summary: str
    subflow_samples: dict[str, bytes]

class SimulationError(Error):
    """A simulation that could not be carried out or finished."""

@final
class Ack:
    """An acknowledgment of new data; it may be kept."""

    @property
    def now_ns(self) -> int:
        """When it arrived, nanoseconds."""
    @property
    def acked_segments(self) -> float:
        """What it acknowledged for the first time, cumulatively or selectively, in segments."""
    @property
    def rtt_ns(self) -> int | None:
        """The RTT sample that it gave, nanoseconds."""
    @property
    def cwnd_limited(self) -> bool:
        """Whether the window, not the application or the receiver, limited what was sent."""

@final
class RttSample:
    """A sample of the round-trip time; it may be kept."""

    @property
    def rtt_ns(self) -> int:
        """Age of the youngest segment that was acknowledged and sent only once, nanoseconds."""
    @property
    def now_ns(self) -> int:
        """When the acknowledgment arrived, nanoseconds."""
    @property
    def recovering(self) -> bool:
        """Whether it arrived during fast recovery, where `on_ack` is not called."""
    @property
    def segments_sent(self) -> int:
        """Segments with data sent so far, those sent again counted."""
    @property
    def segments_sent_again(self) -> int:
        """Of those, sent again."""

@final
class Subflow:
    """What is known of a subflow, during the call that it was given to."""

    @property
    def id(self) -> int:
        """Its place among the subflows."""
    @property
    def cwnd(self) -> float:
        """Congestion window, segments."""
    @property
    def ssthresh(self) -> float:
        """Slow start threshold, segments; infinite until the first loss."""
    @property
    def srtt_ns(self) -> int:
        """Smoothed round-trip time, nanoseconds; 0 before the first sample."""
    @property
    def srtt_s(self) -> float:
        """The same in seconds."""
    @property
    def rttvar_ns(self) -> int:
        """Its mean deviation, nanoseconds."""
    @property
    def min_rtt_ns(self) -> int:
        """Smallest round-trip time seen, nanoseconds; 0 before the first sample."""
    @property
    def in_flight(self) -> int:
        """Segments believed to be in the network."""
    @property
    def queued(self) -> int:
        """Segments bound to it and not sent yet."""
    @property
    def mss(self) -> int:
        """Bytes of data that a segment carries."""
    @property
    def phase(self) -> str:
        """`open`, `recovery` (fast recovery) or `loss` (after a timeout)."""
    @property
    def bytes_since_loss(self) -> int:
        """Bytes acknowledged since the last loss."""
    @property
    def bytes_between_losses(self) -> int:
        """Bytes acknowledged between the last two losses."""
    @property
    def active(self) -> bool:
        """Established, with an RTT sample, not closed."""
    @property
    def backup(self) -> bool:
        """To be used only when no other subflow works."""
    @property
    def potentially_failed(self) -> bool:
        """A retransmission timeout occurred and nothing was acknowledged since."""
    @property
    def held(self) -> bool:
        """Pacing, or the peer's window of this subflow, holds it back for the moment."""
    @property
    def in_slow_start(self) -> bool:
        """The window is below the threshold."""
    @property
    def has_room(self) -> bool:
        """Another segment fits in the window, and pacing allows it now."""
    @property
    def usable(self) -> bool:
        """It can take a segment now: active, not potentially failed, with room."""

@final
class Subflows:
    """The subflows of a connection by their ids, during the call that they were given to."""

    def __len__(self) -> int:
        """How many there are, also those that are not active."""
    def __getitem__(self, index: int, /) -> Subflow:
        """The subflow with this id. Raises IndexError."""
    def __iter__(self) -> Iterator[Subflow]:
        """All of them, in the order of their ids."""

@final
class Demand:
    """What there is to send; it may be kept."""

    @property
    def is_new(self) -> bool:
        """Whether it is data never sent before, else a reinjection: data whose subflow failed or is late."""
    @property
    def tried(self) -> frozenset[int]:
        """The subflows that carried it."""

@final
class Counters:
    """What a subflow has counted so far; it may be kept."""

    @property
    def segments_sent(self) -> int:
        """Segments with data sent, retransmissions included."""
    @property
    def segments_lost(self) -> int:
        """Of those, the retransmissions of segments that were held to be lost, rightly or not."""
    @property
    def timeouts(self) -> int:
        """Retransmission timeouts."""
    @property
    def acknowledged_bytes(self) -> int:
        """Bytes acknowledged on the subflow."""
    @property
    def segment_bytes(self) -> int:
        """Largest segment in bytes, TCP's options included; `Subflow.mss` is what data gets of it."""
    @property
    def silent(self) -> bool:
        """Nothing was heard of it for so long that its data went to others; only where `repair` is `kernel`."""
    @property
    def unacknowledged_bytes(self) -> int:
        """Bytes sent and not acknowledged on the subflow."""
    @property
    def queued_bytes(self) -> int:
        """Bytes bound to the subflow and not sent yet."""

@final
class Context:
    """What a scheduler knows of the connection. Places and sizes are bytes of the stream."""

    @property
    def now_ns(self) -> int:
        """Now, nanoseconds."""
    @property
    def place(self) -> int:
        """Where the data begins that is asked about."""
    @property
    def available_bytes(self) -> int:
        """How many bytes of it there are that may be sent or bound."""
    @property
    def acknowledged_bytes(self) -> int:
        """Bytes that the peer has acknowledged at the data level."""
    @property
    def oldest(self) -> Carried | None:
        """The oldest data that is not acknowledged at the data level, as far as the same subflows carry it."""
    @property
    def sent_bytes(self) -> int:
        """Bytes sent so far for the first time, or bound to a subflow: where new data begins."""
    @property
    def unsent_bytes(self) -> int:
        """Bytes written and neither sent nor bound; of an application that always has more, next to 2**64."""
    @property
    def free_window_bytes(self) -> int:
        """Bytes that the connection-level window still allows."""
    @property
    def window_bytes(self) -> int:
        """The whole connection-level window: what may be under way at once."""
    @property
    def window_blocks(self) -> int:
        """How often so far that window kept the fastest subflow from sending though it had room."""
    @property
    def flow_bytes(self) -> int | None:
        """What the application will have written in all, where it is known."""
    @property
    def left_bytes(self) -> int | None:
        """Of that, what is neither sent nor bound."""
    @property
    def outstanding_bytes(self) -> int:
        """Bytes sent or bound and not acknowledged at the data level."""
    @property
    def ended(self) -> bool:
        """The application writes no more."""
    def counters(self, r: int) -> Counters:
        """What the subflow with id `r` has counted, during the call. Raises IndexError."""

@type_check_only
class Given(Protocol):
    """A plug-in of a run: mptcplab.plugins.running.Given."""

    @property
    def kind(self) -> str:
        """`congestion`, `scheduler` or `path_manager`."""
    @property
    def key(self) -> str:
        """What the description calls it by."""
    @property
    def name(self) -> str:
        """What messages call it by."""
    @property
    def is_rule(self) -> bool:
        """Whether it is a rule for the classic machine."""
    @property
    def make(self) -> Callable[[int], object]:
        """Makes an object for a connection, of the seed of its random numbers."""
    @property
    def methods(self) -> list[str]:
        """The methods that its class does not leave to the base class."""
    @property
    def repairs_as_kernel(self) -> bool:
        """Whether a scheduler wants losses repaired as Linux does."""
    @property
    def columns(self) -> list[str]:
        """Names of the columns that a congestion control shows in samples."""
    @property
    def call_limit_s(self) -> float:
        """How long a call may take."""

def check_plugin(plugin: Given) -> str | None:
    """Run the transport's conformance suite of its kind on a plug-in: the rule that it breaks and where, or None.

    Raises mptcplab.plugins.PluginError when a call fails.
    """

def simulate(
    description: str,
    progress: Callable[[float], None] | None = None,
    capture: str | PathLike[str] | None = None,
    snap_length: int = 128,
    plugins: Sequence[Given] | None = None,
) -> Outcome:
    """Simulate one complete description (JSON of `simulator::description`).

    The GIL is released. At most every 50 ms signals are checked and `progress` is called with the virtual time in
    seconds; an exception from either ends the simulation and is raised.

    Into the directory `capture`, where there is one, go the packets of each interface, as pcapng, each cut to
    `snap_length` bytes.

    `plugins` are algorithms in Python that the description names.

    Raises ValueError for a description that is not one, SimulationError when the simulation fails, OSError when a
    capture cannot be written, mptcplab.plugins.PluginError when a plug-in fails.
    """

@type_check_only
class CaptureSegments(TypedDict):
    """Columns of equal length. `direction` is 0 up and 1 down; `note` is, of what was sent, 0 new, 1 a retransmission
    and 2 a reinjection, of what was received the bytes that were new."""

    time_s: NDArray[np.float64]
    connection: NDArray[np.uint32]
    direction: NDArray[np.uint8]
    subflow: NDArray[np.uint32]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint32]
    note: NDArray[np.uint32]

@type_check_only
class CaptureAcks(TypedDict):
    """Columns of equal length."""

    time_s: NDArray[np.float64]
    connection: NDArray[np.uint32]
    direction: NDArray[np.uint8]
    subflow: NDArray[np.uint32]
    offset: NDArray[np.uint64]
    window: NDArray[np.float64]

@type_check_only
class CaptureAnalysis(TypedDict):
    """What captures say; `summary` is JSON of `capture::analysis::report::Analysis`."""

    summary: str
    sent: CaptureSegments
    received: CaptureSegments
    acks: CaptureAcks

def analyze(
    paths: Sequence[str | PathLike[str]],
    from_s: float | None = None,
    to_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> CaptureAnalysis:
    """Analyse captures that belong together.

    The GIL is released. At most every 50 ms signals are checked and `progress` is called with the bytes of packets that
    were read; an exception from either ends the analysis and is raised.

    Raises ValueError with the arguments path and reason for what is no capture, OSError for what cannot be read.
    """

def algorithms() -> str:
    """The algorithms of the transport: JSON, `mptcplab.registry` reads it."""

def play_cases(folder: str | PathLike[str], only: str, against: list[str], threads: int) -> str:
    """Play the cases of conformance below a folder whose names or requirements contain `only`: JSON, a row each.

    Raises ValueError with what is wrong with the files, a line each.
    """

def read_trace(text: str) -> tuple[int, int]:
    """Mean rate in bit/s and period in nanoseconds of a trace in Mahimahi's format.

    Raises ValueError with the arguments line, found and expected.
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

def open_tun(name: str, offloads: bool) -> int:
    """The descriptor of a TUN device in the caller's network namespace, made if it is not there.

    With `offloads` packets have a virtio_net_hdr, may be large and lack checksums. Raises OSError as `create_tun`.
    """

@final
class Stack:
    """A stack on a thread of its own. `mptcplab.stack.Stack` is its comfortable form."""

    def __new__(cls, settings: str, descriptors: Sequence[int]) -> Stack:
        """`settings` is JSON of `live::stack::Settings`; the descriptors stay the caller's, which may close them."""

    def connect(self, remote: str, port: int, options: str, from_ids: Sequence[int]) -> Socket:
        """Open a connection; `options` is JSON of `live::stack::Options`."""

    def listen(self, port: int, options: str) -> None:
        """Accept connections to a port."""

    def accept(self, port: int, timeout_s: float) -> Socket:
        """The next connection to a port; TimeoutError when there is none in time."""

    def abort(self, socket: Socket) -> None:
        """Reset a connection, under MPTCP with MP_FASTCLOSE."""

    def join(self, socket: Socket, local_id: int, remote_id: int, backup: bool) -> None:
        """Open a subflow from a local address id to a remote one."""

    def announce(self, socket: Socket, local_id: int, port: int | None) -> None:
        """Tell the peer of a local address."""

    def withdraw(self, socket: Socket, local_id: int) -> None:
        """Withdraw a local address."""

    def set_backup(self, socket: Socket, local_id: int, remote_id: int, backup: bool) -> None:
        """Make subflows backups, or active ones again."""

    def close_path(self, socket: Socket, local_id: int, remote_id: int) -> None:
        """End subflows in order."""

    def look(self, socket: Socket) -> str | None:
        """How a connection stands: JSON of `live::stack::ConnectionState`, or None."""

    def counters(self) -> str:
        """What the devices have counted: JSON."""

    def impair(self, device: int, impair: str) -> None:
        """Impair a device from now on; `impair` is JSON of `live::stack::Impair`."""

    def stop(self) -> None:
        """End the stack. RuntimeError when it had failed before."""

@final
class Socket:
    """A connection of a stack."""

    def wait_established(self, timeout_s: float) -> None:
        """Wait until data can be carried."""

    def wait_ended(self, timeout_s: float) -> str:
        """Wait for the end: `closed` or `aborted`."""

    def wait_flushed(self, timeout_s: float) -> None:
        """Wait until all that was written, and the end of it, is acknowledged."""

    def write(self, data: bytes, timeout_s: float) -> None:
        """Append to the stream."""

    def read(self, most: int, timeout_s: float) -> bytes:
        """The next bytes; empty at the end of the stream."""

    def set_flow_size(self, size_bytes: int) -> None:
        """Say how much will be written in all."""

    def close(self) -> None:
        """Write no more."""

    def take_events(self) -> list[str]:
        """The names of what has happened since the last call."""

def run_linux(plan: str, progress: Callable[[float], None] | None = None, *, raw: bool = False) -> Outcome:
    """Run a plan of the engine linux (JSON of `live::linux::Plan`) to its end, by the machine's clock.

    The GIL is released; signals, `progress` and `plugins` as for `simulate`. Descriptors stay the caller's. With `raw`
    a column of samples is the bytes of an array, for who hands it on.

    Raises ValueError for a plan that is not one, SimulationError when the machine fails on the way,
    mptcplab.plugins.PluginError when a plug-in fails.
    """

def run_testbed_end(plan: str, progress: Callable[[float], None] | None = None) -> HalfOutcome:
    """Play one end of a plan of the engine testbed (JSON of `live::testbed::Plan`) to its end, by the machine's clock,
    in the caller's network namespace.

    The GIL is released; signals and `progress` as for `simulate`.

    Raises ValueError for a plan that is not one, SimulationError when the machine fails on the way.
    """

def run_stack(
    plan: str, progress: Callable[[float], None] | None = None, plugins: Sequence[Given] | None = None
) -> Outcome:
    """Run a plan of the engine stack (JSON of `live::stack_engine::Plan`) to its end, by the machine's clock.

    The GIL is released; signals and `progress` as for `simulate`. Descriptors stay the caller's.

    Raises ValueError for a plan that is not one, SimulationError when the machine fails on the way.
    """
