"""The comparison that a sweep's dataset makes: its variants, or without any its points."""

import csv
import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mptcplab.comparison.max_min import shares_of, sweep_of, with_shares
from mptcplab.comparison.metric import MetricError, column_of
from mptcplab.comparison.summary import summarise
from mptcplab.results.columns import MAX_MIN_SHARE

if TYPE_CHECKING:
    import polars as pl

    from mptcplab.comparison.settings import Comparison, Value
    from mptcplab.sweeps.facade import Dataset


def compare_dataset(
    dataset: "Dataset",
    factors: Sequence[str] | None = None,
    *,
    metric: str | None = None,
    baseline: Mapping[str, object] | None = None,
    paired: bool = True,
) -> "Comparison":
    """As `Dataset.compare`. Raises MetricError, also where the directory has no dataset."""
    place = dataset.directory
    try:
        origin = json.loads((place / "provenance.json").read_text(encoding="utf-8"))
        text = (place / "scenario.toml").read_text(encoding="utf-8")
        scenario = tomllib.loads(text)
        sweep = tomllib.loads((place / "sweep.toml").read_text(encoding="utf-8"))
        with (place / "design.csv").open(encoding="utf-8", newline="") as file:
            design = list(csv.DictReader(file))
    except (OSError, ValueError) as error:
        raise MetricError(
            f"{place} has no finished dataset ({error}); expected the directory of `mptcplab sweep` or `compare --out`"
        ) from None
    frames: Mapping[str, pl.DataFrame] = {
        "connections": dataset.connections,
        "subflows": dataset.subflows,
        "links": dataset.links,
    }
    own = list(design[0])[1:] if design else []
    grid = not own or sweep["design"]["kind"] == "grid"
    if metric is not None and column_of(metric) == MAX_MIN_SHARE.name:
        frames = with_shares(frames, shares_of(sweep_of(text, sweep), metric))
    engine = origin["engine"]
    return summarise(
        frames,
        chosen(dataset.connections, own, grid=grid) if factors is None else factors,
        title=str(scenario.get("title", place.name)),
        engine=engine if isinstance(engine, str) else ", ".join(engine),
        metric=metric,
        baseline=baseline,
        paired=paired,
        shown=_with_units(dataset.connections, design, own),
    )


def chosen(connections: "pl.DataFrame", design: Sequence[str], *, grid: bool = True) -> list[str]:
    """The columns by which the runs of a dataset are compared: variants, engines and kernels, else a grid's factors."""
    labels = connections.columns[: connections.columns.index("seed")]
    varied = [name for name in labels if name not in ("point", "variant", "repeat", *design)]
    return [name for name in varied if connections[name].n_unique() > 1] or [
        name for name in design if grid and connections[name].n_unique() > 1
    ]


def _with_units(
    connections: "pl.DataFrame", design: Sequence[Mapping[str, str]], factors: Sequence[str]
) -> dict[str, dict[Any, "Value"]]:
    """Of each factor of the design the values of its column with what the sweep's points have: `10 Mbit/s`."""
    rows = connections.select("point", *factors).unique("point", maintain_order=True).to_dicts()
    of_point = {int(row["point"]): row for row in design}
    return {key: {row[key]: of_point[row["point"]][key] for row in rows} for key in factors}
