"""One TCP connection over one link: the grid of Bateman and Bhatti (AINA 2010), and whether variants are told apart.

100 Mbit/s, round-trip times of 25 to 400 ms, drop-tail buffers of 20 to 100 % of the bandwidth-delay product, bulk. The
authors found Tahoe, Reno and NewReno of a simulator of their day indistinguishable in such a test. Here each
variant is run over seeds that move the connection's start, and two count as told apart at a point where an
interval of 95 % around the mean difference of goodput, or of retransmissions, leaves out 0. There is no Tahoe here.

The guest's kernel (MPTCPLAB_KERNEL), where there is one, is asked at two buffers for each round-trip time, which takes
half an hour; with MPTCPLAB_GRID=linux nothing else is measured.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from mptcplab import kernels
from mptcplab.results.result import Result

from .runs import run, say, show

RTTS_MS: Final = (25, 50, 100, 200, 400)
BUFFERS: Final = (0.2, 0.6, 1.0)
SECONDS: Final = 60
SEEDS: Final = 4
LINUX_RTTS_MS: Final = (25, 100)
LINUX_BUFFERS: Final = (0.2, 1.0)
LINUX_SECONDS: Final = 10
LINUX_VARIANTS: Final = ("Reno, RACK-TLP", "NewReno (RFC 6582)", "CUBIC, RACK-TLP")
STUDENT: Final[Mapping[int, float]] = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571}
"""Student's t at 97.5 % by the number of seeds."""

Array = npt.NDArray[np.float64]

_TEXT: Final = """
duration = "{seconds} s"
[link.l]
rate = "100 Mbit/s"
delay = "{delay_ms:g} ms"
queue = "{buffer:g} BDP"
[connection.c]
paths = ["l"]
protocol = "tcp"
application = "bulk"
congestion = {congestion}
start = ["0 s", "100 ms"]
receive_buffer = "16 MB"
tcp = {{ {tcp} }}
[measure]
sample = "never"
"""
VARIANTS: Final[Mapping[str, tuple[str, str]]] = {
    "Reno, RACK-TLP": ('"reno"', ""),
    "Reno, SACK (RFC 6675)": ('"reno"', 'loss_detection = "sack"'),
    "NewReno (RFC 6582)": ('"reno"', 'loss_detection = "newreno"'),
    "CUBIC, RACK-TLP": ('{ name = "cubic", variant = "linux" }', ""),
}


def measure(
    variant: str, rtt_ms: float, buffer: float, *, seeds: int = SEEDS, seconds: float = SECONDS, engine: str = "sim"
) -> Result:
    """One point."""
    congestion, tcp = VARIANTS[variant]
    if engine != "sim" and "cubic" in congestion:
        congestion = '"cubic"'
    text = _TEXT.format(seconds=seconds, delay_ms=rtt_ms / 2, buffer=buffer, congestion=congestion, tcp=tcp)
    return run(text, seeds=seeds, engine=engine)


def values(result: Result, column: str) -> Array:
    """A value for each seed."""
    return np.asarray(result.subflows[column].to_numpy(), dtype=np.float64)


def told_apart(one: Array, other: Array) -> bool:
    """Whether the mean of the paired differences is not 0, at 95 %."""
    differences = other - one
    error = float(differences.std(ddof=1)) / len(differences) ** 0.5
    mean = abs(float(differences.mean()))
    return mean > STUDENT[len(differences)] * error and mean > 0


def grid(
    rtts_ms: Sequence[float] = RTTS_MS,
    buffers: Sequence[float] = BUFFERS,
    *,
    seeds: int = SEEDS,
    seconds: float = SECONDS,
) -> Iterator[dict[str, str]]:
    """Goodput in Mbit/s and retransmitted segments of each variant; where Reno's neighbours are told from it."""
    for rtt_ms in rtts_ms:
        for buffer in buffers:
            found = {name: measure(name, rtt_ms, buffer, seeds=seeds, seconds=seconds) for name in VARIANTS}
            row = {"RTT": f"{rtt_ms:g} ms", "buffer": f"{buffer:.0%} BDP"}
            for name, result in found.items():
                goodput = values(result, "goodput_bps").mean() / 1e6
                again = values(result, "retransmissions").mean()
                row[name] = f"{goodput:.1f}, {again:.0f}"
            reno = found["Reno, RACK-TLP"]
            apart = [
                name
                for name, result in found.items()
                if any(
                    told_apart(values(reno, column), values(result, column))
                    for column in ("goodput_bps", "retransmissions")
                )
            ]
            row["different from the first"] = ", ".join(apart) or "none"
            yield row


def against_linux(engine: str) -> Iterator[dict[str, str]]:
    """The same by Linux, at fewer points and shorter."""
    for name in LINUX_VARIANTS:
        for rtt_ms in LINUX_RTTS_MS:
            for buffer in LINUX_BUFFERS:
                ours, theirs = (
                    measure(name, rtt_ms, buffer, seeds=1, seconds=LINUX_SECONDS, engine=each)
                    for each in ("sim", engine)
                )
                mine, linux = (float(values(each, "goodput_bps")[0]) / 1e6 for each in (ours, theirs))
                again = [int(values(each, "retransmissions")[0]) for each in (ours, theirs)]
                yield {
                    "control": name,
                    "RTT": f"{rtt_ms:g} ms",
                    "buffer": f"{buffer:.0%} BDP",
                    "sim, Mbit/s": f"{mine:.1f}",
                    "Linux": f"{linux:.1f}",
                    "differs": f"{linux / mine - 1:+.1%}",
                    "retransmissions, sim and Linux": f"{again[0]}, {again[1]}",
                }


def main() -> None:
    """Print the tables."""
    if os.environ.get("MPTCPLAB_GRID") != "linux":
        show(f"Goodput in Mbit/s, retransmissions; mean of {SEEDS} seeds of {SECONDS} s", grid())
    try:
        kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    except kernels.UnknownKernelError:
        say("without Linux: no guest kernel is built")
        return
    show(
        f"Linux {kernel.version} in virtual time, one seed of {LINUX_SECONDS} s",
        against_linux(f"linux-virtual:{kernel.name}"),
    )
