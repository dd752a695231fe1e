"""From the frames of many runs to a comparison of their settings."""

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mptcplab.comparison import metric as metrics
from mptcplab.comparison.alike import alike
from mptcplab.comparison.metric import MetricError
from mptcplab.comparison.settings import Block, Comparison, Value, text_of
from mptcplab.scenario.errors import did_you_mean

if TYPE_CHECKING:
    import polars as pl

MOST_SETTINGS: Final = 200
"""More are no comparison that anyone reads."""


def summarise(
    frames: "Mapping[str, pl.DataFrame]",
    factors: Sequence[str],
    *,
    title: str,
    engine: str,
    metric: str | None = None,
    baseline: Mapping[str, object] | None = None,
    paired: bool = True,
    shown: Mapping[str, Mapping[Any, Value]] | None = None,
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare what differs by `factors`, columns of the frames of a dataset.

    A block is a run's seed; where the runs are of several networks that the factors do not name, it is the network, of
    which the mean over its seeds counts. `shown` has for a factor the values to show in place of those of its column.

    Raises MetricError for a metric, factor or baseline that there is not, and for too many settings.
    """
    import polars as pl

    connections = frames["connections"]
    labels = connections.columns[: connections.columns.index("seed")]
    for factor in factors:
        if factor not in labels:
            known = ", ".join(label for label in labels if label not in ("point", "repeat", "variant"))
            raise MetricError(f"found the factor {factor!r}; the runs differ by {known}{did_you_mean(factor, labels)}")
    values, crossed = _crossed(connections, factors)
    chosen = metrics.find(metric, frames, factors)
    picks = [_pick(factors, each) for each in crossed]
    block: Block = "network" if _several_networks(connections, factors) else "seed"
    column = "point" if block == "network" else "seed"
    rows = chosen.values(frames)
    of_runs = rows.group_by(*factors, "point", "repeat", "seed", maintain_order=True).agg(pl.col("value").mean())
    numbers = of_runs[column].unique().sort().to_list()
    place = {number: at for at, number in enumerate(numbers)}
    matrix = np.full((len(crossed), len(numbers)), math.nan)
    for at, pick in enumerate(picks):
        means = of_runs.filter(pick).group_by(column).agg(pl.col("value").mean())
        for number, value in means.iter_rows():
            matrix[at, place[number]] = math.nan if value is None else value
    names = _shown(values, shown or {})
    found = _named(names, crossed)
    return Comparison(
        title=title,
        engine=engine,
        metric=chosen,
        factors={key: tuple(each.values()) for key, each in names.items()},
        combinations=found,
        baseline=baseline_of(found, baseline or {}),
        matrix=matrix,
        blocks=tuple(numbers),
        block=block,
        alike=alike(frames, picks),
        paired=paired,
        unfinished=of_runs["value"].null_count(),
        notes=tuple(notes),
    )


def combinations(connections: "pl.DataFrame", factors: Sequence[str]) -> tuple[dict[str, Value], ...]:
    """The settings that the runs have, by factor."""
    values, crossed = _crossed(connections, factors)
    return _named(_shown(values, {}), crossed)


def _crossed(connections: "pl.DataFrame", factors: Sequence[str]) -> tuple[dict[str, list[Any]], list[tuple[Any, ...]]]:
    """Each factor's values, and the combinations that there are, in the order of their appearance: that of the file."""
    values = {factor: connections[factor].unique(maintain_order=True).to_list() for factor in factors}
    present: set[tuple[Any, ...]] = set(connections.select(factors).unique().iter_rows()) if factors else {()}
    if len(present) > MOST_SETTINGS:
        raise MetricError(f"{len(present)} settings; a comparison has at most {MOST_SETTINGS}: choose fewer factors")
    return values, [each for each in itertools.product(*values.values()) if each in present]


def _shown(
    values: Mapping[str, Sequence[Any]], shown: Mapping[str, Mapping[Any, Value]]
) -> dict[str, dict[Any, Value]]:
    return {key: {cell: shown.get(key, {}).get(cell, _value(cell)) for cell in cells} for key, cells in values.items()}


def _named(
    names: Mapping[str, Mapping[Any, Value]], crossed: Sequence[tuple[Any, ...]]
) -> tuple[dict[str, Value], ...]:
    return tuple({key: names[key][cell] for key, cell in zip(names, each, strict=True)} for each in crossed)


def _pick(factors: Sequence[str], values: Sequence[object]) -> "pl.Expr":
    """What is true of the rows of a setting."""
    import polars as pl

    each = (pl.col(key).eq_missing(pl.lit(cell)) for key, cell in zip(factors, values, strict=True))
    return reduce(and_, each, pl.lit(True))


def _several_networks(connections: "pl.DataFrame", factors: Sequence[str]) -> bool:
    """Whether a setting has runs of more than one point."""
    import polars as pl

    if not factors:
        return connections["point"].n_unique() > 1
    return bool((connections.group_by(factors).agg(pl.col("point").n_unique())["point"] > 1).any())


def _value(cell: object) -> Value:
    """A whole number as such: columns of numbers are floats."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    assert cell is None or isinstance(cell, str | int | float | bool)
    return cell


def baseline_of(combinations: Sequence[Mapping[str, Value]], wanted: Mapping[str, object]) -> int:
    """The first setting with these values, whose keys may be the last parts of the factors'."""
    if not combinations:
        raise MetricError("there is no run to compare")
    exact: dict[str, str] = {}
    for key, value in wanted.items():
        keys = [each for each in combinations[0] if each == key or each.endswith(f".{key}")]
        if len(keys) != 1:
            hint = did_you_mean(key, combinations[0])
            raise MetricError(f"found the baseline {key}={value}; expected one of {', '.join(combinations[0])}{hint}")
        exact[keys[0]] = text_of(value) if isinstance(value, str | int | float | bool) else str(value)
    for at, each in enumerate(combinations):
        if all(text_of(each[key]) == value for key, value in exact.items()):
            return at
    there = "; ".join(
        f"{key} = {', '.join(dict.fromkeys(text_of(each[key]) for each in combinations))}" for key in exact
    )
    found = ", ".join(f"{key}={value}" for key, value in exact.items())
    raise MetricError(f"found the baseline {found}, which is no setting of the comparison; expected {there}")
