"""The engines in Rust."""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Generic, Protocol, TypedDict, TypeVar, final, type_check_only

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
    "SimulatedSamples",
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

_Columns = TypeVar("_Columns")

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
    """Internal variables of congestion controls by column name; NaN for subflows with other controls."""

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
    """What a run returns; `summary` is JSON: connections, links and work of `scenario::outcome`."""

    summary: str
    subflow_samples: SubflowSamples | None
    link_samples: LinkSamples | None

@final
class SimulatedSamples(Generic[_Columns]):
    """Samples of a simulation until they are asked for; arrays load numpy."""

    def columns(self) -> _Columns:
        """The columns; the same ones each time."""

@type_check_only
class SimulatedOutcome(TypedDict):
    """What a simulation returns: as `Outcome`. One in which nothing was sampled has no samples."""

    summary: str
    subflow_samples: SimulatedSamples[SubflowSamples] | None
    link_samples: SimulatedSamples[LinkSamples] | None

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
        """Time of its arrival, nanoseconds."""
    @property
    def acked_segments(self) -> float:
        """Data that it acknowledged for the first time, cumulatively or selectively, in segments."""
    @property
    def rtt_ns(self) -> int | None:
        """Its RTT sample, nanoseconds."""
    @property
    def cwnd_limited(self) -> bool:
        """Whether the window, rather than the application or the receiver, limited sending."""

@final
class RttSample:
    """A sample of the round-trip time; it may be kept."""

    @property
    def rtt_ns(self) -> int:
        """Age of the youngest segment that was acknowledged and sent only once, nanoseconds."""
    @property
    def now_ns(self) -> int:
        """Time of arrival of the acknowledgment, nanoseconds."""
    @property
    def recovering(self) -> bool:
        """Whether it arrived during fast recovery, where `on_ack` is not called."""
    @property
    def segments_sent(self) -> int:
        """Data segments sent so far, including retransmissions."""
    @property
    def segments_sent_again(self) -> int:
        """Retransmissions among those."""

@final
class Subflow:
    """The state of a subflow, valid during the call that receives it."""

    @property
    def id(self) -> int:
        """Its index among the subflows."""
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
        """Segments bound to it that have not been sent yet."""
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
        """Whether it is established, has an RTT sample and is not closed."""
    @property
    def backup(self) -> bool:
        """Whether it should be used only when no other subflow works."""
    @property
    def potentially_failed(self) -> bool:
        """Whether nothing has been acknowledged since a retransmission timeout."""
    @property
    def held(self) -> bool:
        """Whether pacing, or the peer's window for this subflow, prevents it from sending now."""
    @property
    def in_slow_start(self) -> bool:
        """Whether the window is below the threshold."""
    @property
    def has_room(self) -> bool:
        """Whether another segment fits in the window and pacing allows it now."""
    @property
    def usable(self) -> bool:
        """Whether it can take a segment now: active, not potentially failed, with room."""

@final
class Subflows:
    """The subflows of a connection by id, valid during the call that receives them."""

    def __len__(self) -> int:
        """Number of subflows, including those that are not active."""
    def __getitem__(self, index: int, /) -> Subflow:
        """The subflow with this id. Raises IndexError."""
    def __iter__(self) -> Iterator[Subflow]:
        """All subflows, in the order of their ids."""

@final
class Demand:
    """The data to send; it may be kept."""

    @property
    def is_new(self) -> bool:
        """Whether the data has never been sent; if not, it is a reinjection: its subflow failed or is late."""
    @property
    def tried(self) -> frozenset[int]:
        """The subflows that have carried the data."""

@final
class Counters:
    """The counters of a subflow so far; they may be kept."""

    @property
    def segments_sent(self) -> int:
        """Data segments sent, including retransmissions."""
    @property
    def segments_lost(self) -> int:
        """Retransmissions among those, of segments deemed lost, rightly or not."""
    @property
    def timeouts(self) -> int:
        """Retransmission timeouts."""
    @property
    def acknowledged_bytes(self) -> int:
        """Bytes acknowledged on the subflow."""
    @property
    def segment_bytes(self) -> int:
        """Largest segment in bytes, including TCP options; `Subflow.mss` is its share for data."""
    @property
    def silent(self) -> bool:
        """Whether it has been silent for so long that its data went to others; only if `repair` is `kernel`."""
    @property
    def unacknowledged_bytes(self) -> int:
        """Bytes sent but not acknowledged on the subflow."""
    @property
    def queued_bytes(self) -> int:
        """Bytes bound to the subflow that have not been sent yet."""

@final
class Context:
    """The state of the connection, for a scheduler. Positions and sizes are in bytes of the stream."""

    @property
    def now_ns(self) -> int:
        """Current time, nanoseconds."""
    @property
    def place(self) -> int:
        """Start of the data for which a subflow is to be chosen."""
    @property
    def available_bytes(self) -> int:
        """Number of bytes from there that may be sent or bound."""
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
        """Bytes written but neither sent nor bound; close to 2**64 for an application that always has more."""
    @property
    def free_window_bytes(self) -> int:
        """Bytes that the connection-level window still allows."""
    @property
    def window_bytes(self) -> int:
        """The whole connection-level window: the maximum amount of data in flight."""
    @property
    def window_blocks(self) -> int:
        """How often that window has prevented the fastest subflow from sending although it had room."""
    @property
    def flow_bytes(self) -> int | None:
        """Total amount that the application will write, if known."""
    @property
    def left_bytes(self) -> int | None:
        """The part of it that is neither sent nor bound."""
    @property
    def outstanding_bytes(self) -> int:
        """Bytes sent or bound but not acknowledged at the data level."""
    @property
    def ended(self) -> bool:
        """Whether the application has closed the stream."""
    def counters(self, r: int) -> Counters:
        """The counters of the subflow with id `r`; available only during the call. Raises IndexError."""

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
    """Run the transport's contract suite of its kind on a plug-in: the rule that it breaks and where, or None.

    Raises mptcplab.plugins.PluginError when a call fails.
    """

def simulate(
    description: str,
    progress: Callable[[float], None] | None = None,
    capture: str | PathLike[str] | None = None,
    snap_length: int = 128,
    plugins: Sequence[Given] | None = None,
    trace: str | PathLike[str] | None = None,
) -> SimulatedOutcome:
    """Simulate one complete description (JSON of `scenario::description`).

    The GIL is released. At most every 50 ms signals are checked and `progress` is called with the virtual time in
    seconds; an exception from either ends the simulation and is raised.

    Into the directory `capture`, where there is one, go the packets of each interface, as pcapng, each cut to
    `snap_length` bytes.

    Into the directory `trace`, where there is one, goes what each end of each connection decides, as qlog.

    `plugins` are algorithms in Python that the description names.

    Raises ValueError for a description that is not one, SimulationError when the simulation fails, OSError when a
    capture or a trace cannot be written, mptcplab.plugins.PluginError when a plug-in fails.
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
    broken_laws: list[tuple[int, str]]
    sent: CaptureSegments
    received: CaptureSegments
    acks: CaptureAcks

def analyze(
    paths: Sequence[str | PathLike[str]],
    from_s: float | None = None,
    to_s: float | None = None,
    progress: Callable[[float], None] | None = None,
    series: bool = True,
) -> CaptureAnalysis:
    """Analyse captures that belong together.

    `-` is the standard input. `broken_laws` has the number of a connection and a text for each law that the analysis
    breaks. Without `series` the columns of `sent`, `received` and `acks` are empty, which saves 100 bytes of memory a
    packet.

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
    a column of samples is the bytes of an array, for callers that pass it on.

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
    plan: str,
    progress: Callable[[float], None] | None = None,
    plugins: Sequence[Given] | None = None,
    trace: str | PathLike[str] | None = None,
) -> Outcome:
    """Run a plan of the engine stack (JSON of `live::stack_engine::Plan`) to its end, by the machine's clock.

    The GIL is released; signals, `progress` and `trace` as for `simulate`. Descriptors stay the caller's.

    Raises ValueError for a plan that is not one, SimulationError when the machine fails on the way.
    """
