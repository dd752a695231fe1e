"""Packets until one kernel of Linux and another part, both in virtual time: what differs between kernels themselves.

The transfers are those of `python -m studies exact`, on the first few of its networks, with Reno and CUBIC. Each other
kernel that is built (`mptcplab kernel build 6.1`) is compared with 6.12, as it sends and once more without the windows
that it announces: kernels announce different ones from the first data on, which hides what follows.

All of them, 6.12 too, also run the case of an ADSL line and three mobile lines, where 6.12 sends more than the window
of the connection allows and waits for what the receiver dropped.

What a kernel sent is kept in `exact.guests/`, as there. MPTCPLAB_PATHS (1 or 2) and MPTCPLAB_NETWORKS choose.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

import mptcplab
import numpy as np
from mptcplab import kernels
from mptcplab.kernels import Kernel
from mptcplab.scenario import Scenario

from .exact import Case, Outcome, Run, cases, causes, compared, linux, networks
from .runs import say, show

REFERENCE: Final = "6.12"
OTHERS: Final = ("6.1", "6.6", "6.18")
"""Long-term kernels; those that are built are compared."""
NETWORKS: Final = 8
CONTROLS: Final = ("reno", "cubic")
SLOW_LINES: Final = Path(__file__).parents[1] / "cases/three-mobile-lines/scenario.toml"


def windowless(run: Run) -> Run:
    """The same with no window announced."""
    return replace(run, packets=[replace(each, window=0) for each in run.packets])


def against(case: Case, one: Run, other: Run, names: tuple[str, str]) -> tuple[Outcome, Outcome]:
    """Where two kernels part, with windows and without."""
    as_sent = compared(case, one, other)
    without = compared(case, windowless(one), windowless(other))
    return replace(as_sent, names=names), replace(without, names=names)


def row(pairs: Sequence[tuple[Outcome, Outcome]]) -> dict[str, str]:
    """Of transfers of one kind."""
    case = pairs[0][0].case
    apart = np.array([each.slower for each, _ in pairs])
    apart = apart[~np.isnan(apart)]
    cells = {
        "paths": str(len(case.network)),
        "losses": "as drawn" if case.lossy else "none",
        "control": case.control,
        "file": case.size,
        "networks": str(len(pairs)),
    }
    for kind, outcomes in zip(("", ", windows aside"), zip(*pairs, strict=True), strict=True):
        cells[f"packets until they part, median{kind}"] = f"{np.median([each.alike for each in outcomes]):,.0f}"
        cells[f"the same to the end{kind}"] = f"{np.mean([each.first is None for each in outcomes]):.0%}"
    return cells | {
        "completion apart, median": f"{np.median(np.abs(apart)):.1%}" if len(apart) else "–",
        "largest": f"{np.abs(apart).max():.1%}" if len(apart) else "–",
        "mean": f"{apart.mean():+.1%}" if len(apart) else "–",
    }


def measured(one: Kernel, other: Kernel) -> Iterator[tuple[Outcome, Outcome]]:
    """All transfers on both kernels, those of one kind together."""
    count = int(os.environ.get("MPTCPLAB_NETWORKS", NETWORKS))
    for paths in map(int, os.environ.get("MPTCPLAB_PATHS", "1,2").split(",")):
        chosen = list(cases(paths, networks(paths)[:count], CONTROLS))
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            runs = pool.map(lambda case: (case, linux(case, one), linux(case, other)), chosen)
            for place, (case, mine, theirs) in enumerate(runs, 1):
                yield against(case, mine, theirs, (one.name, other.name))
                sys.stderr.write(f"\r{other.name}, {paths} path{'s' * (paths > 1)}: {place} of {len(chosen)}")
        sys.stderr.write("\n")


def beyond_the_window(kernel: Kernel) -> dict[str, str]:
    """What a kernel does over slow lines and one good one; counters are of both hosts."""
    scenario = Scenario.from_toml(
        SLOW_LINES.read_text(encoding="utf-8"), SLOW_LINES.name, ['connection.m.scheduler="linux"']
    )
    result = mptcplab.run(scenario, f"linux-virtual:{kernel.name}", seed=1)
    counters = result.to_dict()["live"]["mptcp_counters"].values()
    return {
        "Linux": kernel.version,
        "goodput, Mbit/s": f"{result.connections['goodput_bps'][0] / 1e6:.1f}",
        "dropped beyond the window (`NoDSSInWindow`)": str(sum(each.get("NoDSSInWindow", 0) for each in counters)),
        "pieces sent again by the connection (`MPTCPRetrans`)": str(
            sum(each.get("MPTCPRetrans", 0) for each in counters)
        ),
    }


def main() -> None:
    """Print the tables of each pair of kernels."""
    reference = kernels.find(REFERENCE)
    built = {kernel.name: kernel for kernel in kernels.kernels()}
    others = [built[name] for name in OTHERS if name in built]
    if not others:
        raise kernels.UnknownKernelError(
            f"no kernel is built to compare with {REFERENCE}; expected one of {', '.join(OTHERS)}: "
            f"mptcplab kernel build {OTHERS[0]}"
        )
    for other in others:
        kinds: dict[tuple[int, bool, str, str], list[tuple[Outcome, Outcome]]] = {}
        for each in measured(reference, other):
            case = each[0].case
            kinds.setdefault((len(case.network), case.lossy, case.control, case.size), []).append(each)
        called = f"Linux {reference.version} and {other.version}"
        show(f"Packets until {called} part", map(row, kinds.values()))
        say(f"By the time a file takes (+: {other.version} is slower).")
        pairs = [each for kind in kinds.values() for each in kind]
        show(f"The first difference of {called}", causes([first for first, _ in pairs]))
        show(f"The first difference of {called}, windows aside", causes([without for _, without in pairs]))
    show("An ADSL line and three mobile lines", map(beyond_the_window, [reference, *others]))
