"""A client with two or three lines, a router behind each, and a server: namespaces that the test makes and removes."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

_SERVER = """
import socket, time
listener = socket.socket(socket.FAMILY, socket.SOCK_STREAM, 262)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("SERVER", 4000))
listener.listen(8)
print("ready", flush=True)
held, _ = listener.accept()
until = time.monotonic() + 20
try:
    while time.monotonic() < until:
        held.send(bytes(1000))
        time.sleep(0.01)
except OSError:
    pass
"""
_CLIENT = """
import socket
held = socket.socket(socket.FAMILY, socket.SOCK_STREAM, 262)
held.connect(("SERVER", 4000))
print("connected", flush=True)
while held.recv(65536):
    pass
"""


@dataclass(frozen=True)
class Line:
    """One of the client's, with what the placeholders of its path stand for."""

    path: str
    interface: str
    address: str
    gateway: str

    def fill(self, text: str) -> str:
        """The text with the names filled in."""
        word = self.path.upper()
        text = text.replace(f"INTERFACE_OF_{word}", self.interface)
        return text.replace(f"GATEWAY_OF_{word}", self.gateway).replace(f"ADDRESS_ON_{word}", self.address)


class Machines:
    """`with Machines(("a", "b"), defaults=1)`: so many of the lines have a default route, as DHCP would leave it."""

    def __init__(self, paths: Sequence[str], defaults: int, *, ipv6: bool = False) -> None:
        self._family, self._net, self._prefix = ("-6", "fd00:{}::{}", 64) if ipv6 else ("-4", "10.{}.0.{}", 24)
        at = self._net.format
        self.lines = [Line(p, f"line{n}", at(n, 2), at(n, 1)) for n, p in enumerate(paths, start=1)]
        self.server = at(9, 2)
        self._defaults = defaults
        self._tag = f"advice{os.getpid()}"
        self._running: list[subprocess.Popen[str]] = []

    def name(self, role: str) -> str:
        """Of a namespace."""
        return f"{self._tag}{role}"

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.hang_up()
            # What `advise --apply` noted of a namespace must not be found by one that gets its number.
            note = "rm -f /run/mptcplab/advice-$(stat -L -c %i /proc/self/ns/net).json"
            words = ["ip", "netns", "exec", self.name("client"), "sh", "-c", note]
            subprocess.run(words, check=False, capture_output=True, timeout=30)
        finally:  # also where a loaded machine exceeds a limit
            for role in ("client", "router", "server"):
                subprocess.run(["ip", "netns", "del", self.name(role)], check=False, capture_output=True)

    def _make(self) -> None:
        for role in ("client", "router", "server"):
            ip("netns", "add", self.name(role))
            self.shell(role, "ip link set lo up; sysctl -qw net.mptcp.enabled=1")
        for number, line in enumerate(self.lines, start=1):
            self._cable("client", line.interface, line.address, "router", f"to{number}", line.gateway)
            if number <= self._defaults:
                metric = "" if number == 1 else f" metric {number * 100}"
                route = f"ip {self._family} route add default via {line.gateway} dev {line.interface}{metric}"
                self.shell("client", route)
        gateway = self._net.format(9, 1)
        self._cable("router", "core", gateway, "server", "core", self.server)
        self.shell("server", f"ip {self._family} route add default via {gateway}")
        self.shell("router", "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")

    def shell(self, role: str, text: str) -> str:
        """What a shell on a host prints; raises where a line of it fails."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.name(role), "sh", "-e", "-c", text],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{role}: {text}\n{done.stdout}{done.stderr}"
        return done.stdout

    def fill(self, lines: Sequence[str]) -> str:
        """Lines of an answer with the names filled in, for a shell."""
        text = "\n".join(lines)
        for line in self.lines:
            text = line.fill(text)
        assert "_OF_" not in text, text
        assert "ADDRESS_ON" not in text, text
        return text

    def call(self) -> None:
        """Open a connection of Multipath TCP to the server, over which a little data comes."""
        self._running.append(self._program("server", _SERVER))
        self._running.append(self._program("client", _CLIENT))
        time.sleep(1.5)  # the joins take two round trips

    def subflows(self) -> dict[str, str]:
        """By address of the client, the congestion control of each established subflow's sender."""
        text = self.shell("server", "ss -tniHO state established '( sport = :4000 )'")
        found = {}
        for row in text.splitlines():
            words = row.split()
            address = next(word for word in words[2:4] if not word.endswith(":4000"))
            found[address.rpartition(":")[0].strip("[]").removeprefix("::ffff:")] = row
        return found

    def hang_up(self) -> None:
        """End the connection."""
        for program in reversed(self._running):
            program.kill()
            program.wait(10)
            assert program.stdout is not None
            program.stdout.close()
        self._running.clear()

    def _program(self, role: str, text: str) -> "subprocess.Popen[str]":
        family = "AF_INET6" if self._family == "-6" else "AF_INET"
        text = text.replace("FAMILY", family).replace("SERVER", self.server)
        started = subprocess.Popen(
            ["ip", "netns", "exec", self.name(role), sys.executable, "-c", text], stdout=subprocess.PIPE, text=True
        )
        assert started.stdout is not None
        assert started.stdout.readline().strip() in ("ready", "connected")
        return started

    def _cable(self, one: str, end: str, address: str, other: str, far: str, far_address: str) -> None:
        ip("link", "add", end, "netns", self.name(one), "type", "veth", "peer", "name", far, "netns", self.name(other))
        for role, name, own in ((one, end, address), (other, far, far_address)):
            nodad = " nodad" * (self._family == "-6")
            self.shell(role, f"ip addr add {own}/{self._prefix} dev {name}{nodad}; ip link set {name} up")


def ip(*words: str) -> None:
    """In the namespace of the test."""
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)
