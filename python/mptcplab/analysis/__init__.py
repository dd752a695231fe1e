"""Many runs looked at together: metrics as polars expressions, batches by a criterion, sensitivity to the design.

The metrics on plain numbers are in `mptcplab.metrics`; the expressions give the same, row by row.
"""

from mptcplab.analysis.batches import batch, batch_names, even_edges
from mptcplab.analysis.dynamics import flappiness, settling_time, shares_over_time, traffic_shift
from mptcplab.analysis.expressions import (
    aggregation_benefit,
    experimental_aggregation_benefit,
    jain_index,
    mean_loss_rate,
    normalised_throughput,
    path_share,
    request_ratio,
)
from mptcplab.analysis.sensitivity import sensitivity

__all__ = [
    "aggregation_benefit",
    "batch",
    "batch_names",
    "even_edges",
    "experimental_aggregation_benefit",
    "flappiness",
    "jain_index",
    "mean_loss_rate",
    "normalised_throughput",
    "path_share",
    "request_ratio",
    "sensitivity",
    "settling_time",
    "shares_over_time",
    "traffic_shift",
]
