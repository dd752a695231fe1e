"""What the repetition of an item answers: claims with verdicts, tables and figures."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args

import polars as pl

from mptcplab.reproduce.published import Item

if TYPE_CHECKING:
    import altair as alt

Verdict = Literal["holds", "holds in part", "differs"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper: published, found, verdict."""

    id: str
    """The key of a published value or the id of a statement; with `/…` behind it for one of several claims of it."""
    text: str
    """The claim as a sentence that is understood without the paper."""
    published: str | float | None
    found: str | float
    verdict: Verdict
    cause: str = ""
    """Why it differs, as far as it was looked into; a claim that differs must have one."""
    covers: tuple[str, ...] = ()
    """Keys and ids of further published values and statements that this claim is about."""


@dataclass(frozen=True)
class Outcome:
    """What was found for one item."""

    claims: Sequence[Claim]
    tables: "Sequence[tuple[str, pl.DataFrame]]" = ()
    """Captions and frames."""
    figures: "Sequence[tuple[str, alt.TopLevelMixin]]" = ()
    """Captions and charts."""
    notes: Sequence[str] = field(default=())
    """What to keep in mind; one sentence each."""
    not_covered: Mapping[str, str] = field(default_factory=dict)
    """Published values and statements that no claim is about, by their keys, and why."""


def compare(
    published: float, found: float, tolerance_holds: float, tolerance_part: float, *, absolute: bool = False
) -> Verdict:
    """The verdict on a number: within `tolerance_holds` of what is published it holds, within `tolerance_part` in part.

    Tolerances are relative to the published number (0.1 is 10 %), or in its unit when `absolute`.

    Raises ValueError for tolerances that are no tolerances, and for a relative one of a published 0.
    """
    if not 0 <= tolerance_holds <= tolerance_part:
        raise ValueError(f"0 ≤ tolerance_holds ≤ tolerance_part is needed, not {tolerance_holds} and {tolerance_part}")
    if published == 0 and not absolute:
        raise ValueError("a published 0 has no relative difference: give tolerances in its unit, with absolute=True")
    if math.isnan(found):
        return "differs"
    away = abs(found - published) if absolute else abs(found / published - 1)
    # A difference that equals the tolerance in decimals may exceed it in binary.
    slack = 1e-12 * max(1.0, abs(published))
    return (
        "holds" if away <= tolerance_holds + slack else "holds in part" if away <= tolerance_part + slack else "differs"
    )


def covered(item: Item, outcome: Outcome) -> set[str]:
    """The published values and statements of an item that claims are about."""
    named = {claim.id.split("/")[0] for claim in outcome.claims}
    named |= {key for claim in outcome.claims for key in claim.covers}
    return named & {*item.values, *item.statements}


def problems(item: Item, outcome: Outcome) -> list[str]:
    """What makes an outcome unfit to be shown: for the tests of a paper, which demand that there is nothing."""
    found = []
    known = {*item.values, *item.statements}
    ids = [claim.id for claim in outcome.claims]
    for claim in outcome.claims:
        if claim.verdict not in VERDICTS:
            found.append(f"{item.id}: {claim.id}: {claim.verdict!r} is not a verdict")
        if claim.verdict == "differs" and not claim.cause.strip():
            found.append(f"{item.id}: {claim.id} differs and gives no cause")
        unknown = {claim.id.split("/")[0], *claim.covers} - known
        found += [f"{item.id}: the claim {claim.id} is about {name}, which published.toml has not" for name in unknown]
        if ids.count(claim.id) > 1:
            found.append(f"{item.id}: {claim.id} twice")
    for key, reason in outcome.not_covered.items():
        if key not in known:
            found.append(f"{item.id}: {key} is declared as not covered, which published.toml has not")
        elif key in covered(item, outcome):
            found.append(f"{item.id}: {key} is declared as not covered, but a claim is about it")
        elif not reason.strip():
            found.append(f"{item.id}: {key} is not covered and gives no reason")
    missing = sorted(known - covered(item, outcome) - outcome.not_covered.keys())
    found += [f"{item.id}: no claim is about the published {name}" for name in missing]
    return found
