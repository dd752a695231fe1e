"""The JSON document of a comparison."""

from typing import TYPE_CHECKING, Any

from mptcplab.analysis.statistics import CONFIDENCE

if TYPE_CHECKING:
    from mptcplab.analysis.statistics import Estimate
    from mptcplab.comparison.settings import Comparison


def build(comparison: "Comparison") -> dict[str, Any]:
    """The whole document."""
    metric = comparison.metric
    return {
        "title": comparison.title,
        "engine": comparison.engine,
        "factors": {key: list(values) for key, values in comparison.factors.items()},
        "baseline": dict(comparison.combinations[comparison.baseline]),
        "metric": metric.name,
        "unit": metric.unit if metric.scale == 1 else {"Mbit/s": "bit/s", "MB": "B"}[metric.unit],
        "better": "higher" if metric.higher_is_better else "lower",
        "confidence": CONFIDENCE,
        "test": "paired t" if comparison.paired else "Welch",
        "blocks": {"kind": comparison.block, "numbers": list(comparison.blocks)},
        "unfinished": comparison.unfinished,
        "settings": [
            {
                "settings": dict(each.settings),
                "n": 0 if each.mean is None else each.mean.n,
                "mean": None if each.mean is None else each.mean.mean,
                "interval": None if each.mean is None else each.mean.interval(),
                "difference": _difference(each.difference),
                "rank": list(each.rank),
                "same_packets_as": list(each.same_packets_as),
                "states": [
                    {"runs": state.runs, "mean": state.mean, "low": state.low, "high": state.high} for state in states
                ],
            }
            for each, states in zip(comparison.settings, comparison.states, strict=True)
        ],
        "effects": [
            {
                "factor": effect.factor,
                "explains": effect.explains,
                "values": [
                    {"value": level.value, "mean": level.mean, "difference": _difference(level.difference)}
                    for level in effect.levels
                ],
            }
            for effect in comparison.effects
        ],
        "notes": list(comparison.notes),
    }


def _difference(found: "Estimate | None") -> dict[str, Any] | None:
    return None if found is None else {"mean": found.mean, "interval": found.interval(), "n": found.n}
