"""Tables 3.2, 4.1 and 5.2: how much the statistics of AB change from one design to another."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl
from mptcplab import analysis
from mptcplab.reproduce import Context, Outcome, Ratio

from . import data
from .findings import Claims, quartiles
from .networks import HIGH, LOW
from .small_items import SIZES_KB

_STATISTICS: Final = ("p25", "median", "p75")
_TITLES: Final = {"median": "median", "p25": "25th percentile", "p75": "75th percentile"}
_CHANCE: Final = 39.0**0.5
"""F(2, 2) at 97.5 %, rooted: with 95 % probability, two standard deviations of three values each, drawn from one
distribution, differ by no larger factor."""


def _cause(published: float, found: float) -> str:
    """Whether chance explains what is between two standard deviations of three values each."""
    if published <= 0 or found <= 0:
        return "A standard deviation of 0 has no ratio to another."
    factor = max(published / found, found / published)
    by_chance = (
        f"Chance alone makes two standard deviations of three values each differ by a factor of up to {_CHANCE:.1f} (F "
        f"distribution, 2 and 2 degrees of freedom, 95 %). These differ by {factor:.3g}"
    )
    return f"{by_chance}." if factor <= _CHANCE else f"{by_chance}, which is more; the cause is not known."


def _deviations(table: pl.DataFrame) -> dict[str, float]:
    """Standard deviation (n − 1) of each statistic over the designs, in % of AB's range, −1 to 1."""
    found = analysis.sensitivity(table, "ab", "design").row(0, named=True)
    return {key: 100 * found[f"{key}_deviation"] for key in _STATISTICS}


def _outcome(context: Context, rows: Mapping[tuple[str, str], pl.DataFrame], names: Sequence[str]) -> Outcome:
    """A claim per printed number; `rows` maps the row's prefix in published.toml and its name to its runs."""
    claims = Claims(context)
    shown = []
    for (prefix, name), table in rows.items():
        ours = _deviations(table)
        theirs = {key: context.published[f"{prefix}.{key}"] for key in _STATISTICS}
        for key in _STATISTICS:
            claims.number(
                f"{prefix}.{key}",
                f"{name}: the {_TITLES[key]} of AB moves by so little from one design to another (standard deviation "
                "relative to the range of AB).",
                f"{theirs[key]:.3f} %",
                f"{ours[key]:.3f} %",
                Ratio(theirs[key], ours[key]),
                cause=_cause(theirs[key], ours[key]),
            )
        shown += [
            dict(zip(names, name.split(", "), strict=False))
            | {
                "statistic of AB": _TITLES[key],
                "published (%)": theirs[key],
                "found (%)": round(ours[key], 3),
                "over three designs": ", ".join(
                    f"{quartiles(table.filter(pl.col('design') == design)['ab'])[_STATISTICS.index(key)]:.3f}"
                    for design in sorted(table["design"].unique().to_list())
                ),
            }
            for key in ("median", "p25", "p75")
        ]
    return Outcome(
        claims.all,
        tables=[("Standard deviations over three designs, relative to the range of AB", pl.DataFrame(shown))],
        notes=[
            "The thesis concludes that results are not sensitive to the design; that all of these deviations are of a "
            "few per cent at most stands in the table. Number by number little can agree: each is of three values."
        ],
    )


def table_3_2(context: Context) -> Outcome:
    """iPerf."""
    table = data.bulk(context)
    rows = {
        (short, domain.name): table.filter(pl.col("domain") == domain.name)
        for short, domain in (("low", LOW), ("high", HIGH))
    }
    return _outcome(context, rows, ["domain"])


def table_4_1(context: Context) -> Outcome:
    """Small files."""
    table = data.files(context, SIZES_KB).filter(pl.col("scheduler") == "min-rtt")
    rows = {
        (f"{size}.{short}", f"{size} kB, {domain.name}"): table.filter(
            (pl.col("size") == size) & (pl.col("domain") == domain.name)
        )
        for size in SIZES_KB
        for short, domain in (("low", LOW), ("high", HIGH))
    }
    return _outcome(context, rows, ["file", "domain"])


def table_5_2(context: Context) -> Outcome:
    """Random losses."""
    table = data.lossy(context)
    rows = {
        (f"{control}.{short}", f"{control}, {domain.name}"): table.filter(
            (pl.col("control") == control) & (pl.col("domain") == domain.name)
        )
        for control in ("lia", "olia", "balia", "wvegas")
        for short, domain in (("low", LOW), ("high", HIGH))
    }
    return _outcome(context, rows, ["control", "domain"])
