"""A home of namespaces: a client with two interfaces, a router, a server; and agents in them.

Each is a namespace without a name, so nothing is left when the test ends, however it ends.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from mptcplab.engines.live import Namespace, set_up

CLIENT = {"wlan0": "10.71.1.2", "eth0": "10.71.2.2"}
SERVER = "10.71.9.2"
PORT = 7413
RATES_MBIT = {"wlan0": 40, "eth0": 20}
"""Of the links down; up they are as fast as the machine."""


class Home:
    """The namespaces, wired."""

    def __init__(self) -> None:
        self.client, self.router, self.server = (Namespace(name) for name in ("client", "router", "server"))
        self._anchors: list[subprocess.Popen[bytes]] = []
        for host in self._all():
            set_up(host)
        pids = {id(host): self._anchor(host) for host in self._all()}
        self._wire(self.client, pids[id(self.client)], "wlan0", "10.71.1")
        self._wire(self.client, pids[id(self.client)], "eth0", "10.71.2")
        self._wire(self.server, pids[id(self.server)], "net0", "10.71.9")
        self.router.set_controls({"net/ipv4/ip_forward": 1})
        for metric, interface in enumerate(CLIENT, start=1):
            gateway = CLIENT[interface].rpartition(".")[0] + ".1"
            self.ip(self.client, f"route add default via {gateway} dev {interface} metric {100 * metric}")
        self.ip(self.server, "route add default via 10.71.9.1")
        for interface, rate in RATES_MBIT.items():
            self.tc(self.router, f"qdisc add dev r-{interface} root tbf rate {rate}mbit burst 32000 limit 150000")

    def _all(self) -> tuple[Namespace, ...]:
        return (self.client, self.router, self.server)

    def _anchor(self, host: Namespace) -> int:
        anchor = host.run(lambda: subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL))
        self._anchors.append(anchor)
        return anchor.pid

    def _wire(self, host: Namespace, pid: int, interface: str, network: str) -> None:
        self.ip(self.router, f"link add r-{interface} type veth peer name {interface} netns {pid}")
        self.ip(self.router, f"address add {network}.1/24 dev r-{interface}")
        self.ip(host, f"address add {network}.2/24 dev {interface}")
        self.ip(self.router, f"link set r-{interface} up")
        self.ip(host, f"link set {interface} up")

    def ip(self, host: Namespace, words: str) -> str:
        return self.say(host, "ip", words)

    def tc(self, host: Namespace, words: str) -> str:
        return self.say(host, "tc", words)

    def say(self, host: Namespace, program: str, words: str) -> str:
        command = [program, *words.split()]
        done = host.run(lambda: subprocess.run(command, capture_output=True, text=True, check=False))
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return str(done.stdout)

    def state(self, host: Namespace) -> dict[str, str]:
        """All that an agent changes."""
        names = ("tcp_ecn", "tcp_rmem", "tcp_wmem", "tcp_no_metrics_save", "tcp_congestion_control")
        controls = {name: host.control(f"net/ipv4/{name}") for name in names}
        controls |= {name: host.control(f"net/mptcp/{name}") for name in ("enabled", "checksum_enabled")}
        return controls | {
            "rules": self.ip(host, "rule show"),
            "routes": self.ip(host, "route show table all type unicast"),
            "endpoints": self.ip(host, "mptcp endpoint show"),
            "limits": self.ip(host, "mptcp limits show"),
            "qdiscs": self.tc(host, "qdisc show"),
        }

    def close(self) -> None:
        for anchor in self._anchors:
            anchor.kill()
            anchor.wait()
        for host in self._all():
            host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Agent:
    """An agent that runs in a namespace."""

    def __init__(self, host: Namespace, key: Path, state: Path, *options: str) -> None:
        command = [sys.executable, "-c", "from mptcplab.cli import main; main()", "agent"]
        command += ["--key", str(key), "--state", str(state), *options]
        self.log = state.with_suffix(".log")
        with self.log.open("ab") as log:
            self.process = host.run(
                lambda: subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
            )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline().decode()
        assert self.first_line.startswith("listening"), self.log.read_text()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(30)


@contextmanager
def agents(home: Home, key: Path, folder: Path, *options: str) -> Iterator[dict[str, Agent]]:
    """One on the client, one on the server."""
    running: dict[str, Agent] = {}
    try:
        for name, host in (("server", home.server), ("client", home.client)):
            running[name] = Agent(host, key, folder / f"{name}.json", *options)
        yield running
    finally:
        for agent in running.values():
            agent.end()


def mptcplab(host: Namespace, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """What the command does in a namespace."""
    command = [sys.executable, "-c", "from mptcplab.cli import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "200"}
    done: subprocess.CompletedProcess[str] = host.run(
        lambda: subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    )
    return done


def starts(host: Namespace, *arguments: str) -> "subprocess.Popen[str]":
    """The command, begun in a namespace."""
    command = [sys.executable, "-c", "from mptcplab.cli import main; main()", *arguments]
    begun: subprocess.Popen[str] = host.run(
        lambda: subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    )
    return begun


def until(true: object, seconds: float = 30) -> None:
    """Wait until a callable answers something true."""
    end = time.monotonic() + seconds
    assert callable(true)
    while not true():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.05)
