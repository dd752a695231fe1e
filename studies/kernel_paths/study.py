"""The path manager `linux` of the simulator against kernels: drawn endpoints, limits and events, the same subflows?

`MPTCPLAB_KERNEL` names one kernel (`live`: this machine's own, in real time), `MPTCPLAB_CASES` how many configurations,
`MPTCPLAB_FIRST` the first one's number; the table of such a run is printed and not kept. Odd numbers have addresses
that go and come back. Ten configurations share a guest. What differs is printed, configuration by configuration.
"""

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from mptcplab import kernels
from mptcplab.paths.seen import Seen

from studies.runs import show

from . import questions
from .compare import Comparison
from .draw import Case, case
from .play import in_guest, on_this_machine, simulated

AT_A_TIME: Final = 10
PLAN: Final = {"6.12": 1000, "6.1": 200, "live": 100}
"""How many configurations on which kernel."""
FIRST: Final = 10_000
"""The rules were corrected with configurations below."""
LIVE_RULES: Final = "6.18"
"""Whose rules the simulator keeps beside this machine's own kernel."""

_ASKED: Final[Mapping[str, Callable[[Comparison], bool]]] = {
    "subflows: who opened them, from where to where, ids, flags, refusals": lambda each: each.subflows,
    "their times, within 30 ms": lambda each: each.order,
    "announced and withdrawn addresses": lambda each: each.announced,
    "priorities (MP_PRIO)": lambda each: each.priorities,
    "the paths that carry data": lambda each: each.carriers,
}


Play = Callable[[Sequence[Case], str], list[Seen]]
"""Cases, and whose rules hold."""


def compare(cases: Sequence[Case], kernel: str, play: Play) -> list[Comparison]:
    """Each case on both."""
    pairs = zip(cases, simulated(cases, kernel), play(cases, kernel), strict=True)
    return [Comparison(*pair) for pair in pairs]


def main() -> None:
    """Run it, and print what differs and how often."""
    named = os.environ.get("MPTCPLAB_KERNEL")
    asked = named is not None or not {"MPTCPLAB_CASES", "MPTCPLAB_FIRST"}.isdisjoint(os.environ)
    first = int(os.environ.get("MPTCPLAB_FIRST", FIRST))
    found = {}
    for kernel in [named or "6.12"] if asked else PLAN:
        count = int(os.environ.get("MPTCPLAB_CASES", PLAN.get(kernel, 200)))
        found[_version(kernel)] = beside(kernel, range(first, first + count))
    show("Configurations in which the simulator and the kernel do the same", rows(found), keep=not asked)
    if not asked:
        show("Subflows beside the first, predicted by the simulator and seen on kernels", questions.rows(answers()))


def answers() -> dict[str, list[Seen | None]]:
    """The configurations of documentation and threads in the simulator, with the newest rules, and on each kernel."""
    found = {"predicted": played(simulated, LIVE_RULES)}
    for kernel in reversed(PLAN):
        play = on_this_machine if kernel == "live" else in_guest
        found[f"Linux {_version(kernel)}"] = played(play, LIVE_RULES if kernel == "live" else kernel)
    return {name: found[name] for name in ("predicted", *sorted(found.keys() - {"predicted"}, key=_release))}


def played(play: Play, kernel: str) -> list[Seen | None]:
    """What was seen of each of them; None where the kernel does not know its flags."""
    cases = {
        number: question.case(number)
        for number, question in enumerate(questions.QUESTIONS)
        if kernel == LIVE_RULES or question.is_for_old_kernels
    }
    seen = dict(zip(cases, play(list(cases.values()), kernel), strict=True))
    return [seen.get(number) for number in range(len(questions.QUESTIONS))]


def beside(kernel: str, numbers: range) -> list[Comparison]:
    """The configurations of these numbers beside a kernel."""
    play = on_this_machine if kernel == "live" else in_guest
    rules = LIVE_RULES if kernel == "live" else kernel
    found: list[Comparison] = []
    for begin in range(numbers.start, numbers.stop, AT_A_TIME):
        some = range(begin, min(begin + AT_A_TIME, numbers.stop))
        done = compare([case(number, events=number % 2 == 1) for number in some], rules, play)
        for each in done:
            if not each.is_alike:
                sys.stdout.write("\n".join(each.lines()) + "\n\n")
        found += done
        sys.stderr.write(f"{kernel}: {len(found)}, {sum(each.subflows for each in found)} with the same subflows\n")
    return found


def rows(found: Mapping[str, Sequence[Comparison]]) -> Iterator[Mapping[str, str]]:
    """How many agree in what, a column for each kernel."""
    columns = {f"{len(each)} on Linux {kernel}": each for kernel, each in found.items()}
    for name, agrees in _ASKED.items():
        row = {"": name}
        for column, each in columns.items():
            number = sum(map(agrees, each))
            row[column] = f"{number} ({100 * number / max(1, len(each)):.1f} %)"
        yield row


def _release(column: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", column))


def _version(kernel: str) -> str:
    """The release of a guest's kernel, or of this machine's, without what its builder added."""
    whole = platform.release() if kernel == "live" else kernels.find(kernel).version
    digits = re.match(r"[\d.]*\d", whole)
    return digits[0] if digits else whole
