"""How often segments leave the usual road: calls of the functions that take the others, counted by callgrind.

python -m tools.bench.cold [WORKLOAD…]

The counts cost a program nothing that runs without callgrind.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.bench import measure

SECONDS: Final = {"w1": 30.0, "w2": 100.0, "w3": 0.5, "w4": 0.1, "w5": 30.0}
"""Virtual seconds that are run."""
WORKLOADS: Final = tuple(SECONDS)
REASONS: Final[Mapping[str, str]] = {
    "receive_whole": "received whole: handshake, closing, ECN, fallback, boxes, other options, outside of the windows",
    "receive_in_doubt": "received when nothing was remembered, or with SACK blocks",
    "acknowledged_otherwise": "acknowledges while something is lost, marked, sent again or probed for",
    "data_at_hole": "data behind a hole, or into it",
    "sent_unclean": "new data sent while something is lost, marked, sent again or probed for",
    "whole_data_segment": "data sent with a FIN or DATA_FIN, with MP_CAPABLE, or beside SACK blocks",
    "transmit_first": "sent before all data: SYN, FIN, retransmission, probe, control option",
    "remember": "a recovery or a timeout begins",
}
"""By function; none of them is compiled into its caller, as tests/speed/test_cold.py sees."""
_NAME: Final = re.compile(r"^(?:fn|cfn)=\((\d+)\)(?: (.*))?$")
_GENERICS: Final = re.compile(r"<[^<>]*>")


def method(symbol: str) -> str:
    """The name of a function without its path, what it is generic over, and callgrind's mark of recursion."""
    plain = symbol.partition("'")[0]
    while (shorter := _GENERICS.sub("", plain)) != plain:
        plain = shorter
    parts = [part for part in plain.split("::") if part and not re.fullmatch(r"h[0-9a-f]{16}", part)]
    return parts[-1] if parts else symbol


def calls(lines: Iterator[str]) -> Counter[tuple[str, str]]:
    """Calls by caller and callee, of a file that callgrind wrote."""
    names: dict[str, str] = {}
    found: Counter[tuple[str, str]] = Counter()
    caller = callee = ""
    for line in lines:
        if named := _NAME.match(line.rstrip("\n")):
            number, symbol = named[1], named[2]
            if symbol:
                names[number] = method(symbol)
            if line.startswith("cfn"):
                callee = names[number]
            else:
                caller = names[number]
        elif line.startswith("calls="):
            found[caller, callee] += int(line[6:].split()[0])
    return found


def count(program: Path, workload: str, seconds: float) -> Counter[tuple[str, str]]:
    """Calls in one run of a workload."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", str(program), workload, str(seconds)]
        subprocess.run(command, check=True, capture_output=True)
        with out.open(encoding="utf-8", errors="replace") as file:
            return calls(file)


def shares(found: Counter[tuple[str, str]]) -> tuple[int, dict[str, int]]:
    """Segments received, and how often each reason took one of them, or of those sent."""
    by_callee: Counter[str] = Counter()
    for (_, callee), times in found.items():
        by_callee[callee] += times
    # What turns out to be unusual is received a second time.
    received = by_callee["receive_usual"] + by_callee["receive_whole"] - found["receive_usual", "receive_expanded"]
    return received, {name: by_callee[name] for name in REASONS}


def rows(program: Path, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """A row a reason, a column a workload: how often for a thousand segments received."""
    counted = {}
    for name in names:
        sys.stderr.write(f"{name}: {measure.WORKLOADS[name]}\n")
        counted[name] = shares(count(program, name, SECONDS[name]))
    yield {"what": "segments received", **{f"`{name}`": f"{received:,}" for name, (received, _) in counted.items()}}
    for reason, words in REASONS.items():
        figures = {
            f"`{name}`": f"{1_000 * times[reason] / received:.3g}" if times[reason] else "0"
            for name, (received, times) in counted.items()
        }
        yield {"what": f"{words} (`{reason}`)", **figures}


def main(names: Sequence[str]) -> int:
    """Exit status: 0 done, 2 no such workload or no valgrind."""
    unknown = [name for name in names if name not in SECONDS]
    if unknown or not measure.has_callgrind():
        about = (
            f"no workload {', '.join(unknown)}; choose from {', '.join(SECONDS)}"
            if unknown
            else ("valgrind is not installed, which counts calls (apt-get install valgrind)")
        )
        sys.stderr.write(f"{about}\n")
        return 2
    for row in rows(measure.build(), names or WORKLOADS):
        what, *figures = row.values()
        sys.stdout.write(f"{'  '.join(figure.rjust(10) for figure in figures)}  {what}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
