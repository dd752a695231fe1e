"""The link emulator held against the links it stands for: round trips of pings, goodput, CPU time a packet.

A ping is an ICMP echo from one host's namespace to the other's; the kernel answers it. Its round trip over idle
links is known: the propagation both ways, and the time that 84 bytes take to be sent, twice. A transfer is one TCP
connection with CUBIC; its ceiling is the link's rate, of which 1,448 of 1,500 bytes are data. The cost of a packet
is CPU time of the emulator's thread, and in it all that the kernel does while a packet is handed over: to the
receiver's socket and back to the acknowledgment that the receiver sends.
"""

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import mptcplab
import numpy as np
from mptcplab import _core
from mptcplab.engines.linux.layout import Pair
from mptcplab.engines.live import Namespace, add_interface, set_up
from mptcplab.models.checks import Array
from mptcplab.scenario import Scenario

from .runs import TCP_PAYLOAD_BYTES, say, show

T = TypeVar("T")

RATES_MBPS: Final = (1, 10, 100)
RTTS_MS: Final = (5, 20, 100)
PINGS: Final = 50
_PING_BYTES: Final = 84
_BETWEEN_S: Final = 0.05
_FIRST_WAIT_S: Final = 0.3
_UDP_SEGMENT: Final = 103  # linux/udp.h
_FLOOD_BYTES: Final = 1400

_TEXT: Final = """
duration = "{duration:.3f} s"
[link.l]
rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue = {{ limit = "1 BDP", at_least = "20 packets" }}
[connection.c]
paths = ["l"]
protocol = "tcp"
congestion = "cubic"
receive_buffer = "auto"
[measure]
warmup = "{warmup} s"
sample = "never"
"""


@dataclass(frozen=True)
class Pings:
    """Round trips over an idle link, in seconds."""

    expected_s: float
    found_s: Array
    lateness: Mapping[str, int]
    """As the emulator measured it, in nanoseconds."""


@dataclass(frozen=True)
class Transfer:
    """One TCP connection."""

    goodput_bps: float
    ceiling_bps: float
    utilization: float
    """Of the link, by the emulator's own counters."""
    lateness_s: Mapping[str, float]
    cpu_s_per_packet: float


def _scenario(rate_mbps: float, rtt_ms: float, duration_s: float, warmup_s: float) -> Scenario:
    text = _TEXT.format(rate=rate_mbps, delay=rtt_ms / 2, duration=duration_s, warmup=warmup_s)
    return Scenario.from_toml(text, "<study>")


def _beside(scenario: Scenario, work: Callable[[Namespace, Namespace, str], T]) -> tuple[T, dict[str, Any]]:
    """What `work` returns, given both hosts and the server's address, while links are emulated; and the emulation."""
    description = scenario.description()
    pair = Pair(0, description["connections"][0])
    with ExitStack() as stack:
        client, server = (stack.enter_context(Namespace(end)) for end in ("client", "server"))
        set_up(client)
        set_up(server)
        tuns = []
        for host, interface in ((client, pair.client_interfaces()[0]), (server, pair.server_interface())):
            tuns.append(add_interface(host, interface))
            stack.callback(os.close, tuns[-1])
        plan = {
            "description": {**description, "connections": []},
            "ports": pair.ports(tuns, 0),
            "packet_bytes": pair.mtu,
            "hosts": [],
        }
        with ThreadPoolExecutor(1) as pool:
            emulating = pool.submit(_core.run_linux, json.dumps(plan))
            time.sleep(_FIRST_WAIT_S)
            answer = work(client, server, str(pair.server))
            summary = json.loads(emulating.result()["summary"])
    return answer, summary["emulation"]


def ping(rate_mbps: float, rtt_ms: float, *, count: int = PINGS) -> Pings:
    """So many pings, one after another."""
    scenario = _scenario(rate_mbps, rtt_ms, _FIRST_WAIT_S + count * (_BETWEEN_S + rtt_ms / 1e3) + 1, 0)
    found, emulation = _beside(scenario, lambda client, _, address: client.run(_echo, address, count))
    expected_s = rtt_ms * 1e-3 + 2 * 8 * _PING_BYTES / (rate_mbps * 1e6)
    return Pings(expected_s, np.array(found), emulation["lateness"])


def flood(*, seconds: float = 2) -> float:
    """CPU time of the emulator for a packet, in seconds, when packets come as fast as one program sends them.

    They are UDP packets that nobody reads, so that next to nothing of it is the receiving host's.
    """
    scenario = _scenario(10_000, 2, _FIRST_WAIT_S + seconds, 0)

    def send(client: Namespace, server: Namespace, address: str) -> None:
        # A socket that is full: without one the host would answer each packet with an error.
        with server.run(_deaf, address):
            client.run(_send_all, address, seconds)

    _, emulation = _beside(scenario, send)
    return float(emulation["cpu_ns"] * 1e-9 / emulation["received"])


def _deaf(address: str) -> socket.socket:
    deaf = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    deaf.bind((address, 9))
    return deaf


def _send_all(address: str, seconds: float) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        # The kernel cuts what is sent at once into packets, so that the sender keeps up with the emulator.
        sender.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, _FLOOD_BYTES)
        ends, packets = time.monotonic() + seconds, bytes(_FLOOD_BYTES * 40)
        while time.monotonic() < ends:
            sender.sendto(packets, (address, 9))


def _echo(address: str, count: int) -> list[float]:
    times = []
    priority = os.sched_param(10)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as echo:
        echo.settimeout(5)
        os.sched_setscheduler(0, os.SCHED_FIFO, priority)
        for number in range(count):
            head = struct.pack("!BBHHH", 8, 0, 0, 1, number)
            content = bytes(_PING_BYTES - 20 - len(head))
            checksum = ~_sum(head + content) & 0xFFFF
            began = time.monotonic()
            echo.sendto(struct.pack("!BBHHH", 8, 0, checksum, 1, number) + content, (address, 0))
            while True:
                packet = echo.recv(2048)
                # Type 0 is the reply; the sequence number tells a late one from another.
                if packet[20] == 0 and struct.unpack_from("!H", packet, 26)[0] == number:
                    break
            times.append(time.monotonic() - began)
            time.sleep(_BETWEEN_S)
    return times


def _sum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    return (total & 0xFFFF) + (total >> 16)


def transfer(rate_mbps: float, rtt_ms: float, *, seconds: float = 10, warmup_s: float = 5) -> Transfer:
    """A transfer of so many seconds after a warm-up."""
    result = mptcplab.run(_scenario(rate_mbps, rtt_ms, warmup_s + seconds, warmup_s), engine="linux")
    (connection,) = result.connections.to_dicts()
    down = result.links.to_dicts()[0]
    ((_, run),) = result.runs
    assert run.live is not None, "an engine in real time"
    return Transfer(
        goodput_bps=connection["goodput_bps"],
        ceiling_bps=rate_mbps * 1e6 * TCP_PAYLOAD_BYTES / 1500,
        utilization=down["utilization"],
        lateness_s=run.live["lateness_s"],
        cpu_s_per_packet=run.live["cpu_s"] / run.live["packets"],
    )


def _rows() -> Iterator[Mapping[str, str]]:
    for rate in RATES_MBPS:
        for rtt in RTTS_MS:
            pings = ping(rate, rtt)
            moved = transfer(rate, rtt)
            late_us = {key: value * 1e6 for key, value in moved.lateness_s.items()}
            low_ms, median_ms, high_ms = np.quantile(pings.found_s, (0.1, 0.5, 0.9)) * 1e3
            yield {
                "rate": f"{rate} Mbit/s",
                "RTT": f"{rtt} ms",
                "ping, exact": f"{pings.expected_s * 1e3:.2f} ms",
                "median": f"{median_ms:.2f} ms",
                "p10 … p90": f"{low_ms:.2f} … {high_ms:.2f}",
                "goodput": f"{moved.goodput_bps * 1e-6:.2f} Mbit/s",
                "of the ceiling": f"{moved.goodput_bps / moved.ceiling_bps:.3f}",
                "link utilised": f"{moved.utilization:.3f}",
                "late: mean, p99, max": f"{late_us['mean']:.0f}, {late_us['p99']:.0f}, {late_us['max']:.0f} µs",
            }


def main() -> None:
    """Print the table, and what a packet costs."""
    sys.stderr.write("about five minutes\n")
    show("Round trips and goodput over emulated links", _rows())
    packet_s = flood()
    rate = f"{1 / packet_s:,.0f} packets a second on one core"
    say(f"A packet that nobody reads costs {packet_s * 1e6:.2f} µs of CPU: {rate}.")
    fast = transfer(2000, 2, seconds=5, warmup_s=2)
    cost = f"{fast.cpu_s_per_packet * 1e6:.2f} µs, with what the kernel does for both hosts meanwhile"
    say(f"One of a TCP transfer of {fast.goodput_bps * 1e-9:.2f} Gbit/s costs {cost}.")
