"""Scenarios of the thesis as the tables of a scenario file."""

from collections.abc import Mapping
from typing import Any, Final

from .networks import MACHINE, Network, Path

Table = dict[str, Any]

AUTOMATIC: Final = "auto"
"""The receive window as the kernel keeps it by default: 64 KiB at first, enlarged while data are read."""
LARGEST_WINDOW: Final = MACHINE["window"]
"""The largest that the testbed's kernel announces: half (tcp_adv_win_scale = 1) of the 6 MiB of tcp_rmem.

The thesis changed the congestion control and the scheduler and left every other setting at its default (appendix A.2).
Here the automatic window ends at 3.8 MB, as in later kernels, so that long transfers with high BDP, where it matters,
have this one instead.
"""
MIN_RTT: Final = {"name": "min-rtt", "reinjection": "orp"}
"""The default scheduler of the kernel v0.91, with opportunistic retransmission and penalisation (section 4.1)."""
ROUND_ROBIN: Final = {"name": "round-robin"}
SCHEDULERS: Final[Mapping[str, Table]] = {"min-rtt": MIN_RTT, "round-robin": ROUND_ROBIN}
CONTROLS: Final = ("lia", "olia", "balia", "wvegas")
TRANSFER_S: Final = 30


def link(path: Path) -> Table:
    """A drop-tail link with the same characteristics in both directions, as Mininet makes it; its loss as well."""
    return {
        "rate": f"{path.capacity_mbps} Mbit/s",
        "delay": f"{path.delay_ms} ms",
        "queue": f"{path.queue_packets} packets",
        "loss": f"{path.loss_percent} %",
    }


def delay_line_link(path: Path) -> Table:
    """The same link with the queue as Mininet's really is: netem's limit also holds the packets in propagation.

    So a queue of Q packets on a path that has P packets in propagation at full rate keeps Q − P of them waiting; where
    Q < P the rate is what Q packets in a propagation delay make.
    """
    in_propagation = path.capacity_mbps * 1e3 * path.delay_ms / (8 * 1500)
    part = min(1.0, path.queue_packets / in_propagation)
    return {
        "rate": f"{round(path.capacity_mbps * 1e6 * part)} bit/s",
        "delay": f"{path.delay_ms} ms",
        "queue": f"{max(1, int(path.queue_packets - in_propagation))} packets",
        "loss": f"{path.loss_percent} %",
    }


def control(name: str, form: str) -> Table:
    """A congestion control in one of its forms."""
    return {"name": name, "variant": form}


def mptcp(
    *,
    congestion: str | Table,
    scheduler: Table = MIN_RTT,
    application: str | Table = "bulk",
    window: str = AUTOMATIC,
) -> Table:
    """A Multipath TCP connection over both paths, opened on the first."""
    return {
        "paths": ["one", "two"],
        "congestion": congestion,
        "scheduler": scheduler,
        "application": application,
        "receive_buffer": window,
    }


def tcp(path: str, *, application: str | Table = "bulk", window: str = AUTOMATIC) -> Table:
    """A TCP connection (NewReno, as the thesis compares with) over one of the paths."""
    return {
        "paths": [path],
        "protocol": "tcp",
        "congestion": "reno",
        "application": application,
        "receive_buffer": window,
    }


def file(kilobytes: int) -> Table:
    """A transfer with cURL."""
    return {"kind": "file", "size": f"{kilobytes} kB"}


def requests(kilobytes: int) -> Table:
    """ApacheBench with one request at a time, each over a connection of its own."""
    return {"kind": "requests", "size": f"{kilobytes} kB", "limit": f"{TRANSFER_S} s"}


def over(network: Network, connection: Table, *, seconds: int = TRANSFER_S, delay_line: bool = False) -> Table:
    """The scenario of one connection, called `c`, over the network."""
    make = delay_line_link if delay_line else link
    both = {"one": make(network.first), "two": make(network.second)}
    return {
        "duration": f"{seconds} s",
        "link": {name: table for name, table in both.items() if name in connection["paths"]},
        "connection": {"c": connection},
        "measure": {"sample": "never"},
    }


def shared_bottleneck(
    congestion: Table,
    *,
    delay_ms: int,
    queue: int,
    seconds: int,
    tcp_from_to: tuple[int, int] | None = None,
    machine_wide: bool = False,
    loss: str = "0 %",
) -> Table:
    """Figure 5.4: `multi` with two subflows and `single`, a TCP, in one bottleneck of 15 Mbit/s.

    `machine_wide`: the TCP has the control of the other connection, too. The modules of LIA, OLIA and BALIA then fall
    back to NewReno; that of wVegas does not.
    """
    access = {"rate": "1 Gbit/s", "delay": "100 us", "queue": "1000 packets"}
    bottleneck = {"rate": "15 Mbit/s", "delay": f"{delay_ms} ms", "queue": f"{queue} packets", "loss": loss}
    multi = mptcp(congestion=congestion) | {"start": ["0 s", "100 ms"]}
    single = tcp("three") | {"start": ["0 s", "100 ms"]}
    if machine_wide and congestion["name"] == "wvegas":
        # A Multipath TCP connection of one subflow: of the controls only this one runs on plain TCP in the kernel.
        single |= {"protocol": "mptcp", "congestion": congestion}
    if tcp_from_to is not None:
        multi["start"] = "0 s"
        start, stop = tcp_from_to
        single |= {"start": [f"{start} s", f"{start}.1 s"], "stop": f"{stop} s"}
    connections = {"multi": multi}
    if tcp_from_to is None or tcp_from_to[0] < seconds:
        connections["single"] = single
    return {
        "duration": f"{seconds} s",
        "link": {"access-1": access, "access-2": access, "access-3": access, "shared": bottleneck},
        "path": {
            name: {"links": [f"access-{number}", "shared"]}
            for number, name in enumerate(("one", "two", "three"), start=1)
        },
        "connection": connections,
        "measure": {"sample": "never"},
    }


def with_tcp(scenario: Table, tcp: Table) -> Table:
    """The scenario with these options of TCP for every connection."""
    if not tcp:
        return scenario
    connections = {name: {**each, "tcp": tcp} for name, each in scenario["connection"].items()}
    return {**scenario, "connection": connections}


def three_bottlenecks(congestion: Table, *, delay_ms: int, queue: int, seconds: int) -> Table:
    """Figure 5.5: each of three clients has a path over one bottleneck and one over the two others, of 10 Mbit/s."""
    bottleneck = {"rate": "10 Mbit/s", "delay": f"{delay_ms} ms", "queue": f"{queue} packets"}
    names = ("a", "b", "c")
    paths: Table = {}
    connections: Table = {}
    for number, name in enumerate(names):
        others = [names[(number + 1) % 3], names[(number + 2) % 3]]
        paths[f"{name}-one"] = {"links": [name]}
        paths[f"{name}-two"] = {"links": others}
        # One after another, a random 1 to 5 seconds apart; here the sums of the ranges' draws, a client a range.
        start = "0 s" if number == 0 else [f"{number} s", f"{5 * number} s"]
        connections[f"client-{number + 1}"] = mptcp(congestion=congestion) | {
            "paths": [f"{name}-one", f"{name}-two"],
            "start": start,
        }
    return {
        "duration": f"{seconds} s",
        "link": dict.fromkeys(names, bottleneck),
        "path": paths,
        "connection": connections,
        "measure": {"sample": "never"},
    }


def two_lossy_paths(
    congestion: Table | str, *, losses_percent: tuple[float, float], rtts_ms: tuple[float, float], seconds: int
) -> Table:
    """Figures 6.3 and 6.4: two paths of 20 Mbit/s with random losses; queues of 50 ms, which never fill."""
    links = {
        name: {
            "rate": "20 Mbit/s",
            "delay": f"{rtt / 2:g} ms",
            "queue": f"{83} packets",
            "loss": f"{loss:g} %",
        }
        for name, loss, rtt in zip(("one", "two"), losses_percent, rtts_ms, strict=True)
    }
    return {
        "duration": f"{seconds} s",
        "link": links,
        "connection": {"c": mptcp(congestion=congestion)},
        "measure": {"sample": "never"},
    }
