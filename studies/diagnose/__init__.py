"""Situations made for real, and whether `mptcplab diagnose` names what is wrong in them: docs/diagnose.md.

`python -m studies diagnose` makes all of them (about ten minutes, as root) and prints the confusion matrix;
`python -m studies.diagnose DIR [NAME …]` also keeps what the script gathered, trimmed, as the tests use it.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from mptcplab.diagnose.causes import CAUSES
from mptcplab.diagnose.diagnosis import Diagnosis, diagnose

from studies.diagnose.network import Situation, collect
from studies.diagnose.situations import ALL
from studies.runs import say, show

__all__ = ["ALL", "faults", "main", "record", "right", "trimmed"]


def faults(found: Diagnosis) -> set[str]:
    """What was found wrong; a full link or a program that sends little is not."""
    return {each.cause for each in found.findings if CAUSES[each.cause].fault}


def right(situation: Situation, found: Diagnosis) -> bool:
    """Whether the cause is named and nothing else is found wrong."""
    named = {each.cause for each in found.findings}
    if situation.cause is None:
        return not faults(found)
    causes = {situation.cause, situation.or_cause}
    return bool(causes & named) and faults(found) <= causes


def record(situations: Iterable[Situation], place: Path) -> None:
    """Make each, and keep what was gathered: `place`/NAME/client.txt and server.txt."""
    for situation in situations:
        sys.stderr.write(f"{situation.name}\n")
        for file in collect(situation, place):
            file.write_text(trimmed(file.read_text(encoding="utf-8")), encoding="utf-8")


def trimmed(text: str) -> str:
    """Without counters that are 0, which count as 0 when they are missing, and without spaces at the ends of lines."""
    kept = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[1:] == ["0", "0.0"]:
            continue
        if line.startswith("net.") and not line.startswith(
            ("net.mptcp", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_cong")
        ):
            continue
        if words[:1] in (["broadcast"], ["multicast"]):
            continue
        kept.append(line.rstrip())
    return "\n".join(kept) + "\n"


def main() -> None:
    """Make all situations and print what was found in each, and the confusion matrix."""
    with tempfile.TemporaryDirectory() as place:
        record(ALL, Path(place))
        table(Path(place))


def table(place: Path) -> bool:
    """Print the table and the matrix of the recordings there are. Answers whether all are right."""
    rows: list[dict[str, str]] = []
    matrix: dict[tuple[str, str], int] = {}
    good = 0
    made = [each for each in ALL if (place / each.name).is_dir()]
    for situation in made:
        found = diagnose([str(place / situation.name / f"{end}.txt") for end in ("client", "server")])
        expected = situation.cause or "nothing wrong"
        named = sorted(faults(found)) or sorted(
            {each.cause for each in found.findings if each.cause == situation.cause}
        )
        for each in named or ["nothing wrong"]:
            matrix[expected, each] = matrix.get((expected, each), 0) + 1
        good += right(situation, found)
        told = ", ".join(dict.fromkeys(each.cause + ("" if each.sure else " (likely)") for each in found.findings))
        rows.append(
            {
                "situation": situation.name,
                "made": expected,
                "found": told,
                "": "" if right(situation, found) else "WRONG",
            }
        )
    show("Situations", rows)
    show(
        "Confusion matrix",
        [{"made": made, "named": named, "times": str(times)} for (made, named), times in sorted(matrix.items())],
    )
    healthy = sum(each.cause is None for each in made)
    say(
        f"{good} of {len(made)} right, {healthy} of them healthy; "
        f"{sum(a != b for a, b in matrix)} cells off the diagonal."
    )
    return good == len(made)
