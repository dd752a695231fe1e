"""The engines against each other: two paths, a bulk transfer of 20 s and files of three sizes.

The scenarios are points of a WSP design over rates of 1 to 50 Mbit/s, RTTs of 10 to 200 ms, queues of 0.5 to 4 BDP and
losses of 0 to 1 % on each of two paths. Several points share a run, on disjoint links: such runs take real time, and
disjoint links do not touch each other.

Losses are random, and a run of 20 s has few of them. Every engine has the same links with the same seeds, and a link
draws the same losses from a seed on each: the first run of one engine loses the packets of the same numbers as the
first of another. So runs are compared in pairs, which leaves a third or less of the variation between seeds. Each
transfer has links of its own for the same reason: after an earlier one that took a packet more, it would meet other
losses.

What was measured is kept in `engines.json` where the study is started; a run that is there already, and was valid, is
not made again. Remove the file to begin anew. All of it takes 24 minutes.
"""

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as File
from typing import Final

import mptcplab
import numpy as np
from mptcplab import bpf, kernels
from mptcplab.designs import wsp
from mptcplab.engines.catalogue import ENGINES, available, find
from mptcplab.errors import EngineUnavailableError
from mptcplab.scenario import Scenario

from .runs import say, show

POINTS: Final = 32
AT_A_TIME: Final = 16
BULK_S: Final = 20
BULK_RUNS: Final = 3
FILE_RUNS: Final = {"sim": 2, "linux": 2, "stack": 1}
KEPT: Final = "engines.json"
AS_LINUX: Final = {"cubic": '{ name = "cubic", variant = "linux" }'}
"""What is asked of our own transport where a control's name means another form in Linux."""
FILES: Final = {"64 kB": 1.0, "512 kB": 4.0, "4 MB": 12.0}
"""Sizes, and when each begins, in seconds: they are not to meet."""
FILES_S: Final = 40
LARGE: Final = {"16 MB": 1.0}
"""A size that takes as long as the others together; only `linux_virtual` asks for it."""
LARGE_S: Final = 60
KINDS: Final = {"files": (FILES, FILES_S), "large": (LARGE, LARGE_S)}
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


def bulk(chosen: Mapping[int, Point], control: str, *, seconds: int = BULK_S) -> str:
    """A scenario with a bulk transfer for each of the points."""
    transfers = (transfer(f"m{number}", point, control, '"bulk"', 0) for number, point in chosen.items())
    return scenario(transfers, seconds)


def files(chosen: Mapping[int, Point], control: str, *, kind: str = "files") -> str:
    """A scenario with the files of a kind one after another for each of the points."""
    sizes, seconds = KINDS[kind]
    transfers = (
        transfer(f"m{number}-{place}", point, control, f'{{ kind = "file", size = "{size}" }}', start)
        for number, point in chosen.items()
        for place, (size, start) in enumerate(sizes.items())
    )
    return scenario(transfers, seconds)


def scenario(transfers: Iterable[str], seconds: int) -> str:
    """All of them in one scenario."""
    return f'duration = "{seconds} s"\n{"".join(transfers)}[measure]\nsample = "never"\n'


def transfer(name: str, point: Point, control: str, application: str, start_s: float) -> str:
    """A connection and the links it has for itself."""
    links = "".join(path.link(f"{name}-p{place}") for place, path in enumerate(point))
    paths = ", ".join(f'"{name}-p{place}"' for place in range(len(point)))
    return (
        f'{links}[connection.{name}]\npaths = [{paths}]\ncongestion = "{control}"\nscheduler = "linux"\n'
        f'application = {application}\nstart = "{start_s:g} s"\n'
    )


Key = tuple[str, int]
"""What is measured (`bulk` or a size), and the number of the point."""


def usual_form(text: str, control: str) -> str:
    """The scenario for our own transport, with the form of the control that goes by this name in Linux."""
    name = f'"{control}"'
    return text.replace(f"congestion = {name}", f"congestion = {AS_LINUX.get(control, name)}")


Measured = dict[Key, list[float]]
"""Of each run in the order of the seeds; NaN where a file did not arrive."""


def measure(
    chosen: Sequence[Point],
    control: str,
    engine: str,
    *,
    repeat: int,
    kind: str = "bulk",
    at_a_time: int = AT_A_TIME,
    bulk_s: int = BULK_S,
    form: Callable[[str, str], str] = usual_form,
) -> Measured:
    """Goodputs in bit/s of bulk transfers of `bulk_s` seconds, or completion times in s of files; none INVALID.

    `form` makes of a scenario and a control the scenario for our own transport.
    """
    found: Measured = {}
    numbered = list(enumerate(chosen))
    for begin in range(0, len(numbered), at_a_time):
        batch = dict(numbered[begin : begin + at_a_time])
        text = bulk(batch, control, seconds=bulk_s) if kind == "bulk" else files(batch, control, kind=kind)
        if not engine.startswith("linux"):
            text = form(text, control)
        for name, values in _run(text, engine, repeat).items():
            number, _, place = name[1:].partition("-")
            found[list(KINDS[kind][0])[int(place)] if place else "bulk", int(number)] = values
    return found


def _run(text: str, engine: str, repeat: int) -> dict[str, list[float]]:
    """What each connection had, run by run: kept from an earlier call, or measured now."""
    kept: dict[str, dict[str, list[float]]] = json.loads(File(KEPT).read_text()) if File(KEPT).exists() else {}
    chosen = find(engine)
    # Another kernel is another engine.
    kernel = kernels.find(chosen.arguments.get("kernel")).key if chosen.kernels else ""
    keys = [f"{engine}{kernel}, seed {seed}\n{text}" for seed in range(1, repeat + 1)]
    # The simulator is quick, and changes.
    have = 0 if engine == "sim" else next((n for n, key in enumerate(keys) if key not in kept), repeat)
    if have < repeat:
        jobs = len(os.sched_getaffinity(0)) if chosen.virtual_time else 1
        scenario = Scenario.from_toml(text, "<study>")
        result = mptcplab.run(scenario, engine, seed=1 + have, repeat=repeat - have, jobs=jobs)
        invalid = [note for note in result.notes if "INVALID" in note]
        if invalid:
            sys.stderr.write(f"{engine}: {invalid[0]}\nstart the study again to make up for it\n")
            return {}
        for key in keys[have:]:
            kept[key] = {}
        for row in result.connections.to_dicts():
            value = row["goodput_bps"] if "-" not in row["name"] else row["completion_s"]
            kept[keys[have + row["repeat"]]][row["name"]] = [math.nan if value is None else value]
        if engine != "sim":
            File(KEPT).write_text(json.dumps(kept))
    return {name: [kept[key][name][0] for key in keys] for name in kept[keys[0]]}


def differences(reference: Measured, other: Measured) -> dict[Key, tuple[float, float]]:
    """Relative differences of means over pairs of runs, with their standard errors, where both engines have them."""
    apart = {}
    for key in reference.keys() & other.keys():
        count = min(len(reference[key]), len(other[key]))
        mine, others = np.array(reference[key][:count]), np.array(other[key][:count])
        ratios = others / mine
        if not np.isnan(ratios).any():
            error = float(ratios.std(ddof=1)) / math.sqrt(count) if count > 1 else math.nan
            apart[key] = (float(others.mean() / mine.mean()) - 1, error)
    return apart


def rows(control: str, apart: Mapping[Key, tuple[float, float]]) -> Iterator[dict[str, str]]:
    """A row for each kind of transfer."""
    for what in ("bulk", *FILES, *LARGE):
        values = np.array([value for (kind, _), (value, _) in apart.items() if kind == what])
        if len(values) == 0:
            continue
        size = np.abs(values)
        errors = [error for (kind, _), (_, error) in apart.items() if kind == what]
        yield {
            "control": control,
            "transfer": what,
            "points": str(len(values)),
            "median": f"{np.median(size):.1%}",
            "p90": f"{np.quantile(size, 0.9):.1%}",
            "worst": f"{values[size.argmax()]:+.1%}",
            "mean (bias)": f"{values.mean():+.1%}",
            "standard error of one (median)": "–" if np.isnan(errors).any() else f"{np.median(errors):.1%}",
        }


def outliers(chosen: Sequence[Point], apart: Mapping[Key, tuple[float, float]]) -> Iterator[dict[str, str]]:
    """What is further apart than `OUTLIER`, with the standard error of the difference."""
    for (what, number), (value, error) in sorted(apart.items(), key=lambda item: -abs(item[1][0])):
        if abs(value) > OUTLIER:
            yield {
                "transfer": what,
                "differs": f"{value:+.1%}",
                "standard error": f"{error:.1%}",
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


def _measure_all(chosen: Sequence[Point], control: str, engine: str) -> Measured:
    found = measure(chosen, control, engine, repeat=BULK_RUNS)
    return found | measure(chosen, control, engine, repeat=FILE_RUNS[engine], kind="files")


def main() -> None:
    """Print the tables for reno and cubic, and lia where the kernel has it."""
    chosen = points()
    engines = live_engines()
    for control in ("reno", "cubic", "lia"):
        reference = _measure_all(chosen, control, "sim")
        for engine in engines:
            with _loaded(control):
                refused = ENGINES[engine].unsupported(Scenario.from_toml(bulk({0: chosen[0]}, control), "<study>"))
                if refused:
                    say(f"{engine} without {control}: {refused[0]}")
                    continue
                found = _measure_all(chosen, control, engine)
            apart = differences(reference, found)
            show(f"{control}: {engine} against sim", rows(control, apart))
            show(f"{control}: {engine}, more than {OUTLIER:.0%} apart", outliers(chosen, apart))
