"""The path manager `linux` of the simulator against kernels: drawn endpoints, limits and events, the same subflows?

`MPTCPLAB_KERNEL` names the guest's kernel (`live` this machine's own, in real time), `MPTCPLAB_CASES` how many
configurations, `MPTCPLAB_FIRST` the first one's number. Odd numbers have addresses that go and come back. Ten of them
share a guest. What differs is printed, configuration by configuration.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from mptcplab.paths.seen import Seen

from .compare import Comparison
from .draw import Case, case
from .play import in_guest, on_this_machine, simulated

AT_A_TIME: Final = 10
CASES: Final = 200
LIVE_RULES: Final = "6.18"
"""Whose rules the simulator keeps beside this machine's own kernel."""


def compare(cases: Sequence[Case], kernel: str, play: Callable[[Sequence[Case], str], list[Seen]]) -> list[Comparison]:
    """Each case on both."""
    pairs = zip(cases, simulated(cases, kernel), play(cases, kernel), strict=True)
    return [Comparison(*pair) for pair in pairs]


def main() -> None:
    """Run it, and print what differs and how often."""
    kernel = os.environ.get("MPTCPLAB_KERNEL", "6.12")
    count, first = int(os.environ.get("MPTCPLAB_CASES", CASES)), int(os.environ.get("MPTCPLAB_FIRST", "0"))
    play = on_this_machine if kernel == "live" else in_guest
    rules = LIVE_RULES if kernel == "live" else kernel
    found: list[Comparison] = []
    for begin in range(first, first + count, AT_A_TIME):
        cases = [case(number, events=number % 2 == 1) for number in range(begin, min(begin + AT_A_TIME, first + count))]
        done = compare(cases, rules, play)
        for each in done:
            if not each.is_alike:
                sys.stdout.write("\n".join(each.lines()) + "\n\n")
        found += done
        sys.stderr.write(f"{len(found)}: {sum(each.subflows for each in found)} with the same subflows\n")
    sys.stdout.write(table(found, kernel) + "\n")


def table(found: Sequence[Comparison], kernel: str) -> str:
    """How many agree in what."""
    rows: list[tuple[str, Callable[[Comparison], bool]]] = [
        ("subflows: who opened them, from where to where, ids, flags, refusals", lambda each: each.subflows),
        ("their times, within 30 ms", lambda each: each.order),
        ("announced and withdrawn addresses", lambda each: each.announced),
        ("priorities (MP_PRIO)", lambda each: each.priorities),
        ("the paths that carry data", lambda each: each.carriers),
    ]
    lines = [f"| {len(found)} configurations, kernel {kernel} | agree | |", "| --- | ---: | ---: |"]
    for name, agrees in rows:
        number = sum(map(agrees, found))
        lines.append(f"| {name} | {number} | {100 * number / max(1, len(found)):.1f} % |")
    return "\n".join(lines)
