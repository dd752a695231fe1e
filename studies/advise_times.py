"""What an answer takes: CPU time and work, for two, three and five paths at 10 Mbit/s, 1 and 10 Gbit/s.

`python -m studies.advise_times` asks about downloads over paths of the same rate and 20, 30, … ms, with one job, and
prints a table. CPU time is of the process, so other load on the machine matters little.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Final

from mptcplab.advice.advising import advise

from .runs import show

RATES: Final = ("10 Mbit/s", "1 Gbit/s", "10 Gbit/s")
COUNTS: Final = (2, 3, 5)


def row(count: int, rate: str, budget: float = 1.0) -> dict[str, str]:
    """Of one question."""
    paths = [f"{name}: {rate}, {20 + 10 * place} ms" for place, name in enumerate("abcde"[:count])]
    began_s, cpu_s = time.monotonic(), time.process_time()
    advice = advise(paths=paths, traffic="bulk", jobs=1, budget=budget)
    return {
        "paths": str(count),
        "rate of each": rate,
        "CPU time": f"{time.process_time() - cpu_s:.1f} s",
        "wall time here": f"{time.monotonic() - began_s:.0f} s",
        "million packet hops": f"{advice.work_hops / 1e6:.1f}",
        "scale": f"1/{advice.effort.scale}" if advice.effort.scale > 1 else "1",
        "part of the run": f"{advice.effort.length:.0%}",
        "advice": advice.best.label,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m studies.advise_times", description="What an answer takes.")
    parser.add_argument("--budget", type=float, default=1.0, help="of each answer")
    given = parser.parse_args(arguments)
    show("an answer", (row(count, rate, given.budget) for count in COUNTS for rate in RATES))


if __name__ == "__main__":
    main(sys.argv[1:])
