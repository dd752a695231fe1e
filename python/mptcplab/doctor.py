"""What this machine can run, engine by engine, and what to do about the rest. It looks and changes nothing."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from mptcplab.engines import ENGINES

_CAP_NET_ADMIN: Final = 12  # linux/capability.h


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    good: bool
    found: str
    remedy: str | None = None
    """What would help; for what is not good."""


@dataclass(frozen=True)
class Section:
    """What one engine needs, or what goes beyond engines."""

    title: str
    ready: bool
    summary: str
    findings: tuple[Finding, ...]


def examine(root: Path = Path("/")) -> tuple[Section, ...]:
    """Look at the machine whose file system is at `root`."""
    live = (_privilege(root), _tun(root), _tool("ip", "iproute2"))
    needs: dict[str, tuple[Finding, ...]] = {
        "sim": (),
        "model": (),
        "stack": live,
        "linux": (*live, _kernel_mptcp(root), _tool("iperf3", "iperf3"), _tool("mptcpize", "mptcpize")),
    }
    sections = [_engine(name, needs[name]) for name in ENGINES]
    tools = (_tool("tshark", "tshark"),)
    return (*sections, Section("tools", all(tool.good for tool in tools), "for the tests of the wire format", tools))


def show(sections: Sequence[Section]) -> RenderableType:
    """The sections as lines, with what to do under what is missing."""
    lines: list[Text] = []
    for section in sections:
        mark = ("ready   ", "green") if section.ready else ("not here", "yellow")
        lines.append(Text.assemble((f"{section.title:<6}", "bold"), " ", mark, f"  {section.summary}"))
        for finding in section.findings:
            mark = ("  ok     ", "green") if finding.good else ("  missing", "yellow")
            lines.append(Text.assemble(mark, f" {finding.what}: {finding.found}"))
            if finding.remedy is not None:
                lines.append(Text(f"           → {finding.remedy}", style="dim"))
    return Group(*lines)


def _engine(name: str, findings: tuple[Finding, ...]) -> Section:
    engine = ENGINES[name]
    if engine.runner is None:
        return Section(name, False, f"{engine.summary}: not part of this version", findings)
    return Section(name, all(finding.good for finding in findings), engine.summary, findings)


def _privilege(root: Path) -> Finding:
    what = "network administration (CAP_NET_ADMIN)"
    effective = 0
    try:
        for line in (root / "proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("CapEff:"):
                effective = int(line.split()[1], 16)
    except (OSError, ValueError, IndexError):
        return Finding(what, False, f"cannot be told on {sys.platform}", "run on Linux")
    if effective >> _CAP_NET_ADMIN & 1:
        return Finding(what, True, "held")
    return Finding(what, False, "not held", "run as root, for instance with sudo")


def _tun(root: Path) -> Finding:
    device = root / "dev/net/tun"
    if not device.exists():
        return Finding("/dev/net/tun", False, "absent", "modprobe tun; in a container: --device /dev/net/tun")
    if not os.access(device, os.R_OK | os.W_OK):
        return Finding("/dev/net/tun", False, "may not be opened", "run as root, or give the user access to the device")
    return Finding("/dev/net/tun", True, "present")


def _kernel_mptcp(root: Path) -> Finding:
    what = "Multipath TCP in the kernel (net.mptcp.enabled)"
    try:
        value = (root / "proc/sys/net/mptcp/enabled").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return Finding(what, False, "absent", "use a Linux kernel of version 5.6 or later built with CONFIG_MPTCP")
    if value == "1":
        return Finding(what, True, "on")
    return Finding(what, False, f"off ({value})", "sysctl -w net.mptcp.enabled=1")


def _tool(name: str, package: str) -> Finding:
    place = shutil.which(name)
    if place is None:
        return Finding(name, False, "not found", f"install it, on Debian: apt-get install {package}")
    return Finding(name, True, place)
