"""The settings that compete: controls × schedulers × first path, one path with the others as backup, and plain TCP."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mptcplab import registry

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

_SHOWN: Final = {
    "cubic": "CUBIC", "reno": "Reno", "bbr": "BBR", "dctcp": "DCTCP", "ewtcp": "EWTCP", "lia": "LIA", "olia": "OLIA",
    "balia": "BALIA", "wvegas": "wVegas", "mppert": "MPPERT",
    "min-rtt+orp": "min-rtt with opportunistic retransmission",
}  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """One way to use the paths."""

    congestion: str
    scheduler: str | None
    """None for TCP. `min-rtt+orp` is min-rtt with opportunistic retransmission and penalisation."""
    paths: tuple[str, ...]
    """The first opens the connection; TCP has one."""
    backup: bool = False
    """Whether the paths after the first only stand by."""
    stock: bool = False
    """Whether controls are in the form that Linux has."""

    @property
    def plainness(self) -> tuple[int, int, int]:
        """Among settings that do the same, the one with the least is preferred: the better known one."""
        scheduler = (None, "linux", *SCHEDULERS).index(self.scheduler)
        return (0 if self.backup or self.is_tcp else 1, scheduler, CONTROLS.index(self.congestion))

    @property
    def is_tcp(self) -> bool:
        """Plain TCP on one path."""
        return self.scheduler is None

    @property
    def label(self) -> str:
        """In words, short."""
        control = shown(self.congestion)
        if self.is_tcp:
            return f"TCP on {self.paths[0]}, {control}"
        if self.backup:
            return f"{control}, {self.paths[0]}, {' and '.join(self.paths[1:])} as backup"
        return f"{control}, {shown(self.scheduler or '')}, {self.paths[0]} first"

    def keys(self) -> dict[str, Any]:
        """The keys of a connection's table in a scenario file."""
        if self.is_tcp:
            keys: dict[str, Any] = {"protocol": "tcp", "paths": list(self.paths), "congestion": self._control()}
            # The kernel's scheduler implies it for Multipath TCP.
            return keys | ({"tcp": {"window_validation": "linux"}} if self.stock else {})
        scheduler: Any = self.scheduler
        if scheduler == "min-rtt+orp":
            scheduler = {"name": "min-rtt", "reinjection": "orp"}
        return {
            "protocol": "mptcp",
            "paths": list(self.paths),
            "congestion": self._control(),
            "scheduler": scheduler,
            "path_manager": "backup" if self.backup else "fullmesh",
        }

    def _control(self) -> Any:  # noqa: ANN401 - a name, or a table
        entry = registry.find("congestion", self.congestion)
        variant = None if entry is None else entry.parameter("variant")
        if self.congestion in SINGLE and self.stock and variant is not None:
            return {"name": self.congestion, "variant": "linux"}
        return self.congestion

    def variants(self, others: Sequence["Candidate"]) -> list["Candidate"]:
        """Those of the others that differ from it in one choice."""
        return [other for other in others if other != self and _choices(self, other) == 1]


def shown(name: str) -> str:
    """An algorithm's name as one writes it in a sentence."""
    return _SHOWN.get(name, name)


def _choices(a: Candidate, b: Candidate) -> int:
    if a.is_tcp != b.is_tcp:
        return 2
    return sum((a.congestion != b.congestion, a.scheduler != b.scheduler, a.paths != b.paths, a.backup != b.backup))


def candidates(paths: Sequence[str], purpose: str) -> list[Candidate]:
    """All of them, for `any` stack or for `linux`: a stock kernel and our BPF programs."""
    return [*singles(paths, purpose), *multipath(paths, purpose)]


def singles(paths: Sequence[str], purpose: str) -> list[Candidate]:
    """Plain TCP on each path."""
    plain = [Candidate(control, None, (path,)) for path in paths for control in SINGLE]
    return [replace(each, stock=purpose == "linux") for each in plain]


def multipath(paths: Sequence[str], purpose: str) -> Iterator[Candidate]:
    """Multipath TCP over all paths, each of them first."""
    stock = purpose == "linux"
    controls = LINUX_CONTROLS if stock else CONTROLS
    schedulers = ("linux",) if stock else SCHEDULERS
    for first in paths:
        order = (first, *(path for path in paths if path != first))
        for control in controls:
            for scheduler in schedulers:
                yield Candidate(control, scheduler, order, stock=stock)
        # With one path in use the scheduler has nothing to choose, and a control nothing to couple.
        for control in SINGLE:
            yield Candidate(control, "linux" if stock else "min-rtt", order, backup=True, stock=stock)
