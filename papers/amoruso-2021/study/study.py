"""An item: cells, what is read off them, and that once for each engine, side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import polars as pl
from mptcplab.reproduce import Check, Claim, Context, Number, Outcome, Share
from mptcplab.reproduce import Found as Mean

from .lab import Cell, Found, Lab

if TYPE_CHECKING:
    import altair as alt

AIRTIME: Final = 0.001
"""What a transmission that is under way at the end may add to an airtime of 1."""


@dataclass
class Judged:
    """What is read off the cells of one engine."""

    claims: list[Claim] = field(default_factory=list)
    tables: "list[tuple[str, pl.DataFrame]]" = field(default_factory=list)
    figures: "list[tuple[str, alt.TopLevelMixin]]" = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_covered: dict[str, str] = field(default_factory=dict)


Results = Mapping[str, Found]
Judge = Callable[[Results, Context], Judged]
Cells = Callable[[bool], Mapping[str, Cell]]


@dataclass(frozen=True)
class Study:
    """One item."""

    cells: Cells
    """For a quick repetition or a full one."""
    judge: Judge
    """Of one engine's results."""
    more: Cells | None = None
    """What is run on the simulator only: sensitivity, and what the kernel does not have."""
    judge_more: Callable[[Results, Results, Context], Judged] | None = None
    """Of these, and those of `cells`."""
    quick_on_linux: bool = False
    """Whether a quick repetition runs it in real time."""

    def __call__(self, context: Context) -> Outcome:
        """Run it, and judge what was found."""
        lab = Lab(context)
        cells = self.cells(context.quick)
        extra = self.more(context.quick) if self.more is not None else {}
        both = lab.on_sim({**cells, **{f"more {name}": cell for name, cell in extra.items()}})
        found = {name: both[name] for name in cells}
        judged = self.judge(found, context)
        if context.engine == "sim":
            claims, tables, notes = list(judged.claims), list(judged.tables), list(judged.notes)
        elif context.quick and not self.quick_on_linux:
            claims, tables = [_named(claim, "sim") for claim in judged.claims], list(judged.tables)
            notes = [*judged.notes, f"A quick repetition runs few items on {context.engine}: this one is on sim only."]
        else:
            claims, tables, notes = self._beside(lab, cells, found, judged)
        if self.judge_more is not None:
            further = self.judge_more({name: both[f"more {name}"] for name in extra}, found, context)
            known = {each.id for each in claims}
            # A claim of the simulator only stands once, under its own name.
            claims += [each for each in further.claims if each.id not in known]
            tables += further.tables
            notes += further.notes
            judged.figures += further.figures
        notes += _air(both)
        return Outcome(claims, tables, judged.figures, notes, judged.not_covered)

    def _beside(
        self, lab: Lab, cells: Mapping[str, Cell], found: Results, judged: Judged
    ) -> tuple[list[Claim], list[tuple[str, pl.DataFrame]], list[str]]:
        """The claims of both engines, and a table with their numbers side by side."""
        engine = lab.context.engine
        there = {name: cell for name, cell in cells.items() if engine != "linux" or cell.on_linux}
        sim = [_named(claim, "sim") for claim in judged.claims]
        if len(there) < len(cells):
            return sim, list(judged.tables), [*judged.notes, f"{engine} lacks what this needs: on sim only."]
        real = lab.in_real_time(there, engine)
        beside = self.judge(real, lab.context)
        claims = [each for pair in zip((_named(c, engine) for c in beside.claims), sim, strict=False) for each in pair]
        claims += sim[len(beside.claims) :]
        rows = [
            {
                "transfer": name,
                f"{engine}, Mbit/s": real[name].mbps,
                "sim, Mbit/s": found[name].mbps,
                "difference, %": 100 * (real[name].mbps / found[name].mbps - 1) if found[name].mbps else None,
                f"{engine}, s": real[name].seconds if real[name].completion_s else None,
                "sim, s": found[name].seconds if found[name].completion_s else None,
            }
            for name in there
        ]
        invalid = sorted({note for each in real.values() for note in each.invalid})
        frame = pl.DataFrame(rows, infer_schema_length=None)
        return (
            claims,
            [(f"{engine} and sim side by side", frame), *judged.tables],
            [*judged.notes, *(f"On {engine}: {note}" for note in invalid)],
        )


def _air(found: Results) -> list[str]:
    """The airtime law of scenario B: all who share the air use at most all of it, in every run."""
    used = [(name, each) for name, of in found.items() for each in of.airtime if each is not None]
    if not used:
        return []
    broken = [f"{name}: {each:.4f}" for name, each in used if each > 1 + AIRTIME]
    if broken:
        return [f"The airtime law is broken: {'; '.join(broken)}."]
    most = max(each for _, each in used)
    return [f"Airtime law: in {len(used)} runs the air is in use for {most:.1%} of the time at most."]


def _named(claim: Claim, engine: str) -> Claim:
    return replace(claim, id=f"{claim.id}/{engine}", text=f"{claim.text} ({engine})")


def truth(
    key: str,
    text: str,
    found: str,
    check: Check,
    *,
    cause: str = "",
    covers: Sequence[str] = (),
    published: str | float | None = None,
) -> Claim:
    """A claim on a statement."""
    return Claim(key, text, published, found, check, cause or UNTRACED, tuple(covers))


def number(key: str, text: str, published: float, found: float, *, cause: str, percent: bool = False) -> Claim:
    """A claim on a printed number; `percent`: on a printed change, which may be negative."""
    check: Check = Share(published, found, whole=100) if percent else Number(published, found)
    return Claim(key, text, published, found, check, cause)


UNTRACED: Final = "unknown: not traced to a cause."
ONE: Final = Mean(1.0)
"""What a ratio is compared with: exactly known."""
