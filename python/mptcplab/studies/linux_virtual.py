"""The simulator against Linux in virtual time: files of three sizes on the points of the study `engines`.

The clock is virtual on both sides, links lose the same packets from the same seeds, and a guest has no other noise:
what is left is how the two transports differ. Several points share a guest, each on links of its own. The guest's
kernel is that of the variable MPTCPLAB_KERNEL, or the only one there is.

What was measured is kept in `engines.json` where the study is started, kernel by kernel; what is there is not run
again, so that an interrupted study goes on. All of it takes about 5 minutes of one core for each control.
"""

import os
from collections.abc import Mapping
from typing import Final

from mptcplab import kernels

from .engines import OUTLIER, Key, differences, measure, outliers, points, rows
from .runs import say, show

SEEDS: Final = 4
AT_A_TIME: Final = 8
"""Points of one guest: an interruption loses no more than these."""
CONTROLS: Final = ("reno", "cubic")
SURE: Final = 3.0
"""Standard errors from 0 at which a difference counts as one of the transports, not of the seeds."""


def sure(apart: Mapping[Key, tuple[float, float]], what: str) -> str:
    """How many points of a size differ beyond doubt, with their mean."""
    values = [(value, error) for (kind, _), (value, error) in apart.items() if kind == what]
    found = [value for value, error in values if abs(value) > SURE * error]
    mean = f", {sum(found) / len(found):+.1%} in the mean" if found else ""
    return f"{what}: {len(found)} of {len(values)} points differ by more than {SURE:g} standard errors{mean}"


def main() -> None:
    """Print the tables for each control."""
    kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    engine = f"linux-virtual:{kernel.name}"
    say(f"{engine}: Linux {kernel.version}, HZ {kernel.hz}, {SEEDS} seeds")
    chosen = points()
    for control in CONTROLS:
        reference = measure(chosen, control, "sim", repeat=SEEDS, kind="files", at_a_time=AT_A_TIME)
        found = measure(chosen, control, engine, repeat=SEEDS, kind="files", at_a_time=AT_A_TIME)
        apart = differences(reference, found)
        show(f"{control}: {engine} against sim", rows(control, engine, apart))
        for what in dict.fromkeys(kind for kind, _ in apart):
            say(f"{control}, {sure(apart, what)}")
        show(f"{control}: more than {OUTLIER:.0%} apart", outliers(chosen, apart))
