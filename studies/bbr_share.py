"""BBR next to one CUBIC flow over buffers of 0.5 to 8 BDP: both versions of ours, and the kernel's own.

40 Mbit/s, 40 ms, one flow of each control, which begin within a second; the first ten seconds of a minute left out.
What is told is BBR's share of the goodput of both, and the utilization of the link. MPTCPLAB_KERNEL names the guest's
kernel where there are several.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import mptcplab
import numpy as np
from mptcplab import kernels
from mptcplab.scenario import Scenario

from .runs import say, show

BUFFERS_BDP: Final = (0.5, 1, 2, 4, 8)
CONTROLS: Final = {
    ("sim", "version 3"): "bbr",
    ("sim", "version 1"): '{ name = "bbr", variant = "linux" }',
    ("linux-virtual", "Linux"): "bbr",
}

_LINK: Final = """
[link.l{n}]
rate = "40 Mbit/s"
delay = "20 ms"
queue = "{buffer} BDP"
"""
_CONNECTION: Final = """
[connection.{name}{n}]
paths = ["l{n}"]
protocol = "tcp"
congestion = {control}
start = ["0 s", "1 s"]
"""


def text(buffer: float, control: str, *, copies: int, seconds: int) -> str:
    """The scenario: `copies` networks side by side, which have nothing in common."""
    networks = "".join(
        _LINK.format(n=n, buffer=buffer)
        + _CONNECTION.format(n=n, name="bbr", control=control)
        + _CONNECTION.format(n=n, name="cubic", control='"cubic"')
        for n in range(copies)
    )
    return f'duration = "{seconds} s"\n{networks}\n[measure]\nwarmup = "10 s"\nsample = "never"\n'


def shares(result: mptcplab.Result, copies: int) -> Sequence[float]:
    """BBR's share in each network and run."""
    rows = result.connections.select("repeat", "name", "goodput_bps").rows()
    goodput = {(repeat, name): bps for repeat, name, bps in rows}
    runs = sorted({repeat for repeat, _ in goodput})
    pairs = [(goodput[run, f"bbr{n}"], goodput[run, f"cubic{n}"]) for run in runs for n in range(copies)]
    return [bbr / (bbr + cubic) for bbr, cubic in pairs]


def _rows(copies: int, repeat: int, seconds: int) -> Iterator[Mapping[str, str]]:
    for buffer in BUFFERS_BDP:
        row = {"buffer (BDP)": f"{buffer:g}"}
        for (engine, title), control in CONTROLS.items():
            written = control if control.startswith("{") else f'"{control}"'
            scenario = Scenario.from_toml(text(buffer, written, copies=copies, seconds=seconds), "<study>")
            if engine.startswith("linux"):
                engine = f"{engine}:{kernels.find(os.environ.get('MPTCPLAB_KERNEL')).name}"
            result = mptcplab.run(scenario, engine, seed=1, repeat=repeat)
            for note in result.notes:
                if "INVALID" in note:
                    say(f"{title}, {buffer:g} BDP: {note}")
            found = shares(result, copies)
            down = result.links.filter(result.links["direction"] == "down")
            row[f"share, {title}"] = f"{np.mean(found):.2f} ({min(found):.2f} to {max(found):.2f})"
            row[f"full, {title}"] = f"{100 * np.mean(down['utilization'].to_numpy()):.1f} %"
        yield row


def main() -> None:
    """Print the table. Linux runs in virtual time, so that the load of the machine does not count."""
    show("BBR's share of the link next to one CUBIC flow, 40 Mbit/s, 40 ms", _rows(1, 2, 60))
