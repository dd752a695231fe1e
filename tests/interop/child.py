"""All cases of one family and one setting of checksums, in a network namespace that is this process's own.

Prints one JSON object a case and role.
"""

import argparse
import contextlib
import json
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from .capture import Capture
from .cases import CASES, Case, fallback_is_a_fault, loss_and_reordering
from .lab import FALLBACKS, FAULTS, Lab, Role, counters

LOSS = "loss-and-reordering"


def _run(name: str, lab: Lab, role: Role, expect: Sequence[str], act: Callable[[], object]) -> dict[str, object]:
    before, began_s, problem, figures = counters(), time.monotonic(), None, None
    try:
        figures = act()
        after = counters()
        moved = {
            counter: after[counter] - before[counter]
            for counter in (*FALLBACKS, *FAULTS)
            if after.get(counter, 0) != before.get(counter, 0) and counter not in expect
        }
        if moved:
            problem = f"counters of the kernel that should stand still moved: {moved}"
    except (AssertionError, OSError, RuntimeError, KeyError) as error:
        place = traceback.extract_tb(error.__traceback__)[1:]
        where = ", ".join(f"{frame.name}:{frame.lineno}" for frame in place[-3:])
        problem = f"{type(error).__name__}: {error} ({where})"
    return {
        "case": name,
        "role": role,
        "family": lab.family,
        "checksum": lab.checksum,
        "problem": problem,
        "figures": figures,
        "took_s": round(time.monotonic() - began_s, 3),
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", type=int, choices=(4, 6), required=True)
    parser.add_argument("--checksum", action="store_true")
    parser.add_argument("--size", type=int, default=2_000_000, help="bytes each way for loss and reordering")
    parser.add_argument("--capture", type=Path, help="where the packets go")
    parser.add_argument("--no-offloads", action="store_true", help="packets cross the devices whole, one by one")
    parser.add_argument("--only", help="cases, separated by commas")
    given = parser.parse_args(arguments)
    only = given.only.split(",") if given.only else [*CASES, LOSS]
    lab = Lab(given.family, given.checksum, offloads=not given.no_offloads)
    interfaces = [device.name for device in lab.devices]
    with Capture(given.capture, interfaces) if given.capture else contextlib.nullcontext():
        _run_all(lab, only, given.size)
    return 0


def _run_all(lab: Lab, only: Sequence[str], size_bytes: int) -> None:
    roles: tuple[Role, ...] = ("client", "server")
    # Only when it is asked for: the case that must fail.
    broken = Case("fallback-is-a-fault", fallback_is_a_fault, roles)
    for case in (*CASES.values(), *([broken] if broken.name in only else [])):
        for role in case.roles:
            if case.name in only and lab.checksum in case.checksum:
                print(json.dumps(_run(case.name, lab, role, case.expect, lambda: case.run(lab, role))), flush=True)  # noqa: B023, T201
    for role in roles if LOSS in only else ():
        act = lambda: loss_and_reordering(lab, role, size_bytes)  # noqa: B023, E731
        print(json.dumps(_run(LOSS, lab, role, (), act)), flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
