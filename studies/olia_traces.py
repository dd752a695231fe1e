"""A two-path flow among TCP flows, figures 6 to 8 of Khalili 2013: does OLIA flap?

Two bottlenecks of 10 Mbit/s with the paper's RED and about 150 ms; five TCP flows on the first, five (figure 7) or ten
(figure 8) on the second. Beside the share of the windows over the whole run stands how uneven they are at an instant,
and the same of the rules played alone (`rules.play`) on two paths of equal loss.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from . import rules
from .runs import run, say, show

CONTROLS = ('"olia"', '{ name = "olia", variant = "linux" }', '"lia"', '"balia"', '"coupled"')

_LINK = """
[link.{name}]
rate = "10 Mbit/s"
delay = "60 ms"
queue = {{ kind = "red", min = "30 ms", max = "60 ms", max_probability = 0.1, limit = "360 ms", weight = 0.0625 }}
[connection.{name}]
paths = ["{name}"]
protocol = "tcp"
count = {count}
start = ["0 s", "2 s"]
"""
_SCENARIO = """
[connection.multi]
paths = ["one", "two"]
congestion = {congestion}
start = ["0 s", "2 s"]
[measure]
warmup = "30 s"
sample = "100 ms"
"""


@dataclass(frozen=True)
class Trace:
    """The windows of the flow in one run."""

    windows: tuple[float, float]
    """Means over the run, in segments."""
    uneven: float
    """Part of the time in which the first path has under 20 or over 80 % of the windows."""
    longest_s: float
    """The longest such time in a row."""

    @property
    def share(self) -> float:
        """Of the windows, the first path's."""
        return self.windows[0] / sum(self.windows)


def measure(congestion: str, second: int, *, seconds: int = 600, seeds: int = 5) -> list[Trace]:
    """One control with ``second`` TCP flows on the second path, one trace a seed."""
    links = _LINK.format(name="one", count=5) + _LINK.format(name="two", count=second)
    result = run(f'duration = "{seconds + 30} s"\n{links}' + _SCENARIO.format(congestion=congestion), seeds=seeds)
    samples = result.samples
    samples = samples.filter((samples["connection"] == "multi") & (samples["time_s"] > 30))
    traces = []
    for repeat in range(seeds):
        one, two = (
            samples.filter((samples["repeat"] == repeat) & (samples["path"] == path))["cwnd_segments"].to_numpy()
            for path in ("one", "two")
        )
        share = one / (one + two)
        side = np.where(share > 0.8, 1, np.where(share < 0.2, -1, 0))
        longest = stay = 0
        for before, after in pairwise(side.tolist()):
            stay = stay + 1 if after != 0 and after == before else 0
            longest = max(longest, stay)
        traces.append(Trace((float(one.mean()), float(two.mean())), float((side != 0).mean()), longest / 10))
    return traces


def _rows(second: int) -> Iterator[Mapping[str, str]]:
    for congestion in CONTROLS:
        traces = measure(congestion, second)
        yield {
            "control": congestion.strip('"'),
            "mean windows": "{:.1f}, {:.1f}".format(*np.mean([t.windows for t in traces], axis=0)),
            "share of the first": f"{np.mean([t.share for t in traces]):.3f}",
            "of each run": " ".join(f"{t.share:.2f}" for t in traces),
            "beyond 20–80 %": f"{np.mean([t.uneven for t in traces]):.0%} of the time",
            "longest in a row": f"{max(t.longest_s for t in traces):.0f} s",
        }


def main() -> None:
    """Print both tables, and what the rules do alone."""
    show("Five TCP flows on each path (figure 7)", _rows(5))
    show("Five on the first, ten on the second (figure 8)", _rows(10))
    for name, rule in (("olia", rules.olia), ("lia", rules.lia)):
        played = rules.play(rule, [0.005, 0.005], [0.15, 0.15], floor=1.0 if name == "olia" else 2.0, steps=20000)
        say(f"The rule of {name} played on two paths of 0.5 %: beyond 20–80 % for {played.uneven:.0%} of the time")
