"""One network on several threads: what was measured with one and two, and what there could be gained with more.

python -m tools.bench.threads measure [WORKLOAD [SECONDS [ROUNDS]]]
python -m tools.bench.threads limit [WORKLOAD [SECONDS]]

`measure` runs one and two threads in turn, by the clock on the wall with the start of the program; it needs two idle
cores. `limit` counts, on one thread, what each of 2 to 64 parts of the network does in each window of the look-ahead.
The others wait for the part that has most in a window, so all events over the sum of these is the most that so many
threads can gain. A meeting takes time too: the second figure adds it to each window.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.bench import measure

WORKLOAD = "w4"
SECONDS = 0.2
ROUNDS = 5
PARTS = (2, 4, 8, 16, 32, 64)
MEETING_NS = 400.0
"""What a thread does for a meeting, and how long news takes from one core to another: assumed."""


def limit(answer: Mapping[str, Any], event_ns: float, meeting_ns: float = MEETING_NS) -> tuple[float, float]:
    """How many times as fast so many threads can be as one: by the events alone, and with the meetings."""
    alone_ns = answer["events"] * event_ns
    critical_ns = answer["critical_events"] * event_ns
    return alone_ns / critical_ns, alone_ns / (critical_ns + answer["windows"] * meeting_ns)


def _asked(program: Path, workload: str, seconds: float, how: str) -> dict[str, Any]:
    command = [str(program), workload, str(seconds), how]
    began_s = time.perf_counter()
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    parsed: dict[str, Any] = json.loads(answer.stdout)
    return {**parsed, "wall_s": time.perf_counter() - began_s}


def measure_two(program: Path, workload: str, seconds: float, rounds: int) -> None:
    """One and two threads in turn, by the wall."""
    ratios, digests = [], set()
    for _ in range(rounds):
        one, two = (_asked(program, workload, seconds, threads) for threads in ("1", "2"))
        digests |= {one["digest"], two["digest"]}
        ratios.append(one["wall_s"] / two["wall_s"])
        sys.stdout.write(
            f"{workload}: one thread {one['wall_s']:.2f} s ({one['cpu_s']:.2f} s of CPU), "
            f"{two['threads']} threads {two['wall_s']:.2f} s ({two['cpu_s']:.2f} s of CPU each): {ratios[-1]:.2f} ×\n"
        )
    if len(digests) > 1:
        raise RuntimeError("two threads give other results than one")
    sys.stdout.write(f"median {statistics.median(ratios):.2f} ×, the same results\n")


def limits(program: Path, workload: str, seconds: float) -> None:
    """A line for each number of parts."""
    one = _asked(program, workload, seconds, "1")
    event_ns = one["cpu_s"] * 1e9 / one["events"]
    sys.stdout.write(f"{workload}, {seconds:g} s: {one['events']} events of {event_ns:.0f} ns on one thread\n")
    for parts in PARTS:
        answer = _asked(program, workload, seconds, f"windows-{parts}")
        if answer["digest"] != one["digest"]:
            raise RuntimeError(f"{parts} parts give other results than the whole")
        events, met = limit(answer, event_ns)
        sys.stdout.write(
            f"{answer['parts']:3d} parts, look-ahead {answer['lookahead_ns'] / 1e3:.1f} µs: "
            f"{answer['events'] / answer['windows'] / answer['parts']:.1f} events a window and part, "
            f"{answer['handed_over'] / answer['events']:.1%} handed over, at most {events:.2f} ×, {met:.2f} × with "
            f"meetings of {MEETING_NS:g} ns\n"
        )


def main(arguments: list[str]) -> int:
    """Exit status: 0 done, 2 arguments that make no sense."""
    command, *rest = arguments or [""]
    if command not in ("measure", "limit"):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    program = measure.build()
    workload = rest[0] if rest else WORKLOAD
    seconds = float(rest[1]) if len(rest) > 1 else SECONDS
    if command == "limit":
        limits(program, workload, seconds)
    else:
        measure_two(program, workload, seconds, int(rest[2]) if len(rest) > 2 else ROUNDS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
