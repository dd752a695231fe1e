"""Tables 3.2, 4.1 and 5.2: how much the statistics of AB change from one design to another."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl
from mptcplab import analysis
from mptcplab.reproduce import Context, Deviation, Outcome, deviations

from . import data
from .findings import Claims, quartiles
from .networks import HIGH, LOW
from .small_items import SIZES_KB

_STATISTICS: Final = ("p25", "median", "p75")
_TITLES: Final = {"median": "median", "p25": "25th percentile", "p75": "75th percentile"}
_THEIRS: Final = 3
"""Designs of the thesis."""


def _deviations(table: pl.DataFrame) -> dict[str, float]:
    """Standard deviation (n − 1) of each statistic over the designs, in % of AB's range, −1 to 1."""
    found = analysis.sensitivity(table, "ab", "design").row(0, named=True)
    return {key: 100 * found[f"{key}_deviation"] for key in _STATISTICS}


def _outcome(context: Context, rows: Mapping[tuple[str, str], pl.DataFrame], names: Sequence[str]) -> Outcome:
    """A claim per printed number; `rows` maps the row's prefix in published.toml and its name to its runs."""
    if context.machine.by_text:
        return Outcome(())
    claims = Claims(context)
    shown = []
    pairs: list[tuple[float, float]] = []
    count = next(iter(rows.values()))["design"].n_unique()
    for (prefix, name), table in rows.items():
        ours = _deviations(table)
        theirs = {key: context.published[f"{prefix}.{key}"] for key in _STATISTICS}
        pairs += [(theirs[key], ours[key]) for key in _STATISTICS]
        for key in _STATISTICS:
            claims.number(
                f"{prefix}.{key}",
                f"{name}: the {_TITLES[key]} of AB moves by so little from one design to another (standard deviation "
                "relative to the range of AB).",
                f"{theirs[key]:.3f} %",
                f"{ours[key]:.3f} %",
                Deviation(theirs[key], ours[key], _THEIRS, table["design"].n_unique()),
            )
        shown += [
            dict(zip(names, name.split(", "), strict=False))
            | {
                "statistic of AB": _TITLES[key],
                "published (%)": theirs[key],
                "found (%)": round(ours[key], 3),
                "over the designs": ", ".join(
                    f"{quartiles(table.filter(pl.col('design') == design)['ab'])[_STATISTICS.index(key)]:.3f}"
                    for design in sorted(table["design"].unique().to_list())
                ),
            }
            for key in ("median", "p25", "p75")
        ]
    pooled = deviations(pairs, _THEIRS, count)
    claims.statement("insensitive", pooled, f"all {len(pairs)} together are {pooled.ratio:.2f} times those printed")
    caption = f"Standard deviations over {count} designs (the thesis: {_THEIRS}), relative to the range of AB"
    return Outcome(
        claims.all,
        tables=[(caption, pl.DataFrame(shown))],
        notes=["A standard deviation of three values says little by itself; all of a table together say more."],
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
