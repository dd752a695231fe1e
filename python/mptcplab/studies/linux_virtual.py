"""The simulator against Linux in virtual time: bulk transfers and files of three sizes on the points of `engines`.

The clock is virtual on both sides, links lose the same packets from the same seeds, and a guest has no other noise:
what is left is how the two transports differ. Several points share a guest, each on links of its own. The guest's
kernel is that of the variable MPTCPLAB_KERNEL, or the only one there is; a control that it lacks is left out.

What was measured is kept in `engines.json` where the study is started, kernel by kernel and seed by seed; what is there
is not run again, so that an interrupted study goes on, and a larger MPTCPLAB_SEEDS or MPTCPLAB_BULK_SEEDS adds to it.
For each control and seed, files take about 55 s of one core, and bulk transfers 100 s.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mptcplab import kernels
from mptcplab.capture.explain import Explanation
from mptcplab.explanation import Side, explained
from mptcplab.scenario import Scenario

from .engines import AS_LINUX, Key, Point, bulk, differences, files, measure, points, rows
from .runs import say, show

SEEDS: Final = 8
BULK_SEEDS: Final = 2
BULK_S: Final = 10
AT_A_TIME: Final = 8
"""Points of one guest: an interruption loses no more than these."""
CONTROLS: Final = ("reno", "cubic", "lia")
SURE: Final = 3.0
"""Standard errors from 0 at which a difference counts as one of the transports, not of the seeds."""
APART: Final = 0.10
"""What is further apart is listed, with the first difference of the two traces."""


def sure(apart: Mapping[Key, tuple[float, float]], what: str) -> str:
    """How many points of a size differ beyond doubt, with their mean."""
    values = [(value, error) for (kind, _), (value, error) in apart.items() if kind == what]
    found = [value for value, error in values if abs(value) > SURE * error]
    mean = f", {sum(found) / len(found):+.1%} in the mean" if found else ""
    return f"{what}: {len(found)} of {len(values)} points differ by more than {SURE:g} standard errors{mean}"


def alone(point: Point, control: str, what: str, engine: str) -> Scenario:
    """The scenario of one point and one transfer, by itself."""
    if what == "bulk":
        text = bulk({0: point}, control, seconds=5)
    else:
        head, *connections = files({0: point}, control).partition("[measure]")[0].split("[connection.")
        mine = next(each for each in connections if f'size = "{what}"' in each)
        text = f'{head}[connection.{mine}[measure]\nsample = "never"\n'
    if not engine.startswith("linux") and control in AS_LINUX:
        text = text.replace(f'congestion = "{control}"', f"congestion = {AS_LINUX[control]}")
    return Scenario.from_toml(text, "<study>")


def first_difference(point: Point, control: str, what: str, engine: str) -> Explanation:
    """Where the two traces of a point part, with the first seed."""
    sides = [Side(name, alone(point, control, what, name), name) for name in ("sim", engine)]
    return explained(sides[0], sides[1], seed=1)


def outliers(
    chosen: Sequence[Point], control: str, engine: str, apart: Mapping[Key, tuple[float, float]]
) -> Iterator[dict[str, str]]:
    """What is further apart than `APART`, and the first difference."""
    for (what, number), (value, error) in sorted(apart.items(), key=lambda item: -abs(item[1][0])):
        if abs(value) <= APART:
            continue
        first = first_difference(chosen[number], control, what, engine).first
        yield {
            "control": control,
            "transfer": what,
            "differs": f"{value:+.1%}",
            "standard error": f"{error:.1%}",
            "first path": str(chosen[number][0]),
            "second path": str(chosen[number][1]),
            "first difference": "none" if first is None else f"{first.kind}, {first.time_s:.3f} s",
            "packets alike before": "all" if first is None else str(first.parting.number),
        }


def main() -> None:
    """Print the tables for each control."""
    kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    seeds = int(os.environ.get("MPTCPLAB_SEEDS", SEEDS))
    bulk_seeds = int(os.environ.get("MPTCPLAB_BULK_SEEDS", BULK_SEEDS))
    engine = f"linux-virtual:{kernel.name}"
    say(f"{engine}: Linux {kernel.version}, HZ {kernel.hz}; {seeds} seeds of files, {bulk_seeds} of bulk ({BULK_S} s)")
    chosen = points()
    for control in CONTROLS:
        if control not in {"reno", "cubic", *kernel.controls}:
            sys.stderr.write(f"without {control}: it is not in {engine}\n")
            continue
        apart: dict[Key, tuple[float, float]] = {}
        for kind, repeat in (("files", seeds), ("bulk", bulk_seeds)):
            if repeat > 0:
                both = [
                    measure(chosen, control, each, repeat=repeat, kind=kind, at_a_time=AT_A_TIME, bulk_s=BULK_S)
                    for each in ("sim", engine)
                ]
                apart |= differences(both[0], both[1])
        show(f"{control}: {engine} against sim", rows(control, engine, apart))
        for what in dict.fromkeys(kind for kind, _ in apart):
            say(f"{control}, {sure(apart, what)}")
        show(f"{control}: more than {APART:.0%} apart", outliers(chosen, control, engine, apart))
