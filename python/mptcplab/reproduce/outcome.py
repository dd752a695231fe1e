"""The result of repeating an item: claims with verdicts, tables and figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from mptcplab.reproduce import causes
from mptcplab.reproduce.judge import Check, Verdict
from mptcplab.reproduce.published import Item

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class Claim:
    """One claim of the paper: published, found, and the check from which the verdict follows."""

    id: str
    """The key of a published value or the id of a statement; with `/…` behind it for one of several claims of it."""
    text: str
    """The claim as a sentence that is understood without the paper."""
    published: str | float | None
    found: str | float
    check: Check
    cause: str = ""
    """Why it differs, as far as it was looked into; a claim that differs must have one. Told unless the claim holds.

    It begins with a word of `causes.KINDS` and a colon.
    """
    covers: tuple[str, ...] = ()
    """Keys and ids of further published values and statements that this claim is about."""

    @property
    def verdict(self) -> Verdict:
        """What the check says; nothing else can."""
        return self.check.verdict

    @property
    def told_cause(self) -> str:
        """The cause, unless there is nothing to explain."""
        if self.verdict == "not known precisely" and causes.kind_of(self.cause) != "chance":
            return ""  # the verdict says it
        return "" if self.verdict == "holds" else causes.text_of(self.cause)

    @property
    def cause_kind(self) -> str:
        """The kind of the cause (`causes.KINDS`); empty if there is nothing to explain."""
        if self.verdict == "holds":
            return ""
        return "chance" if self.verdict == "not known precisely" else causes.kind_of(self.cause)


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


def covered(item: Item, outcome: Outcome) -> set[str]:
    """The published values and statements of an item that claims are about."""
    named = {claim.id.split("/")[0] for claim in outcome.claims}
    named |= {key for claim in outcome.claims for key in claim.covers}
    return named & {*item.values, *item.statements}


def recorded(item: Item, outcome: Outcome) -> list[str | float]:
    """What a run puts on record, and what the item has printed: all that the figures of a cause may come from."""
    record: list[str | float] = [value.number for value in item.values.values()]
    record += item.statements.values()
    for claim in outcome.claims:
        record += [claim.text, claim.check.text()]
        record += [each for each in (claim.published, claim.found) if each is not None]
    for caption, table in outcome.tables:
        record += [caption, *table.columns]
        for column in table:
            if column.dtype.is_numeric():
                record += [float(each) for each in column.drop_nulls().to_list()]
            else:
                record += [str(each) for each in column.drop_nulls().to_list()]
    return record


def problems(
    item: Item,
    outcome: Outcome,
    *,
    random: bool = False,
    literals: Iterable[str] = (),
    labels: Iterable[str | float] = (),
) -> list[str]:
    """What makes an outcome unfit to be shown: for the tests of a paper, which demand that there is nothing.

    `random` says that the item rests on runs with seeds: then every check states how precisely its find is known.
    `literals` are the sentences with numbers of the study (`causes.literals`): such a number in a cause must be on
    record, or among the `labels` of the item's runs.
    """
    found = []
    known = {*item.values, *item.statements}
    ids = [claim.id for claim in outcome.claims]
    record = [*recorded(item, outcome), *labels]
    for claim in outcome.claims:
        if claim.check.counterexample().verdict != "differs":
            found.append(f"{item.id}: {claim.id} cannot come out as differing")
        if claim.verdict == "differs" and not claim.cause.strip():
            found.append(f"{item.id}: {claim.id} differs and gives no cause")
        if random and not claim.check.has_interval:
            found.append(f"{item.id}: {claim.id} rests on runs and states no interval (0 for a calculated value)")
        stray = causes.strays(claim.cause, record, literals)
        if stray:
            found.append(f"{item.id}: the cause of {claim.id} says {', '.join(stray)}, which the record has not")
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
