"""The controls by name: which are in the kernel, to put one there, to take it away."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mptcplab.bpf import libbpf
from mptcplab.bpf.compile import PROGRAMS, built
from mptcplab.errors import Error

NAMES: Final = tuple(sorted(path.name.removesuffix(".bpf.c") for path in PROGRAMS.glob("*.bpf.c")))
"""Of the controls that there are programs for."""

_FILE_SYSTEM = Path("/sys/fs/bpf")
_PINNED = _FILE_SYSTEM / "mptcplab"
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_BTF = Path("/sys/kernel/btf/vmlinux")


class NotLoadedError(Error, LookupError):
    """There is nothing of this name to unload."""


@dataclass(frozen=True)
class Control:
    """One control and where it stands."""

    name: str
    available: bool
    """Whether programs can choose it now."""
    kept: bool
    """Whether `load` put it there: it stays until `unload` or the next boot."""


def controls() -> tuple[Control, ...]:
    """Every control that there is a program for."""
    available = _available()
    return tuple(Control(name, name in available, (_PINNED / name).exists()) for name in NAMES)


def is_default(name: str) -> bool:
    """Whether connections of this namespace begin with it. They do even when it was unloaded."""
    try:
        return _DEFAULT.read_text(encoding="ascii").strip() == name
    except OSError:
        return False


def load(name: str) -> bool:
    """Make a control available to every program of this machine, until `unload` or the next boot.

    Nobody needs a privilege to choose it, in any network namespace. Returns False when it was already there.

    Raises:
        KeyError: no such program.
        libbpf.BpfUnavailableError: something is missing here; the text says what and the remedy.
        libbpf.BpfError: the kernel refused it.

    """
    if name in _available():
        return False
    link = _registered(name)
    try:
        _mount()
        _PINNED.mkdir(exist_ok=True)
        libbpf.pin(link, _PINNED / name)
    finally:
        os.close(link)
    return True


def unload(name: str) -> None:
    """Take away what `load` put there; connections that use it keep it until they end.

    Raises:
        NotLoadedError: it was not put there by `load`.
        libbpf.BpfUnavailableError: no privilege.

    """
    try:
        (_PINNED / name).unlink()
    except FileNotFoundError:
        raise NotLoadedError(f"{name!r} is not loaded; mptcplab bpf list shows what is") from None
    except PermissionError:
        raise libbpf.BpfUnavailableError("unloading a control needs root: sudo mptcplab bpf unload …") from None


@contextmanager
def registered(name: str) -> Iterator[None]:
    """A control for the time of a block: the kernel takes it away however this process ends.

    Where it is available already nothing is done. Errors as for `load`.
    """
    if name in _available():
        yield
        return
    link = _registered(name)
    try:
        yield
    finally:
        os.close(link)


def _registered(name: str) -> int:
    if name not in NAMES:
        raise KeyError(name)
    if not _BTF.exists():
        raise libbpf.BpfUnavailableError(
            f"the kernel does not describe its types ({_BTF}): it needs CONFIG_DEBUG_INFO_BTF"
        )
    if os.geteuid() != 0:
        raise libbpf.BpfUnavailableError("loading a program into the kernel needs root: sudo mptcplab bpf load …")
    return libbpf.register(built(name))


def _available() -> list[str]:
    try:
        return _AVAILABLE.read_text(encoding="ascii").split()
    except OSError:
        raise libbpf.BpfUnavailableError("this is not Linux, or TCP is not in its kernel") from None


def _mount() -> None:
    """Links are kept by names in a BPF file system, which most systems have mounted."""
    if _FILE_SYSTEM.is_dir() and not os.path.ismount(_FILE_SYSTEM):
        done = subprocess.run(
            ["mount", "-t", "bpf", "bpf", str(_FILE_SYSTEM)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise libbpf.BpfUnavailableError(f"cannot mount a BPF file system at {_FILE_SYSTEM}: {done.stderr.strip()}")
