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
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import mptcplab
from mptcplab import _core
from mptcplab.linux_engine.layout import Pair
from mptcplab.live import Namespace, add_interface, set_up
from mptcplab.models.checks import Array
from mptcplab.scenario import Scenario

from .runs import TCP_PAYLOAD_BYTES, say, show

RATES_MBPS: Final = (1, 10, 100)
RTTS_MS: Final = (5, 20, 100)
PINGS: Final = 50
_PING_BYTES: Final = 84
_BETWEEN_S: Final = 0.05
_FIRST_WAIT_S: Final = 0.3

_TEXT: Final = """
duration = "{duration} s"
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


def ping(rate_mbps: float, rtt_ms: float, *, count: int = PINGS) -> Pings:
    """So many pings, one after another."""
    duration_s = _FIRST_WAIT_S + count * (_BETWEEN_S + rtt_ms / 1e3) + 1
    description = _scenario(rate_mbps, rtt_ms, duration_s, 0).description()
    pair = Pair(0, description["connections"][0])
    with ExitStack() as stack:
        client, server = (stack.enter_context(Namespace(end)) for end in ("client", "server"))
        set_up(client)
        set_up(server)
        tuns = []
        for host, interface in ((client, pair.client_interfaces()[0]), (server, pair.server_interface())):
            tuns.append(add_interface(host, interface))
            stack.callback(os.close, tuns[-1])
        plan = {"description": {**description, "connections": []}, "ports": pair.ports(tuns, 0)}
        answer: dict[str, Any] = {}

        def emulate() -> None:
            answer.update(_core.run_linux(json.dumps({**plan, "packet_bytes": 1500, "hosts": []})))

        emulator = threading.Thread(target=emulate)
        emulator.start()
        time.sleep(_FIRST_WAIT_S)
        found = client.run(_echo, str(pair.server), count)
        emulator.join()
    expected_s = rtt_ms * 1e-3 + 2 * 8 * _PING_BYTES / (rate_mbps * 1e6)
    return Pings(expected_s, np.array(found), json.loads(answer["summary"])["emulation"]["lateness"])


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
    fast = transfer(2000, 2, seconds=5, warmup_s=2)
    packet_us = fast.cpu_s_per_packet * 1e6
    say(
        f"Cost of a packet at {fast.goodput_bps * 1e-9:.2f} Gbit/s: {packet_us:.2f} µs of CPU, so that one core moves "
        f"{1 / fast.cpu_s_per_packet:,.0f} packets a second."
    )
