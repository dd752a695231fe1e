"""The classes that plug-ins derive from.

Windows and thresholds are in segments and may be fractions; times are nanoseconds of the run's clock. `subflows[r]` is
the subflow with id r; one that is not `active` takes no part in sums. Views are for the call that they are given to:
keep the numbers that are needed later.
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
    """What every plug-in has. Each end of each connection has an object of its own.

    The keyword arguments of `__init__` are the parameters that a scenario may give.
    """

    random: Random
    """Random numbers of this object's own, there before `__init__`: the same in every run with the same seed."""

    call_limit_s: ClassVar[float] = 10.0
    """How long one call may take, by the wall clock, before the run ends with an error: for loops without an end."""


class Column(NamedTuple):
    """A number of its own that a congestion control shows in `samples`."""

    name: str
    """Of the column, with its unit as that of any other column: `queueing_delay_s`."""
    unit: str
    """Its unit; empty without one."""
    summary: str
    """What it is, in one line."""


class Measuring(Plugin):
    """What every congestion control may ask for, and what it shows of itself in `samples`."""

    columns: ClassVar[tuple[Column, ...]] = ()
    """Its columns; rows of subflows with other controls are null there."""

    def show(self, subflows: "Subflows", r: int, now_ns: int) -> "Sequence[float | None]":  # noqa: ARG002
        """The values of `columns` for the subflow `r` at a sample of the run; None where there is none yet."""
        return [None] * len(self.columns)

    def on_sample(self, subflows: "Subflows", r: int, sample: "RttSample") -> None:
        """A sample of the round-trip time of the subflow `r`, also during fast recovery, before `on_ack` of the same
        acknowledgment. Called only where a class has it.
        """


class Window(NamedTuple):
    """A window as a congestion control sets it."""

    cwnd: float
    """The congestion window, in segments: 1 or more."""
    ssthresh: float
    """The slow start threshold, in segments: 1 or more, or infinite."""


class Rule(Measuring):
    """How a loss-based congestion control grows and shrinks its window; slow start and all else is TCP's.

    `subflows` are the subflows of the connection, `r` is the one that it is about.
    """

    @abstractmethod
    def increase(self, subflows: "Subflows", r: int) -> float:
        """The increase of the window, in segments, for each segment acknowledged in congestion avoidance."""

    def decrease(self, subflows: "Subflows", r: int) -> float:
        """The window, in segments, after a loss, a timeout or a congestion mark; half of it unless it is overridden."""
        return subflows[r].cwnd / 2

    def regroup(self, subflows: "Subflows", r: int, now_ns: int) -> "Sequence[int] | None":  # noqa: ARG002
        """Which subflows are coupled with which: the number of a group, 0 to 255, for each, or None for no change. At
        first all are in group 0. Called before the methods below, which then see the subflows of other groups as not
        `active`; only where a class has it.
        """
        return None

    def min_ssthresh(self, subflows: "Subflows") -> float:  # noqa: ARG002 - for those that override it
        """The least slow start threshold in segments; RFC 5681 §3.1 has 2."""
        return 2.0


class CongestionControl(Measuring):
    """A whole congestion control for all subflows of a connection.

    `subflows` are the subflows of the connection, `r` is the one that it is about, `now_ns` is the time.
    """

    @abstractmethod
    def on_ack(self, subflows: "Subflows", r: int, ack: "Ack") -> Window:
        """New data was acknowledged, outside of fast recovery: the new window. One that was not used
        (`ack.cwnd_limited` is false) must not grow.
        """

    @abstractmethod
    def on_loss(self, subflows: "Subflows", r: int, now_ns: int) -> float:
        """Loss was found by duplicate acknowledgments: the new threshold in segments, to which the window comes during
        recovery. Called once for each recovery.
        """

    def on_timeout(self, subflows: "Subflows", r: int, now_ns: int) -> float:
        """The retransmission timer expired: the new threshold in segments; the window becomes one segment. As `on_loss`
        unless it is overridden.
        """
        return self.on_loss(subflows, r, now_ns)

    def on_ecn(self, subflows: "Subflows", r: int, now_ns: int, abe: bool) -> float:  # noqa: ARG002
        """The peer echoed a congestion mark: the new threshold in segments, to which the window comes at once. Called
        at most once for each window of data. `abe` asks for the smaller reduction of RFC 8511. As `on_loss` unless it
        is overridden.
        """
        return self.on_loss(subflows, r, now_ns)

    def on_undo(self, subflows: "Subflows", r: int, now_ns: int) -> None:
        """The last loss was none; the window is that of before again. State beside the window is restored here."""

    def on_join(self, subflows: "Subflows", r: int, now_ns: int) -> None:
        """The subflow became active."""

    def on_leave(self, subflows: "Subflows", r: int, now_ns: int) -> None:
        """The subflow is no longer active."""


@dataclass(frozen=True, slots=True)
class Send:
    """A scheduler's answer: send on these subflows."""

    on: int | Collection[int]
    """The id of a subflow, or several, each of which carries the same; all must be `usable`."""
    burst: int = 1
    """How many segments to send before the scheduler is asked again."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A scheduler's answer: bind the next bytes to these subflows, whatever their windows.

    Each sends what is bound to it in order, as its window allows. The scheduler is asked about what follows at once.
    """

    on: int | Collection[int]
    """The id of a subflow, or several, each of which carries the same; all must be `active`."""
    bytes: int
    """How many, at least 1; no more are bound than `context.available_bytes`."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A scheduler's answer: bind bytes once more that are sent or bound already. Then it is asked again."""

    on: int | Collection[int]
    """The id of a subflow, or several; all must be `active`."""
    start: int
    """The first byte, at least `context.acknowledged_bytes`."""
    end: int
    """Behind the last, at most `context.sent_bytes`."""


@dataclass(frozen=True, slots=True)
class Penalise:
    """The answer of `when_idle`: halve the windows of these subflows, without a loss. Then it is asked again."""

    on: int | Collection[int]


@dataclass(frozen=True, slots=True)
class Pass:
    """A scheduler's answer: leave this reinjection for later and ask about new data."""


class Carried(NamedTuple):
    """A piece of the stream that is under way."""

    start: int
    """Its first byte."""
    end: int
    """Behind its last."""
    on: frozenset[int]
    """The subflows that carry it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A scheduler's answer: it is better to wait for a subflow that is full now."""

    until_ns: int | None = None
    """Ask again at this time at the latest; None: at the next event."""


class Scheduler(Plugin):
    """Which subflow carries the next segment."""

    repair: ClassVar[Literal["prompt", "kernel"]] = "prompt"
    """What becomes of the data of a subflow that does not answer: with its first timeout it goes to the others, or it
    is repaired as in Linux 6 (docs/decisions/0006).
    """

    @abstractmethod
    def choose(
        self, demand: "Demand", subflows: "Subflows", context: "Context"
    ) -> "int | Send | Bind | Repeat | Wait | Pass | None":
        """Where the next segment goes: the id of a subflow that is `usable`, `Send`, `Bind`, `Repeat`, `Wait`, `Pass`,
        or None where no subflow can take anything. Called for each segment, or burst; under TCP nobody is asked.
        """

    def when_idle(self, subflows: "Subflows", context: "Context") -> "Repeat | Penalise | Pass | None":  # noqa: ARG002
        """Nothing more can be sent now: there is no data, the connection-level window is closed or no subflow has room.
        What may be done all the same; `Pass` asks `choose` about new data once more.
        """
        return None

    def when_dry(self, subflows: "Subflows", context: "Context") -> None:
        """There is nothing to choose for: no data that is not bound, or a closed connection-level window. For a
        scheduler that keeps account.
        """


class LocalAddress(NamedTuple):
    """An address of this host."""

    id: int
    """Its address id; the one that opens the connection has 0."""
    address: IPv4Address | IPv6Address
    backup: bool
    """Whether subflows from it are backups."""


class RemoteAddress(NamedTuple):
    """An address of the peer that is known and may be joined."""

    id: int
    """Its address id; that of the first subflow has 0."""
    address: IPv4Address | IPv6Address
    port: int


class PathContext(NamedTuple):
    """What a path manager knows. It may be kept."""

    now_ns: int
    initiator: bool
    """Whether this host opened the connection; only that side joins."""
    local: tuple[LocalAddress, ...]
    """The addresses of this host that may be used, the connection's own first."""
    remote: tuple[RemoteAddress, ...]
    open: tuple[tuple[int, int], ...]
    """The subflows that are open or being opened: local and remote address id."""


class FullyEstablished(NamedTuple):
    """The peer has proved that it speaks MPTCP: subflows may be added."""


class SubflowEstablished(NamedTuple):
    """A subflow was established."""

    local_id: int
    remote_id: int


class SubflowClosed(NamedTuple):
    """A subflow is gone, or could not be opened."""

    local_id: int
    remote_id: int
    transient: bool
    """Whether trying again makes sense. False when it was closed in order, or for good."""


class AddressAdded(NamedTuple):
    """The peer announced an address, or did so again."""

    remote_id: int


class AddressRemoved(NamedTuple):
    """The peer withdrew an address."""

    remote_id: int


class Timer(NamedTuple):
    """The time of `WakeAt` has come."""


PathEvent = FullyEstablished | SubflowEstablished | SubflowClosed | AddressAdded | AddressRemoved | Timer


class Join(NamedTuple):
    """Open a subflow from an address of this host to one of the peer."""

    local_id: int
    remote_id: int
    backup: bool = False


class Announce(NamedTuple):
    """Tell the peer of an address."""

    local_id: int
    port: int | None = None
    """Its port, when it is not the connection's."""


class Withdraw(NamedTuple):
    """Tell the peer that an address cannot be used any more, and close its subflows."""

    local_id: int


class SetBackup(NamedTuple):
    """Make subflows backups, or active ones again."""

    local_id: int
    remote_id: int
    backup: bool


class Close(NamedTuple):
    """Close subflows in order."""

    local_id: int
    remote_id: int


class WakeAt(NamedTuple):
    """Send `Timer` at this time."""

    at_ns: int


PathAction = Join | Announce | Withdraw | SetBackup | Close | WakeAt


class PathManager(Plugin):
    """Which subflows a connection opens, announces and closes."""

    @abstractmethod
    def on_event(self, event: PathEvent, context: PathContext) -> Iterable[PathAction] | None:
        """Something happened: what is to be done."""
