"""The settings that compete: controls × schedulers × uses of the paths (member, backup or left out), and plain TCP."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mptcplab.advice import formats

CONTROLS: Final = ("cubic", "reno", "bbr", "ewtcp", "lia", "olia", "balia", "wvegas", "mppert", "dctcp")
"""Those tried on subflows; `dctcp` only where queues mark packets, which `prune` decides.

Left out: `coupled` and `pert` are parts of others, `epsilon` is a family between them."""
SCHEDULERS: Final = (
    "min-rtt", "min-rtt+orp", "round-robin", "redundant", "blest", "ecf", "dmptcp", "otias", "daps", "sttf", "linux",
)  # fmt: skip
SINGLE: Final = ("cubic", "reno", "bbr")
"""Controls of plain TCP."""
UNCOUPLED: Final = ("cubic", "reno", "bbr", "dctcp")
"""Controls with which each subflow behaves like a TCP connection of its own."""
LINUX_CONTROLS: Final = ("cubic", "reno", "bbr", "ewtcp", "lia", "olia", "balia", "wvegas", "mppert")
"""What a stock kernel has, and what `mptcplab bpf load` adds."""
KERNEL_DEFAULT: Final = ("cubic", "linux")
_MEMORY_FACTOR: Final = 2304 / 1460
"""Memory that a segment takes, by its data."""

_SHOWN: Final = {
    "cubic": "CUBIC", "reno": "Reno", "bbr": "BBR", "dctcp": "DCTCP", "ewtcp": "EWTCP", "lia": "LIA", "olia": "OLIA",
    "balia": "BALIA", "wvegas": "wVegas", "mppert": "MPPERT", "blest": "BLEST", "ecf": "ECF", "dmptcp": "DMPTCP",
    "otias": "OTIAS", "daps": "DAPS", "sttf": "STTF", "linux": "the kernel's scheduler",
    "min-rtt+orp": "min-rtt with opportunistic retransmission",
}  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """One way to use the paths."""

    congestion: str
    scheduler: str
    """Empty for TCP. `min-rtt+orp` is min-rtt with opportunistic retransmission and penalisation."""
    paths: tuple[str, ...]
    """Those that carry data, the one that opens the connection first; TCP has one."""
    backup: tuple[str, ...] = ()
    """Those that only stand by."""
    stock: bool = False
    """Whether controls are in the form that Linux has."""
    window_bytes: int = 0
    """Largest receive window, for which send buffers are as large; 0 is what the question has, and Linux's default."""

    @property
    def plainness(self) -> tuple[int, int, int, int]:
        """Among settings that do the same, the one with the least is preferred: the better known one."""
        scheduler = ("", "linux", *SCHEDULERS).index(self.scheduler)
        members = len(self.paths) - 1
        return (int(self.window_bytes > 0), members, scheduler, CONTROLS.index(self.congestion))

    @property
    def is_tcp(self) -> bool:
        """Plain TCP on one path."""
        return not self.scheduler

    @property
    def used(self) -> tuple[str, ...]:
        """Members and backups."""
        return (*self.paths, *self.backup)

    @property
    def survives(self) -> bool:
        """Whether a connection goes on when a path, whichever, fails."""
        return not self.is_tcp and len(self.used) > 1

    @property
    def scheme(self) -> tuple[str, str, bool]:
        """Control and scheduler in their form, without the paths."""
        return (self.congestion, self.scheduler, self.stock)

    @property
    def label(self) -> str:
        """In words, short: the first of several paths opens the connection."""
        control = shown(self.congestion)
        buffer = f", receive window {formats.size(self.window_bytes)}" if self.window_bytes else ""
        if self.is_tcp:
            return f"TCP on {self.paths[0]} with {control}{buffer}"
        if len(self.paths) > 1 and not (self.stock and self.scheduler == "linux"):
            control += f" and {shown(self.scheduler)}"
        standing = f" ({formats.listed(list(self.backup))} as backup)" if self.backup else ""
        return f"{formats.listed(list(self.paths))}{standing} with {control}{buffer}"

    def keys(self) -> dict[str, Any]:
        """The keys of a connection's table in a scenario file."""
        if self.is_tcp:
            keys: dict[str, Any] = {"protocol": "tcp", "paths": list(self.paths), "congestion": self._control()}
            # The kernel's scheduler implies it for Multipath TCP.
            keys |= {"tcp": {"window_validation": "linux"}} if self.stock else {}
        else:
            scheduler: Any = self.scheduler
            if scheduler == "min-rtt+orp":
                scheduler = {"name": "min-rtt", "reinjection": "orp"}
            elif scheduler == "linux" and self.window_bytes:
                scheduler = {"name": "linux", "send_buffer": memory_bytes(self.window_bytes) / 2**20}
            keys = {
                "protocol": "mptcp",
                "paths": list(self.used),
                "congestion": self._control(),
                "scheduler": scheduler,
                "path_manager": "backup" if self.backup and len(self.paths) == 1 else "fullmesh",
            }
        return keys | ({"receive_buffer": f"{self.window_bytes} B"} if self.window_bytes else {})

    @property
    def marked_backups(self) -> tuple[str, ...]:
        """Backups beside several members: said of the link, as the path manager `backup` has one member."""
        return self.backup if len(self.paths) > 1 else ()

    def _control(self) -> Any:  # noqa: ANN401 - a name, or a table
        # Reno in whole segments is less than one segment from Reno in real numbers.
        if self.stock and self.congestion in ("cubic", "bbr"):
            return {"name": self.congestion, "variant": "linux"}
        return self.congestion

    def differs_by_one(self, other: "Candidate") -> bool:
        """Whether one choice only is another: control, scheduler, the use of the paths, or the window."""
        if self.is_tcp != other.is_tcp:
            return False
        choices = (
            self.congestion != other.congestion,
            self.scheduler != other.scheduler,
            (self.paths, self.backup) != (other.paths, other.backup),
            self.window_bytes != other.window_bytes,
        )
        return sum(choices) == 1


def memory_bytes(window_bytes: int) -> int:
    """The third number of `tcp_rmem` that lets so much data into the window, and of `tcp_wmem`, in whole MiB."""
    return math.ceil(window_bytes * _MEMORY_FACTOR / 2**20) * 2**20


def shown(name: str) -> str:
    """An algorithm's name as one writes it in a sentence."""
    return _SHOWN.get(name, name)


def singles(paths: Sequence[str], *, stock: bool) -> list[Candidate]:
    """Plain TCP on each path."""
    return [Candidate(control, "", (path,), stock=stock) for path in paths for control in SINGLE]


def schemes(*, stock: bool) -> list[tuple[str, str]]:
    """Controls and schedulers: of a stock kernel with our BPF programs, or all."""
    if stock:
        return [(control, "linux") for control in LINUX_CONTROLS]
    return [(control, scheduler) for control in CONTROLS for scheduler in SCHEDULERS]


def orders(members: Sequence[str]) -> list[tuple[str, ...]]:
    """The members with each of them first."""
    return [(first, *(path for path in members if path != first)) for first in members]


def multipath(members: Sequence[str], *, stock: bool) -> Iterator[Candidate]:
    """Multipath TCP over these paths, each of them first."""
    for order in orders(members):
        for congestion, scheduler in schemes(stock=stock):
            yield Candidate(congestion, scheduler, order, stock=stock)


def backups(paths: Sequence[str], *, stock: bool) -> Iterator[Candidate]:
    """One path, with all the others as backup: the scheduler has nothing to choose, and a control nothing to couple."""
    for order in orders(paths):
        for control in SINGLE:
            yield Candidate(control, "linux" if stock else "min-rtt", order[:1], order[1:], stock)


def with_window(candidates: Sequence[Candidate], window_bytes: int) -> list[Candidate]:
    """The same with another receive window."""
    return [replace(each, window_bytes=window_bytes) for each in candidates]
