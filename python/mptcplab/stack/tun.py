"""TUN devices: the network between the machine's kernel and a stack of ours."""

import errno
import ipaddress
import os
import shutil
import subprocess
from types import TracebackType
from typing import Final, Self

from mptcplab._core import open_tun
from mptcplab.errors import EngineUnavailableError

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
        return open_tun(name, offloads)
    except OSError as error:
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            raise EngineUnavailableError(
                f"/dev/net/tun: {error.strerror}; modprobe tun, in a container --device /dev/net/tun, and run as root"
            ) from None
        if error.errno == errno.EPERM:
            raise EngineUnavailableError(
                f"the device {name}: not allowed; run as root, for instance with sudo"
            ) from None
        raise OSError(error.errno, f"{error.strerror} (TUN device)", name) from None


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
