"""The classes that plug-ins derive from.

Windows and thresholds are in segments and may be fractional; times are nanoseconds of the run's clock. `subflows[r]` is
the subflow with id r; subflows that are not `active` are to be left out of sums. Views are valid only during the call:
store the numbers that you need later.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from random import Random
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    from mptcplab._core import Ack, Context, Demand, RttSample, Subflows


class Plugin(ABC):
    """Base class of all plug-ins. Each end of each connection has an object of its own.

    The keyword arguments of `__init__` are the parameters that a scenario can set.
    """

    random: Random
    """This object's random numbers, available before `__init__`: the same in every run with the same seed."""

    call_limit_s: ClassVar[float] = 10.0
    """Longest wall-clock time of one call, after which the run ends with an error; a guard against endless loops."""


class Column(NamedTuple):
    """An internal variable that a congestion control records in `samples`."""

    name: str
    """Name of the column, ending with its unit like those of other columns: `queueing_delay_s`."""
    unit: str
    """Its unit; empty without one."""
    summary: str
    """What it is, in one line."""


class Measuring(Plugin):
    """Features available to every congestion control: RTT samples, and columns of its own in `samples`."""

    columns: ClassVar[tuple[Column, ...]] = ()
    """Its columns; rows of subflows with other controls are null there."""

    def show(self, subflows: "Subflows", r: int, now_ns: int) -> "Sequence[float | None]":  # noqa: ARG002
        """The values of `columns` for the subflow `r` at a sample of the run; None where there is none yet."""
        return [None] * len(self.columns)

    def on_sample(self, subflows: "Subflows", r: int, sample: "RttSample") -> None:
        """A sample of the round-trip time of the subflow `r`, also during fast recovery, before `on_ack` of the same
        acknowledgment. Called only if a class defines it.
        """


class Window(NamedTuple):
    """A window as a congestion control sets it."""

    cwnd: float
    """The congestion window, in segments: 1 or more."""
    ssthresh: float
    """The slow start threshold, in segments: 1 or more, or infinite."""


class Rule(Measuring):
    """How a loss-based congestion control grows and shrinks its window; slow start and everything else are TCP's.

    `subflows` are the subflows of the connection, `r` is the one concerned.
    """

    @abstractmethod
    def increase(self, subflows: "Subflows", r: int) -> float:
        """The increase of the window, in segments, for each segment acknowledged in congestion avoidance."""

    def decrease(self, subflows: "Subflows", r: int) -> float:
        """The window, in segments, after a loss, a timeout or a congestion mark; half of it unless it is overridden."""
        return subflows[r].cwnd / 2

    def regroup(self, subflows: "Subflows", r: int, now_ns: int) -> "Sequence[int] | None":  # noqa: ARG002
        """Which subflows are coupled: a group number from 0 to 255 for each subflow, or None for no change. Initially
        all are in group 0. Called, if a class defines it, before the other methods, which then see the subflows of
        other groups as not `active`.
        """
        return None

    def min_ssthresh(self, subflows: "Subflows") -> float:  # noqa: ARG002 - for those that override it
        """The minimum slow start threshold in segments; RFC 5681 §3.1 requires 2."""
        return 2.0


class CongestionControl(Measuring):
    """A complete congestion control for all subflows of a connection.

    `subflows` are the subflows of the connection, `r` is the one concerned, `now_ns` is the time.
    """

    @abstractmethod
    def on_ack(self, subflows: "Subflows", r: int, ack: "Ack") -> Window:
        """New data was acknowledged, outside of fast recovery: return the new window. A window that was not used
        (`ack.cwnd_limited` is false) must not grow.
        """

    @abstractmethod
    def on_loss(self, subflows: "Subflows", r: int, now_ns: int) -> float:
        """A loss was detected, without a timeout: return the new threshold in segments, which the window reaches during
        recovery. Called once per recovery.
        """

    def on_timeout(self, subflows: "Subflows", r: int, now_ns: int) -> float:
        """The retransmission timer expired: return the new threshold in segments; the window becomes one segment. By
        default the same as `on_loss`.
        """
        return self.on_loss(subflows, r, now_ns)

    def on_ecn(self, subflows: "Subflows", r: int, now_ns: int, abe: bool) -> float:  # noqa: ARG002
        """The peer echoed a congestion mark: return the new threshold in segments, to which the window is reduced at
        once. Called at most once per window of data. `abe` asks for the smaller reduction of RFC 8511. By default the
        same as `on_loss`.
        """
        return self.on_loss(subflows, r, now_ns)

    def on_undo(self, subflows: "Subflows", r: int, now_ns: int) -> None:
        """The last loss was spurious, and the window has been restored. Restore any other state here."""

    def on_join(self, subflows: "Subflows", r: int, now_ns: int) -> None:
        """The subflow became active."""

    def on_leave(self, subflows: "Subflows", r: int, now_ns: int) -> None:
        """The subflow is no longer active."""


@dataclass(frozen=True, slots=True)
class Send:
    """Returned by a scheduler: send on these subflows."""

    on: int | Collection[int]
    """The id of a subflow, or of several, each of which then carries the same data; all must be `usable`."""
    burst: int = 1
    """How many segments to send before the scheduler is asked again."""


@dataclass(frozen=True, slots=True)
class Bind:
    """Returned by a scheduler: bind the next bytes to these subflows, regardless of their windows.

    Each subflow sends the data bound to it in order, as its window allows. The scheduler is then asked again.
    """

    on: int | Collection[int]
    """The id of a subflow, or of several, each of which then carries the same data; all must be `active`."""
    bytes: int
    """How many bytes, at least 1; at most `context.available_bytes` are bound."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Returned by a scheduler: bind bytes again that are already sent or bound. The scheduler is then asked again."""

    on: int | Collection[int]
    """The id of a subflow, or of several; all must be `active`."""
    start: int
    """The first byte, at least `context.acknowledged_bytes`."""
    end: int
    """One past the last byte, at most `context.sent_bytes`."""


@dataclass(frozen=True, slots=True)
class Penalise:
    """Returned by `when_idle`: halve the windows of these subflows, without a loss. It is then called again."""

    on: int | Collection[int]


@dataclass(frozen=True, slots=True)
class Pass:
    """Returned by a scheduler: postpone this reinjection and ask about new data."""


class Carried(NamedTuple):
    """A range of the stream that is in flight."""

    start: int
    """Its first byte."""
    end: int
    """One past its last byte."""
    on: frozenset[int]
    """The subflows that carry it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Returned by a scheduler: wait for a subflow whose window is full now."""

    until_ns: int | None = None
    """Ask again at this time at the latest; None: at the next event."""


class Scheduler(Plugin):
    """Decides which subflow carries the next segment."""

    repair: ClassVar[Literal["prompt", "kernel"]] = "prompt"
    """What happens to the data of a subflow that does not respond: it is sent on the others at the first timeout
    ("prompt"), or retransmitted at the data level as in Linux 6 ("kernel", docs/decisions/0006).
    """

    @abstractmethod
    def choose(
        self, demand: "Demand", subflows: "Subflows", context: "Context"
    ) -> "int | Send | Bind | Repeat | Wait | Pass | None":
        """Where the next segment goes: the id of a subflow that is `usable`, `Send`, `Bind`, `Repeat`, `Wait`, `Pass`,
        or None if no subflow can send. Called for each segment or burst; not called under TCP.
        """

    def when_idle(self, subflows: "Subflows", context: "Context") -> "Repeat | Penalise | Pass | None":  # noqa: ARG002
        """Nothing more can be sent now: there is no data, the connection-level window is closed or no subflow has room.
        Return what to do instead; `Pass` calls `choose` for new data again.
        """
        return None

    def when_dry(self, subflows: "Subflows", context: "Context") -> None:
        """There is no unbound data, or the connection-level window is closed. For schedulers that keep
        statistics.
        """


class LocalAddress(NamedTuple):
    """An address of this host."""

    id: int
    """Its address id; the one that opens the connection has 0."""
    address: IPv4Address | IPv6Address
    backup: bool
    """Whether subflows from it are backups."""


class RemoteAddress(NamedTuple):
    """A known address of the peer, to which subflows can be opened."""

    id: int
    """Its address id; that of the first subflow has 0."""
    address: IPv4Address | IPv6Address
    port: int


class PathContext(NamedTuple):
    """What a path manager knows. It may be stored."""

    now_ns: int
    initiator: bool
    """Whether this host opened the connection; only that side joins."""
    local: tuple[LocalAddress, ...]
    """The addresses of this host that may be used, the connection's own first."""
    remote: tuple[RemoteAddress, ...]
    open: tuple[tuple[int, int], ...]
    """The subflows that are open or being opened: local and remote address id."""


class FullyEstablished(NamedTuple):
    """The peer has confirmed that it supports MPTCP: subflows can be added."""


class SubflowEstablished(NamedTuple):
    """A subflow was established."""

    local_id: int
    remote_id: int


class SubflowClosed(NamedTuple):
    """A subflow is gone, or could not be opened."""

    local_id: int
    remote_id: int
    transient: bool
    """Whether trying again makes sense. False if it was closed normally, or refused permanently."""


class AddressAdded(NamedTuple):
    """The peer announced an address, or did so again."""

    remote_id: int


class AddressEchoed(NamedTuple):
    """The peer has received an announcement of this host's."""

    local_id: int


class AddressRemoved(NamedTuple):
    """The peer withdrew an address."""

    remote_id: int


class LocalAddressRemoved(NamedTuple):
    """An address of this host has gone away with its interface (an event of the scenario)."""

    local_id: int


class LocalAddressAdded(NamedTuple):
    """An address of this host that had gone away is back."""

    local_id: int


class Timer(NamedTuple):
    """The time given in `WakeAt` has been reached."""


PathEvent = (
    FullyEstablished
    | SubflowEstablished
    | SubflowClosed
    | AddressAdded
    | AddressEchoed
    | AddressRemoved
    | LocalAddressRemoved
    | LocalAddressAdded
    | Timer
)


class Join(NamedTuple):
    """Open a subflow from an address of this host to one of the peer."""

    local_id: int
    remote_id: int
    backup: bool = False


class Announce(NamedTuple):
    """Announce an address to the peer."""

    local_id: int
    port: int | None = None
    """Its port, if it differs from the connection's."""


class Withdraw(NamedTuple):
    """Withdraw an address and close its subflows."""

    local_id: int


class SetBackup(NamedTuple):
    """Turn subflows into backups, or back into regular ones."""

    local_id: int
    remote_id: int
    backup: bool


class Close(NamedTuple):
    """Close subflows normally."""

    local_id: int
    remote_id: int


class WakeAt(NamedTuple):
    """Send `Timer` at this time."""

    at_ns: int


PathAction = Join | Announce | Withdraw | SetBackup | Close | WakeAt


class PathManager(Plugin):
    """Decides which subflows a connection opens and closes, and which addresses it announces."""

    @abstractmethod
    def on_event(self, event: PathEvent, context: PathContext) -> Iterable[PathAction] | None:
        """Return the actions to take in response to an event."""
