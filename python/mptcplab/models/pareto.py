"""Can someone gain without anyone losing? A linear programme over all rates that the links can carry.

Khalili 2013 calls an allocation Pareto-optimal when no user's Σ x_r/rtt_r² can rise without another's falling or the
congestion cost rising (theorem 3); with equal RTTs that is the plain rate. Links with a hard capacity bound the load by
it (remark 1); on links with a loss law the load must not rise, which is enough for the cost not to.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from .checks import Array, NotConvergedError, ParameterError
from .network import Network


@dataclass(frozen=True)
class ParetoGain:
    """What could be gained. R routes, U users; gains in the units of the measure, of one connection."""

    measure: Array
    """What each user has now, (U,): its rate, or the weighted sum of its routes' rates."""
    gains: Array
    """What each would gain where the total gain is largest, (U,), none negative."""
    rates: Array
    """Rates that give it, segments/s, (R,)."""
    total: float
    """Sum of the gains over all connections, as a fraction of the sum of what they have."""

    @property
    def relative(self) -> Array:
        """Each user's gain as a fraction of what it has, (U,)."""
        return np.asarray(self.gains / self.measure)

    def is_optimal(self, tolerance: float = 1e-6) -> bool:
        """Whether nothing worth ``tolerance`` of the total can be gained."""
        return self.total <= tolerance


class _Programme:
    def __init__(self, network: Network, rates: Array, floor: Array | None, weights: Array | None) -> None:
        routes = len(network.rtt_s)
        self.network = network
        self.floor = np.zeros(routes) if floor is None else floor
        self.weights = np.ones(routes) if weights is None else weights
        for name, values in (("rates", rates), ("floor", self.floor), ("weights", self.weights)):
            if values.shape != (routes,) or not (np.isfinite(values) & (values >= 0)).all():
                raise ParameterError(f"{name} of shape {values.shape}: expected {routes} numbers, none negative")
        # One size for all numbers of the programme: the solver's tolerances are absolute.
        self.unit = float(rates.max())
        self.weight_unit = float(self.weights.max())
        if self.unit == 0 or self.weight_unit == 0:
            raise ParameterError("all rates and weights are 0: there is nothing to compare")
        load = network.load_matrix @ rates
        limit = np.where(network.hard, network.capacity, load)
        over = load > limit * (1 + 1e-6)
        if over.any():
            worst = int(np.argmax(load / limit))
            raise ParameterError(
                f"link {network.link_names[worst]!r} carries {load[worst]:g} segments/s, above its {limit[worst]:g}: "
                "the allocation itself must be possible"
            )
        if (self.floor > rates * (1 + 1e-6)).any():
            raise ParameterError("a route carries less than its floor: the allocation must be feasible")
        self.limit = np.maximum(limit, load) / self.unit
        self.measure = network.user_sums(self.weights * rates)
        self.start = rates
        rows = (network.owner, np.arange(routes))
        self.of_user = sp.csr_array((self.weights / self.weight_unit, rows), shape=(len(network.users), routes))

    def solve(self, cost: Array, extra: Array | None) -> tuple[Array, float]:
        """Least cost·variables over the rates (and one more variable whose column in the users' rows is ``extra``)."""
        network = self.network
        now = self.measure / (self.unit * self.weight_unit)
        loads, gains = network.load_matrix, -self.of_user
        if extra is not None:
            loads = sp.hstack([loads, sp.csr_array((len(self.limit), 1))])
            gains = sp.hstack([gains, sp.csr_array(extra[:, None])])
        bounds = [(low, None) for low in np.minimum(self.floor, self.start) / self.unit]
        if extra is not None:
            bounds.append((0.0, None))
        answer = linprog(  # type: ignore[call-overload]  # the stubs know dense matrices only
            cost,
            A_ub=sp.vstack([loads, gains]).tocsr(),  # pyright: ignore[reportArgumentType]
            b_ub=np.concatenate([self.limit, -now]),
            bounds=bounds,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        if answer.status != 0:
            raise NotConvergedError(f"the linear programme of the Pareto test ended with: {answer.message}")
        return np.asarray(answer.x), float(answer.fun)


def pareto_gain(
    network: Network, rates: Array, *, floor: Array | None = None, weights: Array | None = None
) -> ParetoGain:
    """The largest total gain over ``rates`` without a loss to any user.

    Args:
        network: links and users; R routes.
        rates: the allocation, segments/s of one connection by route, (R,); it must fit the capacities to 1e-6.
        floor: rates that no route may go below, (R,): the probing traffic; 0 when not given.
        weights: measure of a user is Σ weight·rate over its routes, (R,); 1 for its rate, 1/rtt² for theorem 3.

    Raises:
        ParameterError: a shape, a negative number, or an allocation above a capacity or below a floor.
        NotConvergedError: the linear programme found no answer.

    Source: Khalili 2013 §III, theorem 3 and remark 1.

    """
    programme = _Programme(network, rates, floor, weights)
    value = network.count[network.owner] * programme.weights / programme.weight_unit
    x, _ = programme.solve(-value, None)
    better = x * programme.unit
    gains = np.maximum(network.user_sums(programme.weights * better) - programme.measure, 0.0)
    total = float(network.count @ gains) / float(network.count @ programme.measure)
    return ParetoGain(programme.measure, gains, better, total)


def common_gain(
    network: Network, rates: Array, *, floor: Array | None = None, weights: Array | None = None
) -> tuple[float, Array]:
    """The largest fraction by which all users can gain at once, and rates that give it, (R,).

    Arguments and errors as for `pareto_gain`.
    """
    programme = _Programme(network, rates, floor, weights)
    cost = np.zeros(len(network.rtt_s) + 1)
    cost[-1] = -1
    x, least = programme.solve(cost, programme.measure / (programme.unit * programme.weight_unit))
    return max(-least, 0.0), x[:-1] * programme.unit
