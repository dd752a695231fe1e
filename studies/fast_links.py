"""Two paths of 1 Gbit/s simulated whole, and an eighth of them, as `mptcplab advise` does with links that are too fast.

Rates, queues, windows and send buffers are divided by eight; times and packets stay. Bulk transfers of 15 s, receive
windows of 64 MB. It takes half a minute.
"""

from collections.abc import Iterator
from typing import Final

import mptcplab
from mptcplab.scenario import Scenario

from .runs import PACKET_BYTES, show

RATE_BPS: Final = 1e9
SCALE: Final = 8
SECONDS: Final = 15
RECEIVE_BYTES: Final = 64_000_000
NETWORKS: Final = ((20, 20, 100), (20, 60, 50), (60, 30, 20))
"""Both round trips and the queues, in ms."""
SETTINGS: Final = (("cubic", 4), ("cubic", 102), ("bbr", 102))
"""Control, and send buffer in MiB."""


def text(network: tuple[int, int, int], control: str, send_buffer_mib: float, scale: int) -> str:
    """The scenario of a scale."""
    *round_trips_ms, queue_ms = network
    rate_bps = RATE_BPS / scale
    queue = int(queue_ms / 1e3 * rate_bps / 8 / PACKET_BYTES)
    links = "".join(
        f'[link.p{place}]\nrate = "{rate_bps / 1e6} Mbit/s"\ndelay = "{rtt_ms / 2} ms"\nqueue = "{queue} packets"\n'
        for place, rtt_ms in enumerate(round_trips_ms)
    )
    return (
        f'duration = "{SECONDS} s"\n{links}[connection.c]\npaths = ["p0", "p1"]\ncongestion = "{control}"\n'
        f'scheduler = {{ name = "linux", send_buffer = {send_buffer_mib / scale} }}\n'
        f'receive_buffer = "{RECEIVE_BYTES // scale} B"\n[measure]\nsample = "never"\n'
    )


def rows() -> Iterator[dict[str, str]]:
    """A row for each network and setting."""
    for network in NETWORKS:
        for control, send_buffer_mib in SETTINGS:
            whole, part = (
                scale * goodput_bps
                for scale in (1, SCALE)
                for goodput_bps in mptcplab.run(
                    Scenario.from_toml(text(network, control, send_buffer_mib, scale), "<study>"), "sim", seed=1
                ).connections["goodput_bps"]
            )
            first, second, queue_ms = network
            yield {
                "round trips, queues": f"{first} and {second} ms, {queue_ms} ms",
                "control": control,
                "send buffer": f"{send_buffer_mib} MiB",
                "whole": f"{whole / 1e6:.0f} Mbit/s",
                f"at 1/{SCALE}": f"{part / 1e6:.0f} Mbit/s",
                "difference": f"{part / whole - 1:+.1%}",
            }


def main() -> None:
    """Print the table."""
    show(f"Two paths of 1 Gbit/s, whole and at 1/{SCALE}", rows())
