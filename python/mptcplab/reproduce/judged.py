"""The record of a repetition's claims: each with its check, from which anybody can compute the verdict again.

`claims.json` in the folder of a paper is that of its last complete repetition. A line is a claim, so that a
difference between two repetitions shows what moved.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.reproduce import judge
from mptcplab.reproduce.judge import VERDICTS, Check, Verdict

if TYPE_CHECKING:
    from mptcplab.reproduce.report import Done

FILE = "claims.json"


@dataclass(frozen=True)
class Judged:
    """A claim as it was recorded."""

    item: str
    claim: str
    verdict: Verdict
    """As it was recorded; that of `check` now may be another, if a rule has changed since."""
    check: Check
    by_text: Check | None = None
    """The check by the text alone, where that reads the machine otherwise."""


def record(done: "Iterable[Done]") -> bytes:
    """The record of these items."""
    lines = [
        json.dumps(
            {"item": each.item.id, "claim": claim.id, "verdict": claim.verdict, "check": claim.check.to_dict()}
            | ({} if (other := each.by_the_text(claim)) is None else {"text": other.check.to_dict()})
            | ({"cause": claim.cause_kind} if claim.cause_kind else {}),
            allow_nan=False,
        )
        for each in done
        for claim in each.outcome.claims
    ]
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


def read(file: Path) -> list[Judged]:
    """The claims of a record. Raises OSError, ValueError."""
    return [
        Judged(
            str(each["item"]),
            str(each["claim"]),
            each["verdict"],
            judge.from_dict(each["check"]),
            judge.from_dict(each["text"]) if "text" in each else None,
        )
        for each in json.loads(file.read_text(encoding="utf-8"))
    ]


def counts(verdicts: Sequence[Verdict]) -> Mapping[Verdict, int]:
    """How many of each."""
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}
