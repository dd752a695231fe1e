"""The fair optimum with probing cost, on any topology: what a window-based control could reach at best.

Every established path carries at least one segment per RTT, because a window cannot be smaller; within that and the
capacities, the rates maximise the sum of α-fair utilities of the connections' totals, Σ w_u X_u^{1−α}/(1−α)
(Σ w_u log X_u at α = 1). α = 2 with w_u = 1/rtt_u² is what TCP maximises (Khalili 2013 theorem 4). Appendix A 2 and B 2
of Khalili 2013 are instances; there every α and any equal weights agree.

The optimality conditions are those of a control that asks for the loss w_u/X_u^α and may leave routes at their floor:
`equilibrium`'s solver finds them, and the link losses it returns are the prices of the capacities, in units of utility.
"""

from dataclasses import replace

import numpy as np

from .checks import Array, ParameterError, positive
from .equilibrium import Equilibrium, equilibrium
from .network import Network


def optimum(
    network: Network,
    *,
    floor_segments: float = 1.0,
    alpha: float = 2.0,
    weights: Array | None = None,
    tolerance: float = 1e-9,
) -> Equilibrium:
    """The fair optimum of a network; its users' controls do not matter.

    Args:
        network: links and users (U), with capacities or loss laws.
        floor_segments: least window on every route in segments; 1 is the probing cost, 0 leaves it out.
        alpha: fairness, positive: 1 proportional, 2 TCP's, large towards max-min.
        weights: of one connection of each user, (U,); 1 each when not given.
        tolerance: as for `equilibrium`.

    Raises:
        ParameterError: ``alpha`` or a weight is not positive, or probing alone fills a link.
        NotConvergedError: the tolerance was not met.

    Source: Khalili 2013 §III A and appendices A 2, B 2.

    """
    positive("alpha", alpha)
    each = np.ones(len(network.users)) if weights is None else weights
    if each.shape != (len(network.users),) or not (np.isfinite(each) & (each > 0)).all():
        raise ParameterError(f"weights of shape {each.shape}: expected {len(network.users)} positive numbers")
    # Prices in the units of losses: U'(X) is compared with rates of the size of the network's, whatever its unit.
    scale = float(network.capacity.mean()) ** alpha
    users = [
        replace(user, control="fair", parameters={"alpha": alpha, "weight": float(weight) * scale})
        for user, weight in zip(network.users, each, strict=True)
    ]
    return equilibrium(Network(network.links, users), floor_segments=floor_segments, tolerance=tolerance)
