"""What is to be set, whatever sets it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from mptcplab.advice.candidates import Candidate, memory_bytes
from mptcplab.bpf.controls import NAMES

STOCK: Final = ("cubic", "reno")
MODULES: Final = ("bbr", "dctcp")
"""Controls that most distributions build as modules, tcp_NAME."""
_MOST_SUBFLOWS: Final = 8
"""The kernel's own bound (MPTCP_SUBFLOWS_MAX)."""
LASTING_BEFORE: Final = "/etc/before-mptcp"
"""Where the sysctls are kept that files replace, in files that begin so."""
_FILTERS: Final = "/etc/sysctl.d/91-mptcp-filters.conf"
FIRST_METRIC: Final = 100
"""Of the first path's default route where a program gives every route a metric; the others follow."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Of a setting on Linux: what the kernel is told, and the use of each path."""

    control: str
    members: tuple[str, ...]
    """The first opens connections."""
    backup: tuple[str, ...]
    left_out: tuple[str, ...]
    is_tcp: bool
    buffer_bytes: int
    """The largest receive and send buffers, memory; 0 leaves them alone."""
    ipv6: bool = False
    """Whether routes and addresses are of IPv6."""
    upload: str = ""
    """The control of the host with the paths, if it sends with another than the other host."""

    @classmethod
    def of(cls, candidate: Candidate, paths: Sequence[str], *, ipv6: bool = False, upload: str = "") -> Self:
        """Of a candidate among these paths."""
        largest = memory_bytes(candidate.window_bytes) if candidate.window_bytes else 0
        left_out = tuple(path for path in paths if path not in candidate.used)
        return cls(
            candidate.congestion,
            candidate.paths,
            candidate.backup,
            left_out,
            candidate.is_tcp,
            largest,
            ipv6,
            "" if upload == candidate.congestion else upload,
        )

    @property
    def used(self) -> tuple[str, ...]:
        """Members and backups, the first path first."""
        return (*self.members, *self.backup)

    @property
    def ip_route(self) -> str:
        """The program for routes."""
        return "ip -6 route" if self.ipv6 else "ip route"

    @property
    def subflows(self) -> int:
        """What the limits must allow beside the first; the kernel's default is 2."""
        return min(_MOST_SUBFLOWS, max(2, len(self.used) - 1))

    @property
    def sysctls(self) -> dict[str, str]:
        """For both hosts: who sends has the control and the send buffer, who receives the receive buffer."""
        found = {"net.mptcp.enabled": "1"} if not self.is_tcp else {}
        found["net.ipv4.tcp_congestion_control"] = self.control
        if self.control == "dctcp":
            found["net.ipv4.tcp_ecn"] = "1"
        if self.buffer_bytes:
            found["net.ipv4.tcp_rmem"] = f"4096 131072 {self.buffer_bytes}"
            found["net.ipv4.tcp_wmem"] = f"4096 16384 {self.buffer_bytes}"
        return found

    @property
    def filters(self) -> tuple[str, ...]:
        """Sysctls of the host with the paths: a strict filter drops what comes back where no route to the server is."""
        return () if self.ipv6 else tuple(f"net/ipv4/conf/{interface(path)}/rp_filter" for path in self.used[1:])

    def here(self) -> "Setup":
        """For the host with the paths, whose control may be its own."""
        return replace(self, control=self.upload, upload="") if self.upload else self

    @property
    def module(self) -> str | None:
        """What must be loaded for the control."""
        return f"tcp_{self.control}" if self.control in MODULES else None

    @property
    def program(self) -> str | None:
        """The BPF program that is the control, if it is one of ours."""
        known = self.control not in (*STOCK, *MODULES) and self.control in NAMES
        return self.control if known else None

    def flags(self, path: str) -> tuple[str, ...]:
        """Of the path's endpoint; none for a path that is left out."""
        if path in self.left_out or self.is_tcp:
            return ()
        return ("subflow", "backup") if path in self.backup else ("subflow",)

    def metric(self, path: str) -> int:
        """Of the path's default route: the first path's is the smallest, those left out come last."""
        return FIRST_METRIC + (*self.used, *self.left_out).index(path)


def word(path: str) -> str:
    """A path's name in a placeholder: `LTE_2` for `lte-2`."""
    return "".join(letter.upper() if letter.isalnum() and letter.isascii() else "_" for letter in path)


def interface(path: str) -> str:
    """The placeholder for that of a path."""
    return f"INTERFACE_OF_{word(path)}"


def known_lines(setup: Setup) -> list[str]:
    """That make the kernel know the control."""
    lines = [f"modprobe {setup.module}"] if setup.module else []
    return [*lines, *([f"mptcplab bpf load {setup.program}"] if setup.program else [])]


def upload_lines(setup: Setup) -> list[str]:
    """That give the host with the paths a control of its own, after the lines for both hosts."""
    own = setup.here()
    if own == setup:
        return []
    return [*known_lines(own), f"sysctl -w net.ipv4.tcp_congestion_control={own.control}"]


def sysctl_lines(setup: Setup) -> list[str]:
    """That set them now, with what makes the kernel know the control before."""
    lines = known_lines(setup)
    quoted = {key: f'"{value}"' if " " in value else value for key, value in setup.sysctls.items()}
    return [*lines, *(f"sysctl -w {key}={value}" for key, value in quoted.items())]


def lasting_lines(setup: Setup, start: Sequence[str]) -> list[str]:
    """Files that set the sysctls at every start, and a unit that runs `start` after them."""
    keys = r"\n".join(f"{key} = {value}" for key, value in setup.sysctls.items())
    lines = [
        f"sysctl {' '.join(setup.sysctls)} > {LASTING_BEFORE}.sysctls",
        f"printf '{keys}\\n' > /etc/sysctl.d/90-mptcp.conf",
    ]
    if setup.module:
        lines += [f"echo {setup.module} > /etc/modules-load.d/mptcp.conf", f"modprobe {setup.module}"]
    commands = [f"mptcplab bpf load {setup.program}"] if setup.program else []
    if setup.program:  # sysctl.d comes too early for a control that is loaded later
        commands.append(f"sysctl -w net.ipv4.tcp_congestion_control={setup.control}")
    commands += start
    if commands:
        text = [
            "[Unit]", "After=network-online.target", "Wants=network-online.target", "[Service]", "Type=oneshot",
            "RemainAfterExit=yes", *(f"ExecStart=/bin/sh -c \"{command}\"" for command in commands), "[Install]",
            "WantedBy=multi-user.target",
        ]  # fmt: skip
        body = r"\n".join(text)
        lines.append(f"printf '{body}\\n' > /etc/systemd/system/mptcp-setup.service")
    lines.append("sysctl -p /etc/sysctl.d/90-mptcp.conf")
    if commands:
        lines.append("systemctl daemon-reload && systemctl enable --now mptcp-setup.service")
    return lines


def lasting_filters(setup: Setup) -> list[str]:
    """A file that loosens the filters of the host with the paths at every start."""
    if not setup.filters:
        return []
    keys = r"\n".join(f"{key} = 2" for key in setup.filters)
    return [
        f"sysctl {' '.join(setup.filters)} > {LASTING_BEFORE}.filters",
        f"printf '{keys}\\n' > {_FILTERS}",
        f"sysctl -p {_FILTERS}",
    ]


def lasting_undo(setup: Setup) -> list[str]:
    """The way back from `lasting_lines` and `lasting_filters`."""
    return [
        *([f"rm -f {_FILTERS}", f"sysctl -p {LASTING_BEFORE}.filters"] if setup.filters else []),
        "systemctl disable --now mptcp-setup.service 2>/dev/null",
        "rm -f /etc/systemd/system/mptcp-setup.service /etc/sysctl.d/90-mptcp.conf /etc/modules-load.d/mptcp.conf",
        f"sysctl -p {LASTING_BEFORE}.sysctls",
        "ip mptcp endpoint flush",
    ]


CHECK: Final = (
    "# check, while a connection is open",
    "ip mptcp endpoint show",
    "ss -Mni   # connections of Multipath TCP; subflows: says how many there are beside the first",
    "ss -tni   # one line for each subflow, with its control",
)
