"""LIA on two lossy paths against its law: figures 6.3 and 6.4 of Chauvenne and Libioulle 2017.

Both paths 20 Mbit/s. Figure 6.3: RTT 20 ms, p₁ = 1 %, p₂ = 2 … 10 %. Figure 6.4: p₁ = 1 %, p₂ = 2 %, RTT₁ = 20 ms,
RTT₂ = 30 … 1000 ms. Three columns stand beside what was simulated: the thesis's closed form at the nominal RTTs
(equations 6.3 and 6.4, with the cap of 1/w: `models.steady_state.lia_capped`), the same at the measured RTTs, and the
rule played segment by segment at the measured RTTs (`rules.play`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from mptcplab.models import steady_state
from mptcplab.models.checks import Array

from . import rules
from .runs import Flow, flow, rmse, run, say, show

LOSS_SWEEP = tuple((p2, 0.02) for p2 in (0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1))
RTT_SWEEP = tuple((0.02, ms / 1000) for ms in (30, 50, 75, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 980, 1000))

_LINKS = """
duration = "{duration} s"
[link.first]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "1000 packets"
down.loss = "1 %"
[link.second]
rate = "20 Mbit/s"
delay = "{delay_ms} ms"
queue = "1000 packets"
down.loss = "{percent} %"
[measure]
warmup = "30 s"
sample = "never"
"""
_MULTIPATH = '[connection.flow]\npaths = ["first", "second"]\ncongestion = "lia"\nreceive_buffer = "16 MiB"\n'
_SINGLE = '[connection.flow]\npaths = ["first"]\nprotocol = "tcp"\nreceive_buffer = "16 MiB"\n'


@dataclass(frozen=True)
class Point:
    """One pair of paths."""

    p2: float
    rtt2_s: float
    paths: tuple[Flow, Flow]

    @property
    def rates(self) -> Array:
        """Simulated, segments/s."""
        return np.array([path.rate for path in self.paths])

    def _law(self, rtts: Sequence[float]) -> Array:
        return np.asarray(steady_state.lia_capped([0.01, self.p2], rtts) / np.asarray(rtts))

    @property
    def rtts_s(self) -> list[float]:
        """As measured."""
        return [path.rtt_s for path in self.paths]

    @property
    def law(self) -> Array:
        """The closed form at the nominal RTTs, segments/s."""
        return self._law([0.02, self.rtt2_s])

    @property
    def law_measured(self) -> Array:
        """The closed form at the measured RTTs, segments/s."""
        return self._law(self.rtts_s)

    def played(self, steps: int = 6000) -> Array:
        """The rule alone at the measured RTTs, segments/s."""
        return rules.play(rules.lia, [0.01, self.p2], self.rtts_s, steps=steps).rates


def measure(p2: float, rtt2_s: float, *, seconds: int = 300, seeds: int = 3) -> Point:
    """LIA on the two paths."""
    text = _LINKS.format(duration=seconds + 30, delay_ms=f"{rtt2_s * 500:g}", percent=f"{p2 * 100:g}") + _MULTIPATH
    result = run(text, seeds=seeds)
    return Point(p2, rtt2_s, (flow(result, "flow", "first"), flow(result, "flow", "second")))


def measure_tcp(*, seconds: int = 300, seeds: int = 3) -> Flow:
    """TCP Reno on the first path."""
    text = _LINKS.format(duration=seconds + 30, delay_ms=10, percent=2) + _SINGLE
    return flow(run(text, seeds=seeds), "flow", "first")


def _rows(points: list[Point], tcp: Flow) -> Iterator[Mapping[str, str]]:
    def pair(rates: Array) -> str:
        return f"{rates[0]:.0f} + {rates[1]:.1f}"

    for point in points:
        yield {
            "p₂": f"{point.p2:.0%}",
            "RTT₂": f"{point.rtt2_s * 1e3:.0f} ms",
            "simulated, segments/s": pair(point.rates),
            "law": pair(point.law),
            "law, measured RTTs": pair(point.law_measured),
            "rule played": pair(point.played()),
            "measured RTTs": f"{point.rtts_s[0] * 1e3:.1f}, {point.rtts_s[1] * 1e3:.1f} ms",
            "timeouts": f"{point.paths[0].timeouts:.0f} + {point.paths[1].timeouts:.0f}",
            "total/TCP": f"{point.rates.sum() / tcp.rate:.3f}",
        }


def _errors(points: list[Point]) -> str:
    found = np.array([point.rates for point in points])
    kinds = {
        "the law": np.array([point.law for point in points]),
        "the law at the measured RTTs": np.array([point.law_measured for point in points]),
        "the rule played": np.array([point.played() for point in points]),
    }
    texts = [
        f"{rmse(found[:, 0], x[:, 0]):.1f} and {rmse(found[:, 1], x[:, 1]):.1f} from {name}"
        for name, x in kinds.items()
    ]
    return "RMSE of path 1 and 2 in segments/s: " + "; ".join(texts)


def main() -> None:
    """Print both tables with their RMSE."""
    tcp = measure_tcp()
    played = rules.play(rules.reno, [0.01], [tcp.rtt_s]).rates[0]
    say(f"TCP Reno on path 1: {tcp.rate:.0f} segments/s at {tcp.rtt_s * 1e3:.1f} ms; its rule played {played:.0f}")
    for title, sweep in (("Loss rate of path 2 (figure 6.3)", LOSS_SWEEP), ("RTT of path 2 (figure 6.4)", RTT_SWEEP)):
        points = [measure(p2, rtt2_s) for p2, rtt2_s in sweep]
        show(title, _rows(points, tcp))
        say(_errors(points))
