"""The report of a paper's repetition: one HTML page, and its charts as pictures."""

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import altair as alt
import polars as pl
import vl_convert

from mptcplab.plots import style
from mptcplab.render import page
from mptcplab.reproduce import causes, judged, machine
from mptcplab.reproduce.context import Work
from mptcplab.reproduce.judge import Verdict
from mptcplab.reproduce.judge.verdict import figure
from mptcplab.reproduce.outcome import Claim, Outcome, covered
from mptcplab.reproduce.papers import Paper
from mptcplab.reproduce.published import Item
from mptcplab.results import inventory
from mptcplab.results.inventory import OccupiedError

NOT_ENOUGH: Final = "not enough runs"
_CLASSES: Final = {
    "holds": "holds",
    "holds in part": "in-part",
    "not known precisely": "not-known",
    "differs": "differs",
    NOT_ENOUGH: "not-known",
}
_ROWS: Final = 300
"""The most rows of a table; the CSV files have them all."""
_INK: Final = "#222222"
RUNS: Final = "runs"
"""The folder of the journal."""
_ALWAYS: Final = ("hold", "hold in part", "differ")
_SAID: Final = {
    "holds": "hold",
    "holds in part": "hold in part",
    "not known precisely": "not known precisely",
    NOT_ENOUGH: NOT_ENOUGH,
    "differs": "differ",
}
"""Of several claims."""


@dataclass(frozen=True)
class Done:
    """An item that was repeated."""

    item: Item
    outcome: Outcome
    work: Work
    took_s: float
    """On the clock."""
    quick: bool = False
    by_text: Outcome | None = None
    """By the text alone, where that reads the machine otherwise."""
    labels: Collection[str | float] = ()
    """Of the item's runs."""

    def by_the_text(self, claim: Claim) -> Claim | None:
        """The same claim by the text alone; None where both are the same, or the text gives no such claim."""
        others = () if self.by_text is None else self.by_text.claims
        return next((other for other in others if other.id == claim.id), None)

    def told(self, claim: Claim) -> str:
        """A claim's verdict as it is shown: the few networks and seeds of a quick repetition refute nothing."""
        few = self.quick and bool(self.work)
        return NOT_ENOUGH if few and claim.verdict in ("not known precisely", "differs") else claim.verdict


@dataclass(frozen=True)
class Repetition:
    """A paper's items that were repeated, and how."""

    paper: Paper
    done: Sequence[Done]
    quick: bool
    jobs: int
    origin: dict[str, object]
    """Versions and commit."""
    engine: str = "sim"

    @property
    def claims(self) -> pl.DataFrame:
        """Every claim, a row each: item, claim, text, published, found, verdict, cause, and how it was judged."""
        return claims_frame(self)

    def count(self, verdict: str) -> int:
        """How many of the paper's claims are shown with this verdict; what it leaves for later are none."""
        return sum(each.told(claim) == verdict for each in self._published() for claim in each.outcome.claims)

    def _published(self) -> list[Done]:
        return [each for each in self.done if not each.item.is_future]

    def summary(self) -> str:
        """Items, claims and verdicts in a sentence."""
        claims = sum(len(each.outcome.claims) for each in self._published())
        counts = {said: self.count(verdict) for verdict, said in _SAID.items()}
        verdicts = ", ".join(f"{count} {said}" for said, count in counts.items() if count or said in _ALWAYS)
        items = f"{len(self.done)} of {len(self.paper.items)} items" if self._partial() else f"{len(self.done)} items"
        other = self.by_text()
        also = ", ".join(f"{count} {_SAID[verdict]}" for verdict, count in other.items() if count) if other else ""
        read = f"; by the text alone {also}" if also else ""
        later = sum(len(each.outcome.claims) for each in self.done if each.item.is_future)
        beside = f"; {later} more on what the paper leaves for later" if later else ""
        left = sum(len(each.outcome.not_covered) for each in self.done)
        rest = f"; {left} published values and statements are not covered" if left else ""
        return f"{items}, {claims} claims: {verdicts}{read}{beside}{rest}"

    def by_text(self) -> dict[str, int]:
        """The counts by the text alone, of all claims; empty where it reads nothing otherwise than what ran."""
        if all(each.by_text is None for each in self.done):
            return {}
        verdicts: list[Verdict] = [
            (each.by_the_text(claim) or claim).verdict for each in self._published() for claim in each.outcome.claims
        ]
        return {str(verdict): count for verdict, count in judged.counts(verdicts).items()}

    def by_cause(self) -> list[tuple[str, list[tuple[str, str, int]]]]:
        """The kinds of causes with the verdicts that they explain: class, name and number of each."""
        told = Counter(
            (claim.cause_kind, each.told(claim))
            for each in self._published()
            for claim in each.outcome.claims
            if claim.cause_kind
        )
        found = [
            (
                said,
                [
                    (kind, _SAID[verdict], told[key, verdict])
                    for verdict, kind in _CLASSES.items()
                    if told[key, verdict]
                ],
            )
            for key, said in causes.KINDS.items()
        ]
        return [(said, parts) for said, parts in found if parts]

    def principal(self) -> list[tuple[Done, Claim]]:
        """The claims that matter most, in the order of `published.toml`."""
        there = {f"{each.item.id}/{claim.id}": (each, claim) for each in self.done for claim in each.outcome.claims}
        return [there[key] for key in self.paper.published.principal if key in there]

    def cost(self) -> str:
        """Time, runs and simulated hours in a sentence."""
        work: Work = {}
        for each in self.done:
            work |= each.work
        earlier = sum(cost.earlier for cost in work.values())
        kept = f" ({earlier} of them kept from before)" if earlier else ""
        cores = f"{self.jobs} process{'es' if self.jobs > 1 else ''}"
        return (
            f"{_time(sum(each.took_s for each in self.done))} on {cores}, {len(work)} runs{kept}, "
            f"{sum(cost.simulated_s for cost in work.values()) / 3600:.1f} simulated hours, "
            f"{_time(sum(cost.computed_s for cost in work.values()))} of computing on one core"
        )

    def _partial(self) -> bool:
        return len(self.done) < len(self.paper.items)


def claims_frame(repetition: Repetition) -> pl.DataFrame:
    """Every claim, a row each."""
    rows = [
        (
            each.item.id,
            claim.id,
            claim.text,
            value(claim.published),
            value(claim.found),
            claim.verdict,
            claim.told_cause,
            claim.check.kind,
            claim.check.text(),
            "" if (other := each.by_the_text(claim)) is None else value(other.found),
            "" if other is None else other.verdict,
        )
        for each in repetition.done
        for claim in each.outcome.claims
    ]
    columns = (
        "item",
        "claim",
        "text",
        "published",
        "found",
        "verdict",
        "cause",
        "rule",
        "judged",
        "found_by_text",
        "verdict_by_text",
    )
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def value(given: str | float | None) -> str:
    """A number or a text of a claim, as it is shown."""
    if given is None:
        return ""
    return given if isinstance(given, str) else figure(given)


def check(directory: Path) -> None:
    """Raise OccupiedError unless a paper may be repeated in `directory`.

    That is: it is absent, empty, or holds a repetition whose report has not been changed since.
    """
    if not os.path.lexists(directory):
        return
    if not directory.is_dir():
        raise OccupiedError(f"{directory} is not a directory; name another one")
    if any(directory.iterdir()) and not (directory / RUNS / "lock").exists():
        raise OccupiedError(f"{directory} does not hold a paper's repetition (no {RUNS}/lock); name another directory")
    differ = inventory.changed(directory)
    if differ:
        raise OccupiedError(
            f"{directory} has files changed since they were written: {inventory.shown(differ)}; move them"
        )


def write(repetition: Repetition, directory: Path) -> Path:
    """Write report.html, claims.csv, claims.json, figures/ and tables/ to `directory`; answers the report's path.

    Raises OccupiedError when that would overwrite a file that no repetition wrote.
    """
    charts = list(_charts(repetition))
    contents: dict[str, bytes] = {}
    for name, spec in charts:
        text = json.dumps({**spec, "config": {**spec.get("config", {}), **style.config(_INK), "background": "white"}})
        drawing = vl_convert.vegalite_to_svg(text)
        contents[f"figures/{name}.svg"] = drawing.encode()
        contents[f"figures/{name}.png"] = vl_convert.svg_to_png(drawing, scale=2.0)
    for each in repetition.done:
        for number, (_, frame) in enumerate(each.outcome.tables, start=1):
            contents[f"tables/{each.item.id}-{number}.csv"] = _flat(frame).write_csv().encode()
    contents["claims.csv"] = claims_frame(repetition).write_csv().encode()
    contents[judged.FILE] = judged.record(repetition.done)
    contents["report.html"] = _page(repetition, charts).encode()
    inventory.overwrite(directory, contents)
    return directory / "report.html"


def _charts(repetition: Repetition) -> Iterator[tuple[str, dict[str, Any]]]:
    # The limit of rows is for notebooks; here the data stand in the page once.
    with alt.data_transformers.enable("default", max_rows=None):
        for each in repetition.done:
            for number, (_, chart) in enumerate(each.outcome.figures, start=1):
                spec: dict[str, Any] = chart.to_dict()
                spec.pop("config", None)
                yield f"{each.item.id}-{number}", spec


def _page(repetition: Repetition, charts: Sequence[tuple[str, dict[str, Any]]]) -> str:
    printed = repetition.paper.published
    numbers = iter(range(len(charts)))
    return page.render(
        "repetition.html",
        title=printed.title,
        authors=", ".join(printed.authors),
        year=printed.year,
        engine=repetition.engine,
        quick=repetition.quick,
        summary=repetition.summary(),
        cost=repetition.cost(),
        contents=[
            *([("machine", "Machine")] if repetition.paper.machine.entries else []),
            ("claims", "Claims"),
            *((each.item.id, each.item.name) for each in repetition.done),
            ("provenance", "Provenance"),
        ],
        principal=_claims(repetition.principal()),
        causes=_bars(repetition.by_cause()),
        machine=machine.rows(repetition.paper.machine),
        items=[_item(each, numbers) for each in repetition.done],
        provenance=repetition.origin,
        plots={
            "config": style.config("currentColor"),
            "charts": [{"file": name, "spec": spec} for name, spec in charts],
        },
    )


def _item(done: Done, numbers: Iterator[int]) -> dict[str, Any]:
    """What the template shows of an item; its figures take the next numbers."""
    item, outcome = done.item, done.outcome
    reasons = dict.fromkeys(outcome.not_covered.values())
    untested = {*item.values, *item.statements} - covered(item, outcome) - outcome.not_covered.keys()
    return {
        "id": item.id,
        "name": item.name,
        "caption": item.caption,
        "place": item.place,
        "cost": _cost(done),
        "statements": list(item.statements.values()),
        # Not "values": the template would find the method of that name.
        "printed": list(item.values.values()),
        "not_covered": [
            (", ".join(key for key, why in outcome.not_covered.items() if why == reason), reason) for reason in reasons
        ],
        "untested": ", ".join(sorted(untested)),
        "claims": _claims([(done, claim) for claim in outcome.claims]),
        "figures": [(next(numbers), caption) for caption, _ in outcome.figures],
        "tables": [_table(caption, frame) for caption, frame in outcome.tables],
        "notes": outcome.notes,
    }


def _cost(done: Done) -> str:
    if not done.work:
        return f"{_time(done.took_s)}, calculated"
    simulated_s = sum(cost.simulated_s for cost in done.work.values())
    return f"{len(done.work)} runs, {simulated_s / 3600:.2f} simulated hours, {_time(done.took_s)}"


def _claims(claims: Sequence[tuple[Done, Claim]]) -> list[dict[str, object]]:
    """A row per claim; a cause shared by several claims is given once."""
    rows: list[dict[str, object]] = []
    told: dict[tuple[str, str], str] = {}
    for each, claim in claims:
        item = each.item
        other = each.by_the_text(claim)
        cause = claim.told_cause
        first = told.setdefault((item.id, cause), claim.text)
        same = cause and first != claim.text
        rows.append(
            {
                "item": item,
                "text": claim.text,
                "published": value(claim.published),
                "found": value(claim.found),
                "judged": f"{claim.check.kind}: {claim.check.text()}",
                "verdict": each.told(claim),
                "class": _CLASSES[each.told(claim)],
                "text_found": "" if other is None else value(other.found),
                "text_verdict": "" if other is None else other.verdict,
                "text_class": "" if other is None else _CLASSES[other.verdict],
                "cause": f"The cause is that of \u201c{first}\u201d." if same else cause,
            }
        )
    return rows


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists as text: CSV has none."""
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    return frame.with_columns(
        pl.Series(name, [None if cell is None else str(list(cell)) for cell in frame[name]], dtype=pl.String)
        for name in nested
    )


def _table(caption: str, frame: pl.DataFrame) -> dict[str, Any]:
    return {
        "caption": caption,
        "head": [
            (name, "number" if dtype.is_numeric() else "text")
            for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        ],
        "rows": [[_cell(cell) for cell in row] for row in frame.head(_ROWS).iter_rows()],
        "more": max(0, frame.height - _ROWS),
    }


def _cell(cell: object) -> str:
    if cell is None:
        return "–"
    return figure(cell) if isinstance(cell, float) else str(cell)


def _time(seconds: float) -> str:
    if seconds < 99.5:
        return f"{seconds:.0f} s" if seconds >= 9.95 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds >= 595 else f"{seconds / 60:.1f} min"


def _bars(by_cause: Sequence[tuple[str, Sequence[tuple[str, str, int]]]]) -> list[dict[str, object]]:
    """A row for each kind of cause; its parts as widths in per cent of the largest row."""
    sums = [sum(count for *_, count in parts) for _, parts in by_cause]
    return [
        {
            "cause": cause,
            "count": total,
            "parts": [(kind, f"{count} {said}", 100 * count / max(sums)) for kind, said, count in parts],
        }
        for (cause, parts), total in zip(by_cause, sums, strict=True)
    ]
