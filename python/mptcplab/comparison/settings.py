"""Settings against one another: each with its interval, its difference to the baseline, its rank, its like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mptcplab.analysis import statistics
from mptcplab.analysis.statistics import Estimate, Floats
from mptcplab.comparison.metric import Metric
from mptcplab.results import states

if TYPE_CHECKING:
    import polars as pl

    from mptcplab.plots import Figure
    from mptcplab.plots.comparisons import ComparisonPlots
    from mptcplab.render.text_tables import Table

Value = str | int | float | bool | None
Block = Literal["seed", "network"]


@dataclass(frozen=True)
class Setting:
    """One combination of values."""

    settings: Mapping[str, Value]
    mean: Estimate | None
    """None where the metric is not known in any run."""
    difference: Estimate | None
    """To the baseline, which has none."""
    rank: tuple[int, int]
    """The best and the worst that the runs leave open."""
    same_packets_as: tuple[int, ...]
    """Settings whose runs are the same in everything that was measured but windows."""


@dataclass(frozen=True)
class Level:
    """A value of a factor, over all values of the others."""

    value: Value
    mean: float
    difference: Estimate | None
    """To the factor's value of the baseline, which has none."""


@dataclass(frozen=True)
class FactorEffect:
    """What a factor alone makes different."""

    factor: str
    levels: tuple[Level, ...]
    explains: float
    """The part of the variance between the settings' means that is between the means of its values."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Settings on the same seeds (or, over several networks, on the same networks), by one metric.

    `frame` has a row for each setting, `values` one for each setting and block; `effects` says what each factor does.
    """

    title: str
    engine: str
    metric: Metric
    factors: Mapping[str, tuple[Value, ...]]
    """What differs between the settings, each with its values."""
    combinations: tuple[Mapping[str, Value], ...]
    baseline: int
    """The number of the setting that the others are compared to."""
    matrix: Floats = field(repr=False)
    """The metric, shape (settings, blocks); nan where it is not known."""
    blocks: tuple[int, ...] = field(repr=False)
    """The seeds, or the numbers of the networks."""
    block: Block
    alike: tuple[tuple[int, ...], ...] = field(repr=False)
    """For each setting those whose runs are the same."""
    paired: bool = True
    unfinished: int = 0
    """Runs in which the metric is not known, as a transfer's time where it did not end."""
    notes: tuple[str, ...] = ()

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting, in the order of the factors' values."""
        against = statistics.paired if self.paired else statistics.unpaired
        reference = self.matrix[self.baseline]
        ranks = statistics.ranks(self.matrix, higher_is_better=self.metric.higher_is_better, pair=self.paired)
        return tuple(
            Setting(
                combination,
                statistics.estimate(self.matrix[at]),
                None if at == self.baseline else against(self.matrix[at], reference),
                ranks[at],
                self.alike[at],
            )
            for at, combination in enumerate(self.combinations)
        )

    @cached_property
    def states(self) -> tuple[tuple[states.State, ...], ...]:
        """For each setting the stable states of its values: one, or several where a test says so."""
        return tuple(states.of_settings(self.matrix))

    @cached_property
    def effects(self) -> tuple[FactorEffect, ...]:
        """Of each factor what it does over all values of the others; none where there is one factor only."""
        from mptcplab.comparison.factors import effects

        return effects(self)

    def with_notes(self, *notes: str) -> "Comparison":
        """The same with more to say."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def widest(self) -> float | None:
        """The largest half width of a setting's interval, as a part of its mean; None where one is not known."""
        widths = [
            None if each.mean is None or each.mean.half is None or not each.mean.mean
            else each.mean.half / abs(each.mean.mean)
            for each in self.settings
        ]  # fmt: skip
        known = [width for width in widths if width is not None]
        return max(known) if len(known) == len(widths) else None

    def wanted(self, part: float) -> int:
        """How many blocks it may take until no interval is wider than ± `part` of its mean."""
        return max((statistics.wanted(each.mean, part) for each in self.settings if each.mean is not None), default=0)

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """A row for each setting: its values, n, mean, low, high, difference…, rank…, `same_packets_as`."""
        import polars as pl

        rows = []
        for each in self.settings:
            mean, apart = each.mean, each.difference
            rows.append(
                {
                    **{key: _plain(value, self.factors[key]) for key, value in each.settings.items()},
                    "metric": self.metric.name,
                    "n": 0 if mean is None else mean.n,
                    "mean": None if mean is None else mean.mean,
                    "low": None if mean is None else mean.low,
                    "high": None if mean is None else mean.high,
                    "difference": None if apart is None else apart.mean,
                    "difference_low": None if apart is None else apart.low,
                    "difference_high": None if apart is None else apart.high,
                    "rank_first": each.rank[0],
                    "rank_last": each.rank[1],
                    "same_packets_as": list(each.same_packets_as),
                }
            )
        floats = ("mean", "low", "high", "difference", "difference_low", "difference_high")
        schema: dict[str, Any] = {**dict.fromkeys(floats, pl.Float64), "same_packets_as": pl.List(pl.Int64)}
        return pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)

    @cached_property
    def values(self) -> "pl.DataFrame":
        """A row for each setting and block: its number, its name, the seed or the network, the value."""
        import numpy as np
        import polars as pl

        count = len(self.blocks)
        return pl.DataFrame(
            {
                "number": np.repeat(np.arange(len(self.combinations)), count),
                "setting": [name for name in self.names for _ in range(count)],
                self.block: list(self.blocks) * len(self.combinations),
                "value": self.matrix.ravel(),
            }
        ).with_columns(pl.col("value").fill_nan(None))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each setting is called."""
        return tuple(" · ".join(map(text_of, each.values())) for each in self.combinations)

    def to_dict(self) -> dict[str, Any]:
        """The document of `mptcplab compare --vary --json`."""
        from mptcplab.comparison.document import build

        return build(self)

    def tables(self) -> "tuple[Table, ...]":
        """For people."""
        from mptcplab.comparison.tables import tables

        return tables(self)

    def lines(self) -> list[str]:
        """What the tables do not say: settings alike, runs that did not end, how the numbers were made."""
        from mptcplab.comparison.tables import lines

        return lines(self)

    @property
    def plot(self) -> "ComparisonPlots":
        """The figures: `.means()`, `.differences()`, `.boxes()`, `.cdf()`, `.heat_map()`."""
        from mptcplab.plots.comparisons import ComparisonPlots  # altair loads slowly

        return ComparisonPlots(self)

    def figures(self) -> "tuple[Figure, ...]":
        """The figures of the report."""
        from mptcplab.plots.comparisons import figures

        return figures(self)

    def report(self) -> str:
        """One HTML page with tables and figures, which works offline."""
        from mptcplab.render import comparison

        return comparison.render(self)

    def save(self, directory: str | PathLike[str], *, plots: bool = True) -> Path:
        """Write comparison.json, comparison.parquet, report.html and plots/ to `directory`, beside what is there.

        Raises OSError.
        """
        from mptcplab.comparison.saving import save

        return save(self, Path(directory), plots=plots)

    def __repr__(self) -> str:
        from mptcplab.comparison.tables import short

        return short(self)

    def _repr_html_(self) -> str:
        from mptcplab.render import html_tables

        return html_tables.of_comparison(self)


def text_of(value: Value) -> str:
    """A value as one reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)


def _plain(value: Value, column: Sequence[Value]) -> Value:
    """A value for a data frame, whose columns have one type."""
    return text_of(value) if any(isinstance(each, str) for each in column) else value
