"""The effect of each factor: its values over all values of the others, on the same blocks."""

from typing import TYPE_CHECKING

import numpy as np

from mptcplab.analysis import statistics

if TYPE_CHECKING:
    from mptcplab.analysis.statistics import Floats
    from mptcplab.comparison.settings import Comparison, FactorEffect, Level, Value


def effects(comparison: "Comparison") -> "tuple[FactorEffect, ...]":
    """One for each factor; none for a single factor, or where a combination or a value is missing throughout."""
    from mptcplab.comparison.settings import FactorEffect

    several = {key: values for key, values in comparison.factors.items() if len(values) > 1}
    whole = np.prod([len(values) for values in comparison.factors.values()])
    # A mean over the other factors is fair only where every combination is there.
    known = comparison.matrix[:, ~np.isnan(comparison.matrix).any(axis=0)]
    if len(several) < 2 or len(comparison.combinations) != whole or not known.shape[1]:
        return ()
    means = known.mean(axis=1)
    total = float(((means - means.mean()) ** 2).sum())
    found = []
    for key, values in several.items():
        rows = {
            value: [at for at, each in enumerate(comparison.combinations) if each[key] == value] for value in values
        }
        between = sum(len(at) * float((means[at].mean() - means.mean()) ** 2) for at in rows.values())
        reference = comparison.combinations[comparison.baseline][key]
        levels = tuple(_level(comparison, known, rows, value, reference) for value in values)
        found.append(FactorEffect(key, levels, between / total if total else 0.0))
    return tuple(found)


def _level(
    comparison: "Comparison", known: "Floats", rows: "dict[Value, list[int]]", value: "Value", reference: "Value"
) -> "Level":
    from mptcplab.comparison.settings import Level

    of_blocks = known[rows[value]].mean(axis=0)
    if value == reference:
        return Level(value, float(of_blocks.mean()), None)
    against = statistics.paired if comparison.paired else statistics.unpaired
    return Level(value, float(of_blocks.mean()), against(of_blocks, known[rows[reference]].mean(axis=0)))
