"""Rates and loss prices of a whole network: every control's law met at once, on any topology.

The problem is a nonlinear complementarity problem. Unknown are the rates x of the routes and the losses λ of the links;
a route's loss is the sum p_r = Σ λ_ℓ over its links (Khalili 2013 §V: losses are small). Wanted:

* on each route log p_r = log φ_r(x), φ the control's law (`control_laws`); where a control may leave a route empty, or
  a probing floor m_r holds, x_r ≥ m_r, log p_r ≥ log φ_r(x), and one of both tight;
* on each hard link y ≤ C, λ ≥ 0, one of both tight, y the load; on a link with a loss law λ = p(y).

The solver is in `interior_point`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .checks import Array, NotConvergedError, ParameterError
from .interior_point import InteriorPoint
from .link_laws import Capacity
from .network import Network


@dataclass(frozen=True)
class Equilibrium:
    """Where the network settles. Rates are of one connection; R routes, L links, U users."""

    network: Network
    rates: Array
    """Segments/s of each route, (R,)."""
    link_loss: Array
    """Loss rate of each link, (L,); the price of its capacity."""
    queue_packets: Array
    """Mean queue of each link, (L,); nan where no queue is modelled."""
    rtt_s: Array
    """Round-trip time of each route with its queues, (R,)."""
    floor: Array
    """Least rate of each route, (R,)."""
    residual: float
    """Largest violation of law, capacity or complementarity, relative."""
    iterations: int

    @property
    def route_loss(self) -> Array:
        """Loss rate of each route, (R,): the sum over its links and its own."""
        return np.asarray(self.network.crossing.T @ self.link_loss + self.network.own_loss)

    @property
    def implausible(self) -> npt.NDArray[np.bool_]:
        """Routes, (R,), with a loss of 1 or more or a window below 1 (and in use): the laws do not hold there."""
        used = self.rates > 1e-6 * self.user_rates[self.network.owner]
        return np.asarray((self.route_loss >= 1) | (used & (self.rates * self.rtt_s < 1)))

    @property
    def user_rates(self) -> Array:
        """Segments/s of one connection of each user, (U,)."""
        return self.network.user_sums(self.rates)

    @property
    def link_load(self) -> Array:
        """Segments/s offered to each link, (L,)."""
        return np.asarray(self.network.load_matrix @ self.rates)


def equilibrium(
    network: Network, *, floor_segments: float = 0.0, tolerance: float = 1e-9, floor: Array | None = None
) -> Equilibrium:
    """Rates and link losses at which every user's control and every link is content.

    Args:
        network: links and users; R routes, L links.
        floor_segments: least window on every route in segments: 1 for the probing traffic that real windows cannot go
            below (Khalili 2013 §III A), 0 for the pure fixed point.
        tolerance: largest relative violation of law, capacity and complementarity.
        floor: least rate of each route in segments/s, (R,), instead of ``floor_segments``.

    Raises:
        UnknownControlError, ParameterError: a control or its parameters; a floor that alone overfills a link.
        NotConvergedError: the tolerance was not met.

    """
    least = _floor(network, floor_segments, floor)
    solver = InteriorPoint(network, least)
    rtt = network.rtt_s
    curves = [(i, law.red) for i, law in enumerate(network.links.values()) if isinstance(law, Capacity) and law.red]
    queue = np.full(len(network.link_names), np.nan)
    residual, iterations = solver.solve(rtt, tolerance)
    change = np.inf
    # Queues stretch the RTTs, longer RTTs lower the losses, lower losses shorten the queues: a contraction when damped.
    for _ in range(200 if curves else 0):
        before = queue.copy()
        for i, curve in curves:
            queue[i] = float(curve.queue(min(float(solver.link_loss[i]), 0.999)))
        delay = np.where(np.isnan(queue), 0, queue) / network.capacity
        target = network.rtt_s + network.crossing.T @ delay
        change = float(np.abs(target / rtt - 1).max())
        if change < tolerance and not np.isnan(before[curves[0][0]]):
            break
        rtt = np.sqrt(rtt * target)
        residual, steps = solver.solve(rtt, tolerance)
        iterations += steps
    else:
        if curves:
            raise NotConvergedError(f"queues and round-trip times still move by {change:.1e} relative")
    return Equilibrium(
        network=network,
        rates=least + solver.v,
        link_loss=solver.link_loss,
        queue_packets=queue,
        rtt_s=rtt,
        floor=least,
        residual=residual,
        iterations=iterations,
    )


def _floor(network: Network, floor_segments: float, floor: Array | None) -> Array:
    if floor is not None:
        if floor.shape != network.rtt_s.shape or not (np.isfinite(floor) & (floor >= 0)).all():
            raise ParameterError(f"floor of shape {floor.shape}: expected {network.rtt_s.shape} rates, none negative")
        return floor
    if not (np.isfinite(floor_segments) and floor_segments >= 0):
        raise ParameterError(f"floor_segments = {floor_segments!r}: a minimum window cannot be negative")
    return np.asarray(floor_segments / network.rtt_s)
