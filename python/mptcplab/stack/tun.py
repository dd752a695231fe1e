"""TUN devices: the network between the machine's kernel and a stack of ours."""

import errno
import fcntl
import ipaddress
import os
import shutil
import struct
import subprocess
from types import TracebackType
from typing import Final, Self

from mptcplab.errors import EngineUnavailableError

_TUNSETIFF: Final = 0x400454CA  # linux/if_tun.h
_TUNSETOFFLOAD: Final = 0x400454D0
_IFF_TUN: Final = 0x0001
_IFF_NO_PI: Final = 0x1000
_IFF_VNET_HDR: Final = 0x4000
_CHECKSUMS_AND_TCP: Final = 0x01 | 0x02 | 0x04
"""What the kernel may leave to the stack: checksums, and cutting TCP over IPv4 and IPv6 into packets."""

_NAME_LIMIT: Final = 15
_QUEUE_PACKETS: Final = 10_000
"""The kernel drops what the stack does not read in time: room for a burst."""


class Tun:
    """A TUN device: the kernel has the address `host`, our stack the address `stack`; lists for several.

    `host` is an address with its prefix length ("10.0.0.1/30", "fd00::1/126"); `stack` lies in that network.
    Without any `host` the device is one that is there and set up already (`ip tuntap add`), and stays; no offloads
    are used on it, as they would stay too.
    With `offloads` packets cross the device up to 64 kB at a time and without finished checksums, which a capture on
    the interface shows; without, each by itself and whole, several times slower.
    A device that this makes goes when it is closed, at the latest with the process.
    """

    def __init__(
        self, name: str, *, host: str | list[str], stack: str | list[str], mtu_bytes: int = 1500, offloads: bool = True
    ) -> None:
        hosts = [host] if isinstance(host, str) else host
        self.name = name
        self.mtu_bytes = mtu_bytes
        self.addresses = [str(ipaddress.ip_address(each)) for each in ([stack] if isinstance(stack, str) else stack)]
        interfaces = [ipaddress.ip_interface(each) for each in hosts]
        if not 1 <= len(name.encode()) <= _NAME_LIMIT:
            raise ValueError(f"a device's name has 1 to {_NAME_LIMIT} bytes, found {name!r}")
        self._descriptor = _open(name, offloads=offloads and bool(interfaces))
        try:
            for interface in interfaces:
                extra = ["nodad"] if interface.version == 6 else []
                ip("address", "add", str(interface), "dev", name, *extra)
            if not interfaces:
                return
            ip("link", "set", name, "mtu", str(mtu_bytes), "txqueuelen", str(_QUEUE_PACKETS), "up")
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def close(self) -> None:
        """Give the device back; a stack that uses it keeps it until it ends."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open(name: str, *, offloads: bool) -> int:
    try:
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise EngineUnavailableError(
            f"/dev/net/tun: {error.strerror}; modprobe tun, in a container --device /dev/net/tun, and run as root"
        ) from None
    try:
        flags = _IFF_TUN | _IFF_NO_PI | (_IFF_VNET_HDR if offloads else 0)
        fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        if offloads:
            fcntl.ioctl(descriptor, _TUNSETOFFLOAD, _CHECKSUMS_AND_TCP)
    except OSError as error:
        os.close(descriptor)
        if error.errno == errno.EPERM:
            raise EngineUnavailableError(
                f"the device {name}: not allowed; run as root, for instance with sudo"
            ) from None
        raise OSError(error.errno, f"{error.strerror} (TUN device)", name) from None
    return descriptor


def ip(*arguments: str) -> str:
    """Run `ip` with these arguments and return what it printed.

    Raises EngineUnavailableError where iproute2 is not installed, OSError with what `ip` said when it fails.
    """
    program = shutil.which("ip") or shutil.which("ip", path="/usr/sbin:/sbin")
    if program is None:
        raise EngineUnavailableError("the program ip is not installed; on Debian: apt-get install iproute2")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(errno.EIO, f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
