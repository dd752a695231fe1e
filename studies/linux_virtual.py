"""The simulator against Linux in virtual time: bulk transfers and files of 64 kB to 16 MB on the points of `engines`.

The clock is virtual on both sides, links lose the same packets from the same seeds, and a guest has no other noise:
what is left is how the two transports differ. Ours has the kernel's form of Reno and CUBIC, and all keys of `tcp` that
make it send and receive as Linux does (`exact`). Each point has a guest to itself. The guest's kernel is that of the
variable MPTCPLAB_KERNEL, or the only one there is; a control that it lacks is left out.

What was measured is kept in `engines.json` where the study is started, kernel by kernel and seed by seed; what is
there is not run again, so that an interrupted study goes on, and a larger MPTCPLAB_SEEDS, MPTCPLAB_BULK_SEEDS (bulk
transfers) or MPTCPLAB_LARGE_SEEDS (16 MB) adds to it. Five controls take fifteen minutes on two cores. With
MPTCPLAB_FIRST_DIFFERENCES=1 the packets of all points that are far apart are compared too.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Final

from mptcplab import kernels
from mptcplab.capture.explain import Difference, Explanation
from mptcplab.comparison.explanation import Side, explained
from mptcplab.scenario import Scenario

from . import exact
from .engines import LARGE_S, Key, Point, differences, measure, points, rows, scenario, transfer
from .runs import say, show

SEEDS: Final = 3
BULK_SEEDS: Final = 3
LARGE_SEEDS: Final = 0
BULK_S: Final = 10
ALONE_BULK_S: Final = 5
"""Of a bulk transfer whose packets are compared."""
AT_A_TIME: Final = 1
"""Points of one guest. They would share its only processor, which changes transfers over lossy paths."""
CONTROLS: Final = ("reno", "cubic", "lia", "olia", "balia")
SURE: Final = 3.0
"""Standard errors from 0 at which a difference counts as one of the transports, not of the seeds."""
APART: Final = 0.10
"""What is further apart is listed, with the first difference of the two traces."""


def as_linux(text: str, control: str) -> str:
    """The scenario for our own transport, with all that it can do as Linux does it: as `exact` has it."""
    text = text.replace('scheduler = "linux"', f'scheduler = "linux"\ntcp = {{ {exact.AS_LINUX_SENDS} }}')
    if control not in exact.AS_LINUX:
        return text
    return text.replace(f'congestion = "{control}"', f'congestion = {{ name = "{control}", variant = "linux" }}')


def alone(point: Point, control: str, what: str, engine: str) -> Scenario:
    """The scenario of one point and one transfer, by itself."""
    application = '"bulk"' if what == "bulk" else f'{{ kind = "file", size = "{what}" }}'
    text = scenario([transfer("m0", point, control, application, 0)], ALONE_BULK_S if what == "bulk" else LARGE_S)
    if not engine.startswith("linux"):
        text = as_linux(text, control)
    return Scenario.from_toml(text, "<study>")


def first_difference(point: Point, control: str, what: str, engine: str) -> Explanation:
    """Where the two traces of a point part, with the first seed."""
    sides = [Side(name, alone(point, control, what, name), name) for name in ("sim", engine)]
    return explained(sides[0], sides[1], seed=1)


@dataclass(frozen=True)
class Apart:
    """A point further apart than `APART`, and where its two traces part."""

    control: str
    what: str
    point: Point
    differs: float
    error: float
    first: Difference | None

    @property
    def is_sure(self) -> bool:
        """Whether seeds alone do not make it. One seed does not tell: it has no error."""
        return abs(self.differs) > SURE * self.error

    def row(self) -> dict[str, str]:
        """For the table of points."""
        first = self.first
        return {
            "control": self.control,
            "transfer": self.what,
            "differs": f"{self.differs:+.1%}",
            "standard error": f"{self.error:.1%}",
            "first path": str(self.point[0]),
            "second path": str(self.point[1]),
            "first difference": "none" if first is None else f"{group(first)}, {first.time_s:.3f} s",
            "packets alike before": "all" if first is None else str(first.divergence.number),
        }


def group(first: Difference | None) -> str:
    """What first differences have in common: the kind, who acts earlier, and on which subflow of how many bytes."""
    if first is None:
        return "none"
    ours, theirs = first.divergence.first, first.divergence.second
    if ours is None or theirs is None:
        return f"{first.kind}: only {'Linux' if ours is None else 'sim'}"
    if first.kind == "segment size":
        return f"segment size: {'Linux' if theirs.length < ours.length else 'sim'} has the shorter one"
    earlier = "sim" if ours.time_ns <= theirs.time_ns else "Linux"
    return f"{first.kind}: {earlier} is first"


def outliers(
    chosen: Sequence[Point], control: str, engine: str, apart: Mapping[Key, tuple[float, float]]
) -> list[Apart]:
    """What is further apart than `APART`, the largest first, and the first difference of each."""
    far = sorted((item for item in apart.items() if abs(item[1][0]) > APART), key=lambda item: -abs(item[1][0]))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        firsts = pool.map(lambda item: first_difference(chosen[item[0][1]], control, item[0][0], engine).first, far)
        return [
            Apart(control, what, chosen[number], value, error, first)
            for ((what, number), (value, error)), first in zip(far, firsts, strict=True)
        ]


def groups(found: Sequence[Apart]) -> Iterator[dict[str, str]]:
    """A row for each kind of first difference, the most frequent first."""
    by_group: defaultdict[str, list[Apart]] = defaultdict(list)
    for each in found:
        by_group[group(each.first)].append(each)
    for name, members in sorted(by_group.items(), key=lambda item: -len(item[1])):
        yield {
            "first difference": name,
            "values": str(len(members)),
            "sure": str(sum(each.is_sure for each in members)),
            "points": str(len({each.point for each in members})),
            "median size": f"{median(abs(each.differs) for each in members):.1%}",
            "Linux worse": str(sum((each.differs < 0) == (each.what == "bulk") for each in members)),
            "packets alike, median": f"{median(e.first.divergence.number if e.first else 0 for e in members):.0f}",
        }


def main() -> None:
    """Print the tables for each control."""
    kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    seeds = int(os.environ.get("MPTCPLAB_SEEDS", SEEDS))
    bulk_seeds = int(os.environ.get("MPTCPLAB_BULK_SEEDS", BULK_SEEDS))
    engine = f"linux-virtual:{kernel.name}"
    large_seeds = int(os.environ.get("MPTCPLAB_LARGE_SEEDS", LARGE_SEEDS))
    chosen = points()
    apart: dict[str, dict[Key, tuple[float, float]]] = {}
    for control in CONTROLS:
        if control not in {"reno", "cubic", *kernel.controls}:
            sys.stderr.write(f"without {control}: it is not in {engine}\n")
            continue
        mine = apart[control] = {}
        for kind, repeat in (("files", seeds), ("large", large_seeds), ("bulk", bulk_seeds)):
            if repeat > 0:
                both = [
                    measure(
                        chosen,
                        control,
                        each,
                        repeat=repeat,
                        kind=kind,
                        at_a_time=AT_A_TIME,
                        bulk_s=BULK_S,
                        form=as_linux,
                    )
                    for each in ("sim", engine)
                ]
                mine |= differences(both[0], both[1])
        sys.stderr.write(f"{control}: measured\n")
    show(
        "How far Linux is from the simulator",
        (row for control, mine in apart.items() for row in rows(control, mine)),
    )
    say(
        f"{seeds} seeds of files up to 4 MB, {bulk_seeds} of bulk transfers of {BULK_S} s, {large_seeds} of 16 MB. "
        "Files by the time they take (+: Linux is slower), bulk transfers by their goodput (+: Linux is faster)."
    )
    if not os.environ.get("MPTCPLAB_FIRST_DIFFERENCES"):
        return
    every: list[Apart] = []
    for control, mine in apart.items():
        found = outliers(chosen, control, engine, mine)
        show(f"{control}: more than {APART:.0%} apart", (each.row() for each in found), keep=False)
        every += found
    show(f"More than {APART:.0%} apart, by the first difference", groups(every))
