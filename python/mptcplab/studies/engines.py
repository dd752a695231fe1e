"""The engines against each other: two paths, a bulk transfer of 20 s and files of three sizes.

The scenarios are points of a WSP design over rates of 1 to 50 Mbit/s, RTTs of 10 to 200 ms, queues of 0.5 to 4 BDP and
losses of 0 to 1 % on each of two paths. Several points share a run, each on links of its own: such runs take real time,
and disjoint links do not touch each other. Losses are random, so the simulator's mean is over many seeds; its
standard deviation says how far two runs of the *same* engine are apart.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np

import mptcplab
from mptcplab import bpf
from mptcplab.designs import wsp
from mptcplab.engines import ENGINES, EngineUnavailableError, available
from mptcplab.scenario import Scenario

from .runs import say, show

POINTS: Final = 32
AT_A_TIME: Final = 8
FILES: Final = {"64 kB": 0.0, "512 kB": 4.0, "4 MB": 12.0}
"""Sizes, and when each begins, in seconds: they are not to meet."""
FILES_S: Final = 40
OUTLIER: Final = 0.15


@dataclass(frozen=True)
class Path:
    """One of the two."""

    rate_mbps: float
    rtt_ms: float
    queue_bdp: float
    loss: float

    def link(self, name: str) -> str:
        """Its table in a scenario file."""
        return (
            f'[link.{name}]\nrate = "{self.rate_mbps:.3f} Mbit/s"\ndelay = "{self.rtt_ms / 2:.3f} ms"\n'
            f'queue = "{self.queue_bdp:.3f} BDP"\ndown.loss = "{100 * self.loss:.4f} %"\n'
        )

    def __str__(self) -> str:
        return f"{self.rate_mbps:.1f} Mbit/s, {self.rtt_ms:.0f} ms, {self.queue_bdp:.1f} BDP, {100 * self.loss:.2f} %"


Point = tuple[Path, Path]


def points(count: int = POINTS) -> list[Point]:
    """The scenarios: a WSP design in eight dimensions."""

    def path(u: Sequence[float]) -> Path:
        return Path(1 + 49 * u[0], 10 + 190 * u[1], 0.5 + 3.5 * u[2], 0.01 * u[3])

    return [(path(row[:4]), path(row[4:])) for row in wsp(count, 8, seed=1).tolist()]


def bulk(chosen: Mapping[int, Point], control: str, *, seconds: int = 20) -> str:
    """A scenario with a bulk transfer for each of the points."""
    return _scenario(chosen, seconds, lambda number: _connection(f"m{number}", number, control, "bulk", 0))


def files(chosen: Mapping[int, Point], control: str, *, seconds: int = FILES_S) -> str:
    """A scenario with three files one after another for each of the points."""

    def connections(number: int) -> str:
        return "".join(
            _connection(f"m{number}-{place}", number, control, f'{{ kind = "file", size = "{size}" }}', start)
            for place, (size, start) in enumerate(FILES.items())
        )

    return _scenario(chosen, seconds, connections)


def _scenario(chosen: Mapping[int, Point], seconds: int, connections: Callable[[int], str]) -> str:
    links = "".join(path.link(f"p{n}-{place}") for n, point in chosen.items() for place, path in enumerate(point))
    text = f'duration = "{seconds} s"\n{links}'
    return text + "".join(map(connections, chosen)) + '[measure]\nsample = "never"\n'


def _connection(name: str, number: int, control: str, application: str, start_s: float) -> str:
    what = application if application.startswith("{") else f'"{application}"'
    return (
        f'[connection.{name}]\npaths = ["p{number}-0", "p{number}-1"]\ncongestion = "{control}"\nscheduler = "linux"\n'
        f'application = {what}\nstart = "{start_s:g} s"\n'
    )


@dataclass(frozen=True)
class Measured:
    """One quantity of one point on one engine: its mean over the runs, and the deviation of a run."""

    mean: float
    deviation: float
    runs: int


Key = tuple[str, int]
"""What is measured (`bulk` or a size), and the number of the point."""


def measure(
    chosen: Sequence[Point], control: str, engine: str, *, repeat: int, kind: str = "bulk", at_a_time: int = AT_A_TIME
) -> dict[Key, Measured]:
    """Goodputs in bit/s of bulk transfers, or completion times in seconds of files."""
    found: dict[Key, list[float]] = {}
    numbered = list(enumerate(chosen))
    for begin in range(0, len(numbered), at_a_time):
        batch = dict(numbered[begin : begin + at_a_time])
        text = bulk(batch, control) if kind == "bulk" else files(batch, control)
        result = mptcplab.run(Scenario.from_toml(text, "<study>"), engine, repeat=repeat)
        for note in result.notes:
            if "INVALID" in note:
                sys.stderr.write(f"{engine}, {control}, {kind}, points from {begin}: {note}\n")
        for row in result.connections.to_dicts():
            number, _, place = row["name"][1:].partition("-")
            what = list(FILES)[int(place)] if place else "bulk"
            value = row["completion_s"] if place else row["goodput_bps"]
            found.setdefault((what, int(number)), []).append(math.nan if value is None else value)
    return {key: _measured(values) for key, values in found.items()}


def _measured(values: list[float]) -> Measured:
    known = np.array([value for value in values if not math.isnan(value)])
    if len(known) < len(values):
        return Measured(math.nan, math.nan, len(known))
    return Measured(float(known.mean()), float(known.std(ddof=1)) if len(known) > 1 else math.nan, len(known))


def differences(reference: Mapping[Key, Measured], other: Mapping[Key, Measured]) -> dict[Key, float]:
    """Relative differences of means, where both engines have one."""
    both = {key: other[key].mean / reference[key].mean - 1 for key in reference if key in other}
    return {key: value for key, value in both.items() if not math.isnan(value)}


def rows(control: str, engine: str, apart: Mapping[Key, float]) -> Iterator[dict[str, str]]:
    """A row for each kind of transfer."""
    for what in ("bulk", *FILES):
        values = np.array([value for (kind, _), value in apart.items() if kind == what])
        if len(values) == 0:
            continue
        size = np.abs(values)
        yield {
            "control": control,
            "transfer": what,
            "engine": engine,
            "scenarios": str(len(values)),
            "median": f"{np.median(size):.1%}",
            "p90": f"{np.quantile(size, 0.9):.1%}",
            "worst": f"{values[size.argmax()]:+.1%}",
            "mean with its sign": f"{values.mean():+.1%}",
        }


def outliers(
    chosen: Sequence[Point], reference: Mapping[Key, Measured], apart: Mapping[Key, float]
) -> Iterator[dict[str, str]]:
    """What is further apart than `OUTLIER`, with the simulator's own spread from run to run."""
    for (what, number), value in sorted(apart.items(), key=lambda item: -abs(item[1])):
        if abs(value) > OUTLIER:
            own = reference[what, number]
            yield {
                "transfer": what,
                "differs": f"{value:+.1%}",
                "one run of sim": f"± {own.deviation / own.mean:.1%}",
                "first path": str(chosen[number][0]),
                "second path": str(chosen[number][1]),
            }


def live_engines() -> list[str]:
    """The engines in real time that this machine and this version have."""
    have = []
    for name in ("stack", "linux"):
        try:
            available(name)
        except EngineUnavailableError as error:
            sys.stderr.write(f"without {name}: {error}\n")
        else:
            have.append(name)
    return have


@contextmanager
def _loaded(control: str) -> Iterator[None]:
    """The kernel has the control meanwhile, where it can be loaded."""
    if control not in bpf.NAMES:
        yield
        return
    try:
        with bpf.registered(control):
            yield
    except bpf.BpfUnavailableError as error:
        sys.stderr.write(f"{control} is not in the kernel: {error}\n")
        yield


def _measure_all(chosen: Sequence[Point], control: str, engine: str, *, bulk: int, files: int) -> dict[Key, Measured]:
    found = measure(chosen, control, engine, repeat=bulk)
    return found | measure(chosen, control, engine, repeat=files, kind="files")


def main() -> None:
    """Print the tables for reno and cubic, and lia where the kernel has it."""
    chosen = points()
    engines = live_engines()
    for control in ("reno", "cubic", "lia"):
        reference = _measure_all(chosen, control, "sim", bulk=6, files=6)
        for engine in engines:
            with _loaded(control):
                refused = ENGINES[engine].unsupported(Scenario.from_toml(bulk({0: chosen[0]}, control), "<study>"))
                if refused:
                    say(f"{engine} without {control}: {refused[0]}")
                    continue
                found = _measure_all(chosen, control, engine, bulk=2, files=1)
            apart = differences(reference, found)
            show(f"{control}: {engine} against sim", rows(control, engine, apart))
            show(f"{control}: {engine}, more than {OUTLIER:.0%} apart", outliers(chosen, reference, apart))
