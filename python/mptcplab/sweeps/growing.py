"""An adaptive design: rounds of points, each chosen from what the runs of those before it found."""

from collections.abc import Callable

import numpy as np

from mptcplab.comparison import metric as metrics
from mptcplab.comparison.metric import MetricError
from mptcplab.designs import adaptive
from mptcplab.designs.plain import Floats
from mptcplab.sweeps.frames import collect
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.sweep import Plan, make_plan


def grown(made: Plan, journal: Journal, carry_out: Callable[[Plan], None]) -> Plan:
    """The plan with all points of the design; the last of them are not carried out yet. Others remain as they are.

    `carry_out` brings the runs of a plan into the journal. What is chosen depends on the sweep and its results only, so
    a sweep that is continued finds the same points again. Raises MetricError where a response is not known.
    """
    sweep, design = made.sweep, made.sweep.design
    if design.kind != "adaptive" or sweep.grown is not None:
        return made
    for number, count in enumerate(design.parts(), start=1):
        carry_out(made)
        found = _responses(made, journal)
        more = adaptive(made.points, found, count, seed=design.seed + number, candidates=design.candidates)
        made = make_plan(sweep.with_points(np.vstack([made.points, more])))
    return made


def _responses(made: Plan, journal: Journal) -> Floats:
    """Mean response of each point over its seeds, in a column for each variant and engine."""
    import polars as pl

    frames = collect(made.labels, made.runs, journal).frames()
    keys = [factor.key for factor in made.sweep.factors]
    chosen = metrics.find(made.sweep.design.response, frames, keys)
    rows = chosen.values(frames)
    beside = [name for name in ("variant", "engine", "kernel") if name in rows.columns]
    means = rows.group_by("point", *beside, maintain_order=True).agg(pl.col("value").mean())
    if means["value"].null_count() or means["value"].is_nan().any():
        point = means.filter(pl.col("value").is_null() | pl.col("value").is_nan())["point"][0]
        raise MetricError(
            f"{chosen.name} is not known at point {point}, so the design cannot follow it; "
            "choose a response that every run has"
        )
    # Every point has the same settings in the same order.
    return means["value"].to_numpy().reshape(len(made.points), -1)
