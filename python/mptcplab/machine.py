"""Looks at this machine, one question a function: privileges, devices, the kernel, tools. They change nothing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mptcplab.errors import EngineUnavailableError, PrivilegeError

# linux/capability.h
_CAP_NET_ADMIN: Final = 12
_CAP_SYS_ADMIN: Final = 21

ROOT: Final = Path("/")

USER_NAMESPACE: Final = ("unshare", "--user", "--map-root-user")
"""Begins a program in a user namespace of its own, where its user is root."""
# What a system may have in place of the kernel's own permission, and the value that permits it.
_PERMISSIONS: Final = {
    "kernel/unprivileged_userns_clone": "1",
    "kernel/apparmor_restrict_unprivileged_userns": "0",
}
_MOST: Final = "user/max_user_namespaces"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    good: bool
    found: str
    remedy: str | None = None
    """What would help; for what is not good."""
    optional: bool = False
    """Whether an engine runs without it."""
    in_user_namespace: bool = False
    """Whether it is a privilege that a program has in a user namespace of its own."""

    @property
    def lacking(self) -> bool:
        """Whether what needs it cannot run."""
        return not self.good and not self.optional


def network_administration(root: Path = ROOT) -> Finding:
    """May interfaces and addresses be made?"""
    return _capability(root, _CAP_NET_ADMIN, "network administration (CAP_NET_ADMIN)")


def namespaces(root: Path = ROOT) -> Finding:
    """May network namespaces be made?"""
    return _capability(root, _CAP_SYS_ADMIN, "network namespaces (CAP_SYS_ADMIN)")


def tun(root: Path = ROOT) -> Finding:
    """Are there TUN devices?"""
    device = root / "dev/net/tun"
    if not device.exists():
        return Finding("/dev/net/tun", False, "absent", "modprobe tun; in a container: --device /dev/net/tun")
    if not os.access(device, os.R_OK | os.W_OK):
        return Finding("/dev/net/tun", False, "may not be opened", "run as root, or give the user access to the device")
    return Finding("/dev/net/tun", True, "present")


def kernel_mptcp(root: Path = ROOT) -> Finding:
    """Does the kernel speak Multipath TCP?"""
    what = "Multipath TCP in the kernel (net.mptcp.enabled)"
    try:
        value = (root / "proc/sys/net/mptcp/enabled").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return Finding(what, False, "absent", "use a Linux kernel of version 5.16 or later built with CONFIG_MPTCP")
    if value == "1":
        return Finding(what, True, "on")
    return Finding(what, False, f"off ({value})", "sysctl -w net.mptcp.enabled=1")


def tool(name: str, package: str, *, optional: bool = False) -> Finding:
    """Is there a program of this name?"""
    place = shutil.which(name)
    if place is None:
        return Finding(name, False, "not found", f"install it, on Debian: apt-get install {package}", optional)
    return Finding(name, True, place, optional=optional)


def root_user() -> Finding:
    """May programs be loaded into the kernel?"""
    if os.geteuid() == 0:
        return Finding("programs for the kernel (root)", True, "may be loaded")
    return Finding("programs for the kernel (root)", False, "may not be loaded", "run as root, for instance with sudo")


def kernel_types(root: Path = ROOT) -> Finding:
    """Does the kernel describe its types, so that a program finds their fields?"""
    what = "the kernel's types (/sys/kernel/btf/vmlinux)"
    if (root / "sys/kernel/btf/vmlinux").exists():
        return Finding(what, True, "described")
    return Finding(
        what, False, "not described", "use a kernel built with CONFIG_DEBUG_INFO_BTF, as in most distributions"
    )


def libbpf() -> Finding:
    """Is there the library that loads programs?"""
    import ctypes.util  # slow to load

    found = ctypes.util.find_library("bpf")
    if found is None:
        return Finding("libbpf", False, "not found", "install it, on Debian: apt-get install libbpf1")
    return Finding("libbpf", True, found)


def user_namespaces(root: Path = ROOT) -> Finding:
    """May this user make user namespaces with network namespaces in them, and does Python find this package there?

    It is tried: who reads files by a capability does not have it inside.
    """
    what = "user namespaces"
    if not (root / "proc/self/ns/user").exists():
        return Finding(what, False, "absent", "use a kernel built with CONFIG_USER_NS")
    values = {f"proc/sys/{name}": value for name, value in _PERMISSIONS.items()}
    remedies = [
        f"sysctl -w {path.removeprefix('proc/sys/').replace('/', '.')}={value}"
        for path, value in values.items()
        if _text(root / path) not in (None, value)
    ]
    if _text(root / "proc/sys" / _MOST) == "0":
        remedies.append(f"sysctl -w {_MOST.replace('/', '.')}=10000")
    try:
        done = subprocess.run(
            [*USER_NAMESPACE, "--net", sys.executable, "-c", "import mptcplab"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(
            what, False, f"cannot be tried ({error})", "install unshare, on Debian: apt-get install util-linux"
        )
    if done.returncode == 0:
        return Finding(what, True, "allowed")
    said = " ".join(done.stderr.splitlines()[-1:]) or f"status {done.returncode}"
    return Finding(
        what, False, f"not allowed ({said})", " and ".join(remedies) or "run as root, for instance with sudo"
    )


def live(root: Path = ROOT) -> tuple[Finding, ...]:
    """What every engine on real packets needs of this process."""
    privileges = (network_administration(root), namespaces(root))
    return (*(replace(each, in_user_namespace=not each.good) for each in privileges), tun(root))


def reachable(findings: Iterable[Finding], root: Path = ROOT) -> tuple[Finding, ...]:
    """What commands find once they have entered a user namespace, which they do by themselves where it helps."""
    found = tuple(findings)
    if not any(finding.in_user_namespace for finding in found):
        return found
    allowed = user_namespaces(root)
    if not allowed.good:
        return (*found, replace(allowed, optional=True))
    return tuple(
        replace(finding, good=True, found="held in a user namespace", remedy=None)
        if finding.in_user_namespace
        else finding
        for finding in found
    )


def agent(root: Path = ROOT) -> tuple[Finding, ...]:
    """What a host of the engine testbed needs."""
    return (
        network_administration(root),
        kernel_mptcp(root),
        tool("ip", "iproute2"),
        tool("tc", "iproute2"),
        tool("setpriv", "util-linux"),
    )


def require(what: str, findings: Iterable[Finding]) -> None:
    """Raise EngineUnavailableError unless the machine has all that was looked for; `what` needs it."""
    missing = [finding for finding in findings if finding.lacking]
    if missing:
        lacks = "; ".join(f"{finding.what}: {finding.found} → {finding.remedy}" for finding in missing)
        kind = PrivilegeError if all(finding.in_user_namespace for finding in missing) else EngineUnavailableError
        raise kind(f"{what} cannot run here. {lacks}. See mptcplab doctor")


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def _capability(root: Path, number: int, what: str) -> Finding:
    effective = 0
    try:
        for line in (root / "proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("CapEff:"):
                effective = int(line.split()[1], 16)
    except (OSError, ValueError, IndexError):
        return Finding(what, False, f"unknown on {sys.platform}", "run on Linux")
    if effective >> number & 1:
        return Finding(what, True, "held")
    return Finding(what, False, "not held", "run as root, for instance with sudo")
