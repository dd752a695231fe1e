"""What a statement of the thesis comes to in numbers; mptcplab.reproduce.judge has the rules for them.

The thesis shows box plots and says what it sees: *falls* and *rises* are trends over the networks, *no influence* a
flat one, *alike* are medians that are equal, and two distributions are alike if their quartiles are.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
from mptcplab import analysis
from mptcplab.reproduce import (
    Check,
    Claim,
    Context,
    Equality,
    Found,
    every,
    mean_of,
    median_of,
    part_of,
    quantile_of,
    resampled,
)
from mptcplab.reproduce import Trend as TrendCheck
from scipy import stats

Floats = npt.NDArray[np.float64]

ONLY: Final = 0.95
"""The part of the traffic from which on a path carries *all* (page 51 says above 0.95)."""


@dataclass(frozen=True)
class Trend:
    """How one quantity goes with another."""

    rho: float
    """Spearman's rank correlation."""
    p: float
    first: Found
    """Median of the lowest batch."""
    last: Found
    """Median of the highest."""
    number: int

    def __str__(self) -> str:
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        return f"ρ = {self.rho:+.2f} ({p}), medians {self.first:.2f} → {self.last:.2f}"

    @property
    def falls(self) -> Check:
        """That it falls."""
        return TrendCheck("falls", self.rho, self.p, self.first, self.last, self.number)

    @property
    def rises(self) -> Check:
        """That it rises."""
        return TrendCheck("rises", self.rho, self.p, self.first, self.last, self.number)

    @property
    def flat(self) -> Check:
        """That there is no influence."""
        return TrendCheck("flat", self.rho, self.p, self.first, self.last, self.number)


def trend(table: pl.DataFrame, x: str, y: str, edges: Sequence[float], *, absolute: bool = False) -> Trend:
    """`y` against `x`; batches between `edges` give the outer medians."""
    batched = with_batch(table, x, edges, absolute=absolute).drop_nulls([y])
    rho, p = rank_correlation(batched["_x"], batched[y])
    medians = batch_medians(batched, y)
    return Trend(rho, p, medians[0], medians[-1], batched.height)


def batch_medians(batched: pl.DataFrame, y: str) -> list[Found]:
    """The median of each batch, the lowest first."""
    groups = batched.group_by("batch").agg(pl.col(y), at=pl.col("_x").mean()).sort("at")[y]
    return [median_of(group) for group in groups.to_list()]


def rank_correlation(x: pl.Series, y: pl.Series) -> tuple[float, float]:
    """Spearman's, with the probability of as much by chance; 0 and 1 of what does not vary."""
    if x.n_unique() < 2 or y.n_unique() < 2:
        return 0.0, 1.0
    found = stats.spearmanr(x.to_numpy(), y.to_numpy())
    return float(found.statistic), float(found.pvalue)


def with_batch(table: pl.DataFrame, x: str, edges: Sequence[float], *, absolute: bool = False) -> pl.DataFrame:
    """The column `batch` with its range as text: ]a, b], the first closed at both ends as in the thesis's figures.

    Section 3.2 prints ]a, b] for all of them, which leaves a difference of exactly 0 to none.
    """
    value = pl.col(x).abs() if absolute else pl.col(x)
    batch = analysis.batch(value, edges, with_lowest=True).cast(pl.String).str.replace_all("-", "−", literal=True)
    return table.with_columns(_x=value.cast(pl.Float64), batch=batch)


def batch_names(edges: Sequence[float]) -> list[str]:
    """`[0, 20]`, `]20, 40]`, …"""
    return [name.replace("-", "−") for name in analysis.batch_names(edges, with_lowest=True)]


def quartiles(values: pl.Series) -> tuple[Found, Found, Found]:
    """25th percentile, median, 75th percentile."""
    low, centre, high = (quantile_of(values.to_list(), part) for part in (0.25, 0.5, 0.75))
    return low, centre, high


def median(values: pl.Series) -> Found:
    """The median; nan of nothing."""
    return median_of(values.to_list())


def mean(values: pl.Series) -> Found:
    """The mean; nan of nothing."""
    return mean_of(values.to_list())


def largest(values: pl.Series) -> float:
    """The largest; nan of nothing."""
    found = values.max()
    return float(found) if isinstance(found, int | float) else float("nan")


def spread(values: pl.Series) -> Found:
    """Distance of the quartiles."""
    low, _, high = quartiles(values)
    return high - low


def part(condition: pl.Series) -> Found:
    """The part of the rows for which it is so."""
    return part_of(condition.to_list())


def outliers(values: pl.Series) -> pl.Series:
    """As box plots have them: further from the quartiles than 1.5 times their distance."""
    low, high = (values.quantile(part, "linear") for part in (0.25, 0.75))
    assert low is not None, "there are values"
    assert high is not None, "there are values"
    reach = 1.5 * (high - low)
    return (values < low - reach) | (values > high + reach)


def paired(one: Sequence[float | None], other: Sequence[float | None]) -> tuple[Found, Found]:
    """The medians of two columns over the same networks in the same order.

    The interval is that of their difference (networks drawn again), and stands with the second.
    """
    a, b = (np.array([np.nan if x is None else x for x in column], dtype=np.float64) for column in (one, other))
    gap = resampled(lambda rows: float(np.nanmedian(b[rows]) - np.nanmedian(a[rows])), len(a))
    return Found(float(np.nanmedian(a))), Found(float(np.nanmedian(b)), gap.half)


def distributed_alike(one: pl.Series, other: pl.Series) -> Check:
    """That two distributions of shares have the same quartiles."""
    return every(Equality(a, b, whole=1.0) for a, b in zip(quartiles(one), quartiles(other), strict=True))


def summary(table: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """Number, quartiles and median of a column by groups, in the order of their coming."""
    return (
        table.drop_nulls([value])
        .group_by(by, maintain_order=True)
        .agg(
            networks=pl.len(),
            **{
                f"{name} of {value.upper()}": pl.col(value).quantile(q, "linear").round(3)
                for name, q in (("25th percentile", 0.25), ("median", 0.5), ("75th percentile", 0.75))
            },
        )
    )


OTHERS: Final = "*"
"""In causes.toml: the cause of all claims of an item that have none of their own."""


class Claims:
    """Collects the claims of an item; the text of a statement is the published one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.all: list[Claim] = []

    def statement(self, id: str, check: Check, found: str) -> None:  # noqa: A002
        """A published statement."""
        text = self._context.published.statements[id]
        self.all.append(Claim(id, text, None, found, check, self._cause(id)))

    def number(
        self,
        id: str,  # noqa: A002
        text: str,
        published: str | float,
        found: str | float,
        check: Check,
        *,
        covers: Sequence[str] = (),
        cause: str = "",
    ) -> None:
        """A claim on published numbers. `cause`, which the study computes, comes after what causes.toml has."""
        known = causes().get(self._context.published.id, {}).get(id, "") if cause else self._cause(id)
        self.all.append(Claim(id, text, published, found, check, f"{known} {cause}".strip(), tuple(covers)))

    def _cause(self, id: str) -> str:  # noqa: A002
        known = causes().get(self._context.published.id, {})
        cause = known.get(id) or known.get(OTHERS) or "unknown: not traced to a cause."
        thin = "The thin design of --quick has too few networks to tell." if self._context.quick else ""
        return f"{cause} {thin}".strip()


@cache
def causes() -> Mapping[str, Mapping[str, str]]:
    """Why a claim does not hold in the full repetition, by item and claim: causes.toml."""
    text = (Path(__file__).parents[1] / "causes.toml").read_text(encoding="utf-8")
    return {
        item: {claim: " ".join(cause.split()) for claim, cause in found.items()}
        for item, found in tomllib.loads(text).items()
    }
