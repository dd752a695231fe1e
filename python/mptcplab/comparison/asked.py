"""What a comparison is asked and can never tell, found before anything runs."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mptcplab.comparison import metric as metrics
from mptcplab.comparison.metric import Metric, MetricError
from mptcplab.comparison.of_dataset import chosen
from mptcplab.comparison.summary import baseline_of, combinations

if TYPE_CHECKING:
    from mptcplab.sweeps.sweep import Plan

_ENDS: Final = ("completion_s", "sender_completion_s")
"""Known only of a transfer that comes to an end."""
_ENDLESS: Final = ("bulk", "requests", "flows")
"""Applications that go on until they are stopped."""


def check(made: "Plan", metric: str | None, baseline: Mapping[str, object] | None) -> None:
    """Raise MetricError for a metric that no run has, and for a baseline that is no setting."""
    import polars as pl

    firsts = range(0, len(made.labels), made.sweep.repeat)
    connections = pl.DataFrame([made.labels[at] for at in firsts]).with_columns(seed=0)
    factors = chosen(connections, [factor.key for factor in made.sweep.factors])
    baseline_of(combinations(connections, factors), baseline or {})
    if metric is None or metric.startswith("link."):
        return
    described = [json.loads(made.runs[at].task)["description"]["connections"] for at in firsts]
    asked = metrics.of_connection(metric, [each["name"] for each in described[0]], factors)
    if asked.column in _ENDS and all(_is_endless(each, asked) for each in described):
        raise MetricError(
            f"found {metric!r}, but {asked.owner} never ends: give it an application with a size, such as\n"
            f'  --set \'connection.{asked.owner}.application={{ kind = "file", size = "4 MB" }}\'\n'
            "or a stop, or compare by goodput"
        )


def _is_endless(connections: Sequence[Mapping[str, Any]], asked: Metric) -> bool:
    own = next(each for each in connections if each["name"] == asked.owner)
    return own["application"]["kind"] in _ENDLESS and own["stop_ns"] is None
