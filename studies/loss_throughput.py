"""One Reno flow under independent and regular losses: the loss–throughput law, the timeouts, the window limit.

The law is rate = C/(rtt·√p) with C = 1.31: Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP
congestion avoidance algorithm", CCR 27(3), 1997, table 1, random losses with an increase for every segment. ACKs are
delayed here (b = 2), but the window grows by the bytes acknowledged (RFC 3465), one segment a round trip, which is the
law of b = 1. The RTT is the measured mean: a delayed ACK waits up to 40 ms for a second segment. With losses exactly
1/p segments apart C is √(3/2), the regular saw-tooth of the same paper.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, sqrt

from mptcplab.models import single_path

from .rules import random_loss_constant
from .runs import Flow, flow, run, say, show

LOSSES = (0.0001, 0.001, 0.005, 0.01, 0.02, 0.05)
RTTS_S = (0.02, 0.1, 0.2)

_SCENARIO = """
duration = "{duration} s"
[link.path]
rate = "10 Gbit/s"
delay = "{delay_ms} ms"
queue = "100000 packets"
down.loss = {loss}
[connection.flow]
paths = ["path"]
protocol = "tcp"
congestion = {congestion}
receive_buffer = "{buffer}"
[measure]
warmup = "{warmup} s"
sample = "never"
"""


@dataclass(frozen=True)
class Point:
    """One loss rate and RTT."""

    p: float
    rtt_s: float
    flow: Flow
    regular: bool = False
    """Losses 1/p segments apart."""

    @property
    def constant(self) -> float:
        """C found, with the losses that occurred."""
        return self.flow.rate * self.flow.rtt_s * sqrt(self.flow.loss)

    @property
    def deviation(self) -> float:
        """From the law, relative."""
        return self.constant / (sqrt(1.5) if self.regular else random_loss_constant()) - 1

    @property
    def padhye(self) -> float:
        """Padhye's rate (b = 1, first timeout the RTT and 200 ms), in segments/s."""
        f = self.flow
        return float(single_path.padhye(f.loss, f.rtt_s, f.rtt_s + 0.2, b=1, delivered=True))


def measure(
    p: float,
    rtt_s: float,
    *,
    segments: float,
    seeds: int = 1,
    congestion: str = '"reno"',
    buffer: str = "64 MiB",
    regular: bool = False,
) -> Point:
    """Run for about so many segments after a tenth of it as warm-up; with regular losses after as much again.

    They settle slowly: after an overshoot a window is repeated with little less, CUBIC's by a tenth a loss.
    """
    duration = max(60, ceil(segments * rtt_s * sqrt(p) / 1.31))
    warmup = duration if regular else duration // 10
    text = _SCENARIO.format(
        duration=duration + warmup,
        warmup=warmup,
        delay_ms=rtt_s * 500,
        loss=f'{{ kind = "periodic", every = "{round(1 / p)} packets" }}' if regular else f'"{p * 100} %"',
        congestion=congestion,
        buffer=buffer,
    )
    return Point(p, rtt_s, flow(run(text, seeds=seeds), "flow", "path"), regular)


def _grid() -> Iterator[Mapping[str, str]]:
    for p in LOSSES:
        for rtt_s in RTTS_S:
            point = measure(p, rtt_s, segments=max(4e5, 600 / p))
            f = point.flow
            yield {
                "p": f"{p:.2%}",
                "RTT": f"{rtt_s * 1e3:.0f} ms",
                "measured RTT": f"{f.rtt_s * 1e3:.1f} ms",
                "measured p": f"{f.loss:.4%}",
                "segments/s": f"{f.rate:.1f}",
                "C": f"{point.constant:.3f}",
                "from 1.31": f"{point.deviation:+.1%}",
                "Padhye, b = 1": f"{point.padhye:.1f}",
                "from it": f"{f.rate / point.padhye - 1:+.1%}",
                "timeouts per loss": f"{f.timeouts / (f.loss * f.sent):.3f}",
            }


def _regular() -> Iterator[Mapping[str, str]]:
    for p in LOSSES:
        for rtt_s in RTTS_S:
            point = measure(p, rtt_s, segments=max(1e5, 100 / p), regular=True)
            f = point.flow
            yield {
                "p": f"1/{round(1 / p)}",
                "RTT": f"{rtt_s * 1e3:.0f} ms",
                "measured RTT": f"{f.rtt_s * 1e3:.1f} ms",
                "segments/s": f"{f.rate:.1f}",
                "C": f"{point.constant:.3f}",
                "from √(3/2)": f"{point.deviation:+.1%}",
                "timeouts per loss": f"{f.timeouts / (f.loss * f.sent):.3f}",
            }


def _limits() -> Iterator[Mapping[str, str]]:
    for kib in (32, 64, 128, 256):
        point = measure(1e-5, 0.1, segments=1e6, buffer=f"{kib} KiB")
        limit = kib * 1024 / 1448 / point.flow.rtt_s
        yield {
            "receive_buffer": f"{kib} KiB",
            "segments/s": f"{point.flow.rate:.1f}",
            "buffer/RTT": f"{limit:.1f}",
            "ratio": f"{point.flow.rate / limit:.3f}",
            "law without limit": f"{random_loss_constant() / sqrt(1e-5) / point.flow.rtt_s:.0f}",
        }


def main() -> None:
    """Print the tables."""
    kinds = {"independent losses": random_loss_constant(), "regular saw-tooth": sqrt(1.5), "balance": sqrt(2)}
    say("C: " + ", ".join(f"{name} {value:.4f}" for name, value in kinds.items()))
    show("One Reno flow under independent losses", _grid())
    show("One Reno flow under regular losses", _regular())
    show("A fixed receive buffer, 100 ms, p = 0.001 %", _limits())
