"""Suspicions against ourselves: differences from papers that the simulator, and not the testbed, might have made.

Each table changes one thing at a time, and asks Linux itself, in virtual time, where its kernel has the control. The
guest's kernel is that of the variable MPTCPLAB_KERNEL; without one that has the coupled controls its rows are left out.
All of it takes about 10 minutes of one core.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from mptcplab import kernels, metrics
from mptcplab.results.result import Result

from .runs import flow, link_loss, per_run, run, say, scenario_text, show

SECONDS: Final = 60
SEEDS: Final = 3
LINUX_SECONDS: Final = 30
Row = Mapping[str, str]


def _linux(control: str) -> str | None:
    """The engine whose kernel has this control."""
    try:
        kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    except kernels.UnknownKernelError:
        return None
    return f"linux-virtual:{kernel.name}" if control in kernel.controls else None


_LOSSY: Final = """
duration = "{seconds} s"
[link.first]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "83 packets"
{first}
[link.second]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "83 packets"
{second}
[connection.c]
paths = ["first", "second"]
direction = "down"
congestion = {control}
scheduler = "{scheduler}"
tcp = {{ {tcp} }}
[measure]
warmup = "5 s"
sample = "never"
"""
PAPER: Final = '"lia"'
KERNEL: Final = '{ name = "lia", variant = "linux" }'
_BOTH: Final = ('loss = "1 %"', 'loss = "{p:g} %"')
_DATA_ONLY: Final = ('down.loss = "1 %"', 'down.loss = "{p:g} %"')
_AHEAD: Final = "as equations have it, bound ahead by the kernel's scheduler"
LIA: Final[Mapping[str, tuple[str, str, tuple[str, str]]]] = {
    "as equations have it": (PAPER, "", _BOTH),
    _AHEAD: (PAPER, "", _BOTH),
    "as the kernel has it": (KERNEL, "", _BOTH),
    "kernel's, an ACK for each segment": (KERNEL, "segments_per_ack = 1", _BOTH),
    "kernel's, only data are lost": (KERNEL, "", _DATA_ONLY),
    "kernel's, recovery by RFC 6675": (KERNEL, 'loss_detection = "sack"', _BOTH),
}


def _lossy(
    control: str,
    tcp: str,
    losses: tuple[str, str],
    p2: float,
    *,
    engine: str = "sim",
    scheduler: str = "min-rtt",
) -> Result:
    here = engine == "sim"
    text = _LOSSY.format(
        seconds=5 + (SECONDS if here else LINUX_SECONDS),
        control=control,
        scheduler=scheduler,
        tcp=tcp,
        first=losses[0],
        second=losses[1].format(p=p2),
    )
    return run(text, seeds=SEEDS if here else 1, engine=engine)


def lia_under_loss(p2: Sequence[float] = (2, 10)) -> Iterator[Row]:
    """Figure 6.3 of Chauvenne: is it the arithmetic, acknowledgments, the recovery, or us?"""

    def row(name: str, found: Sequence[Result]) -> Row:
        cells = {}
        for percent, result in zip(p2, found, strict=True):
            one, two = (flow(result, "c", path) for path in ("first", "second"))
            cells[f"p₂ = {percent:g} %: packets/s"] = f"{one.rate:.0f} + {two.rate:.0f}"
            cells[f"p₂ = {percent:g} %: RTT₁, ms"] = f"{1e3 * one.rtt_s:.1f}"
        return {"LIA": name, **cells}

    for name, (control, tcp, losses) in LIA.items():
        scheduler = "linux" if name == _AHEAD else "min-rtt"
        yield row(name, [_lossy(control, tcp, losses, percent, scheduler=scheduler) for percent in p2])
    engine = _linux("lia")
    if engine is not None:
        yield row(engine, [_lossy(PAPER, "", _BOTH, percent, engine=engine, scheduler="linux") for percent in p2])


_SHARED: Final = """
duration = "{seconds} s"
[link.l]
rate = "10 Mbit/s"
delay = "60 ms"
queue = {queue}
[connection.tcp]
paths = ["l"]
protocol = "tcp"
congestion = "reno"
count = {count}
start = ["0 s", "5 s"]
tcp = {{ {tcp} }}
[measure]
warmup = "20 s"
sample = "never"
"""
_RED: Final = (
    '{{ kind = "red", min = "30 ms", max = "60 ms", max_probability = 0.1, limit = "360 ms", weight = {weight} }}'
)
RECOVERY: Final[Mapping[str, tuple[str, float]]] = {
    "as repeated: RACK, weight 1/16": ("", 0.0625),
    "recovery by RFC 6675": ('loss_detection = "sack"', 0.0625),
    "NewReno without SACK": ('loss_detection = "newreno"', 0.0625),
    "an ACK for each segment": ("segments_per_ack = 1", 0.0625),
    "RED's weight 1 (no average)": ("", 1.0),
    "RED's weight 0.002": ("", 0.002),
}


def loss_against_rate(counts: Sequence[int] = (10, 20, 30), seeds: int = 2) -> Iterator[Row]:
    """Khalili's shared access point with TCP users alone: p ∝ rate^−k, where the law has k = 2."""
    for name, (tcp, weight) in RECOVERY.items():
        rates, losses = [], []
        for count in counts:
            text = _SHARED.format(seconds=20 + SECONDS, count=count, tcp=tcp, queue=_RED.format(weight=weight))
            result = run(text, seeds=seeds)
            rates.append(float(per_run(result, "tcp").mean()) / 1e6)
            losses.append(link_loss(result, "l"))
        slope = np.polyfit(np.log(rates), np.log(losses), 1)[0]
        yield {
            "TCP users": name,
            **{f"p of {count}": f"{loss:.4f}" for count, loss in zip(counts, losses, strict=True)},
            f"rise {counts[0]} → {counts[-1]}": f"{losses[-1] / losses[0]:.2f}-fold",
            "exponent k": f"{-slope:.2f}",
        }


def _scenario_b(control: str, *, upgraded: bool, extra: str = "") -> Result:
    text = scenario_text("khalili-2013-b")
    more = ["connection.blue.congestion=" + control, "connection.red.congestion=" + control]
    if not upgraded:
        more[1] = 'connection.red={ paths = ["red-y"], protocol = "tcp", count = 15, start = ["0 s", "5 s"] }'
    if extra:
        more += [f"connection.{who}.tcp.{extra}" for who in ("blue", "red")]
    return run(text, seeds=2, overrides=[*more, f"duration={20 + SECONDS} s", "measure.warmup=20 s"])


OLIA: Final[Mapping[str, tuple[str, str]]] = {
    "OLIA as equations have it": ("olia", ""),
    "OLIA as the kernel has it": ('{ name = "olia", variant = "linux" }', ""),
    "kernel's, an ACK for each segment": ('{ name = "olia", variant = "linux" }', "segments_per_ack=1"),
    "LIA as equations have it": ("lia", ""),
    "LIA as the kernel has it": ('{ name = "lia", variant = "linux" }', ""),
}


def olia_probe() -> Iterator[Row]:
    """Scenario B of Khalili: what the upgrade costs by the form of the control."""
    for name, (control, extra) in OLIA.items():
        before, after = (_scenario_b(control, upgraded=upgraded, extra=extra) for upgraded in (False, True))
        total = [float(result.connections["goodput_bps"].sum()) / 2 / 1e6 for result in (before, after)]
        probe = flow(after, "red", "red-x")
        yield {
            "control": name,
            "aggregate before, Mbit/s": f"{total[0]:.1f}",
            "after": f"{total[1]:.1f}",
            "costs, %": f"{100 * (1 - total[1] / total[0]):.1f}",
            "Red's window on its second path": f"{probe.cwnd:.1f}",
        }


_VEGAS: Final = """
duration = "{seconds} s"
[link.shared]
rate = "15 Mbit/s"
delay = "{delay} ms"
queue = "62 packets"
[link.one]
rate = "1 Gbit/s"
delay = "100 us"
queue = "1000 packets"
[link.two]
rate = "1 Gbit/s"
delay = "100 us"
queue = "1000 packets"
[path.a]
links = ["one", "shared"]
[path.b]
links = ["two", "shared"]
[path.c]
links = ["two", "shared"]
[connection.multi]
paths = ["a", "b"]
direction = "down"
congestion = {control}
tcp = {{ {tcp} }}
{rival}
[measure]
warmup = "20 s"
sample = "never"
"""
_RIVAL: Final = (
    '[connection.single]\npaths = ["c"]\nprotocol = "tcp"\ncongestion = "reno"\ndirection = "down"\n'
    'start = ["0 s", "100 ms"]\n'
)
VEGAS: Final[Mapping[str, tuple[str, str]]] = {
    "as equations have it": ('"wvegas"', ""),
    "as the kernel has it": ('{ name = "wvegas", variant = "linux" }', ""),
    "kernel's, paced": ('{ name = "wvegas", variant = "linux" }', "pacing = true"),
    "kernel's, an ACK for each segment": ('{ name = "wvegas", variant = "linux" }', "segments_per_ack = 1"),
    "kernel's, both": ('{ name = "wvegas", variant = "linux" }', "pacing = true, segments_per_ack = 1"),
}


def _vegas(control: str, tcp: str, *, rival: bool, delay: float = 13, engine: str = "sim") -> Result:
    here = engine == "sim"
    text = _VEGAS.format(
        seconds=20 + (SECONDS if here else LINUX_SECONDS),
        control=control,
        tcp=tcp,
        rival=_RIVAL if rival else "",
        delay=delay,
    )
    return run(text, seeds=SEEDS if here else 1, engine=engine)


def wvegas_alone_and_beside() -> Iterator[Row]:
    """Tables 5.3 and 5.4 of Chauvenne: use of an empty link, and Jain's index beside a TCP."""

    def row(name: str, alone: Result, beside: Result) -> Row:
        used = float(per_run(alone, "multi").mean()) / 15e6
        multi, single = (float(per_run(beside, who).mean()) for who in ("multi", "single"))
        return {
            "wVegas": name,
            "utilization of an empty link, % (payload)": f"{100 * used:.1f}",
            "next to a TCP flow, Mbit/s": f"{multi / 1e6:.2f} and {single / 1e6:.2f}",
            "Jain's index": f"{metrics.jain_index([multi, single]):.4f}",
        }

    for name, (control, tcp) in VEGAS.items():
        yield row(name, *(_vegas(control, tcp, rival=rival) for rival in (False, True)))
    control, tcp = VEGAS["as the kernel has it"]
    for delay in (1.0, 50.0):
        found = [_vegas(control, tcp, rival=rival, delay=delay) for rival in (False, True)]
        yield row(f"as the kernel has it, base RTT {2 * delay + 0.2:g} ms", *found)
    engine = _linux("wvegas")
    if engine is not None:
        yield row(engine, *(_vegas('"wvegas"', "", rival=rival, engine=engine) for rival in (False, True)))


TABLES: Final[Mapping[str, Any]] = {
    "1. LIA under random loss, 1 % on the first path (Chauvenne, figure 6.3)": lia_under_loss,
    "2. Loss against rate (Khalili, scenarios A and C)": loss_against_rate,
    "4. What OLIA keeps on the worse path (Khalili, scenario B)": olia_probe,
    "5. wVegas on an empty link and beside a TCP (Chauvenne, tables 5.3 and 5.4)": wvegas_alone_and_beside,
}


def main() -> None:
    """Print the tables; the third, of Khalili's table III, is in its study (`reproduce khalili-2013`)."""
    for title, table in TABLES.items():
        show(title, table())
    say(f"√(2/p) a round trip of 20 ms at 1 %: {math.sqrt(2 / 0.01) / 0.02:.0f} packets/s")
