"""An equilibrium with queues: what stands before a full link lengthens the RTTs, and a short buffer leaves it idle.

`equilibrium` takes RTTs as they are. Here each bottleneck's mean queue follows from its discipline, the RTTs from the
queues, and the rates from the RTTs again, until nothing moves.

The windows that cross a link add up to a saw-tooth between (1 − d)U and U, in units of the bandwidth-delay product.
While it is above 1 the link is busy and the rest stands in the queue; below 1 the link idles in part. A round takes one
RTT, in proportion to max(u, 1), so that, with integrals from (1 − d)U to U,

    time ∝ ∫ max(u, 1) du,   sent ∝ ∫ u du,   queue ∝ ∫ (u − 1)⁺ max(u, 1) du.

A drop-tail queue of β products overflows at U = 1 + β. RED has no such edge: U is where the mean of its curve over the
segments sent, ∫ p(u) u du / ∫ u du, is the link's loss. One flow halves its window: d = 1/2 (a drop-tail queue of
β = 1 is then 5/9 full in the mean, and the link never idle). Of n flows, if all lost at once, d were 1/2 still; if one
at a time, 1/(2n). What happens lies in between: d = n^−s / 2, with an s of each discipline that the simulator shows for
2 to 20 flows (docs/models/engine.md has the figures). These two are the only fitted numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq

from .checks import Array, NotConvergedError, ParameterError, loss_rates, positive
from .control_laws import LAWS
from .equilibrium import Equilibrium
from .interior_point import InteriorPoint
from .link_laws import Capacity, RedCurve
from .network import Network

DROP_TAIL_SPREAD = 0.3
"""How far flows lose at different times at a drop-tail queue: s of d = n^−s / 2; 0 for together, 1 for apart."""

RED_SPREAD = 0.1
"""The same for RED: nearly together, as its average queue lags and so swings."""

_FULL = 1e-4
"""Part of the losses that a link must cause to count as full: nothing of a link that is not."""


@dataclass(frozen=True)
class DropTail:
    """First in, first out, of so many segments. Raises ParameterError (negative or infinite)."""

    limit_segments: float

    def __post_init__(self) -> None:
        if not 0 <= self.limit_segments < np.inf:
            raise ParameterError(f"a drop-tail queue of {self.limit_segments!r} segments: expected 0 or more")


Queue: TypeAlias = RedCurve | DropTail
"""A discipline with a law for its mean queue."""


def drop_tail_sawtooth(buffer: float, flows: float = 1.0) -> tuple[float, float]:
    """Mean queue, in bandwidth-delay products, and utilisation of a full link with a drop-tail queue.

    Args:
        buffer: the queue's limit in bandwidth-delay products, 0 or more.
        flows: how many flows share the link, at least 1.

    Raises:
        ParameterError: out of range.

    """
    if not 0 <= buffer < np.inf:
        raise ParameterError(f"a buffer of {buffer!r} products: expected 0 or more")
    return _means(1 + buffer, _drop(flows, DROP_TAIL_SPREAD))


def red_sawtooth(curve: RedCurve, loss: float, product: float, flows: float = 1.0) -> tuple[float, float]:
    """Mean queue, in bandwidth-delay products, and utilisation of a full link with a RED queue.

    Args:
        curve: RED's thresholds in segments.
        loss: mean loss, inside (0, 1).
        product: the bandwidth-delay product in segments.
        flows: how many flows share the link, at least 1.

    Raises:
        LossOutOfRangeError, ParameterError: out of range.

    """
    loss_rates(loss, name="loss")
    drop, edges = _drop(flows, RED_SPREAD), 1 + np.array(curve.thresholds) / positive("product", product, "segments")

    def excess(top: float) -> float:
        knots = np.unique(np.clip([0.0, 1.0, *edges, np.inf], (1 - drop) * top, top))
        # Between its knots the integrand is a polynomial of degree 2: two points a piece are exact.
        middle, half = (knots[1:] + knots[:-1]) / 2, np.diff(knots) / 2
        u = np.concatenate([middle - half / np.sqrt(3), middle + half / np.sqrt(3)])
        weight = np.tile(half, 2) * u
        lost = curve.probability(np.maximum(u - 1, 0) * product)
        return float((lost * weight).sum() / weight.sum()) - loss

    # The mean is 0 where the top is at the lower threshold, and 1 where the bottom is past the last.
    top = float(brentq(excess, edges[0], edges[-1] / (1 - drop) + 1))
    return _means(top, drop)


def _drop(flows: float, spread: float) -> float:
    if not 1 <= flows < np.inf:
        raise ParameterError(f"{flows!r} flows: expected 1 or more")
    return float(flows**-spread / 2)


def _means(top: float, drop: float) -> tuple[float, float]:
    """Mean queue and utilisation of the saw-tooth."""
    bottom = top * (1 - drop)
    knee = max(bottom, 1.0)
    idle = knee - bottom
    busy = (top**2 - knee**2) / 2
    queue = (top**3 - knee**3) / 3 - busy
    sent = (knee**2 - bottom**2) / 2 + busy
    return queue / (idle + busy), sent / (idle + busy)


def settle(
    network: Network,
    queues: Mapping[str, Queue],
    *,
    floor_segments: float = 1.0,
    ack_wait_s: float = 0.0,
    tolerance: float = 1e-7,
) -> Equilibrium:
    """Rates, losses, queues and RTTs that agree with each other.

    Args:
        network: links of plain `Capacity` and users; the RTTs are those of empty queues.
        queues: what stands before a link, by its name; no queue where none is given.
        floor_segments: least window on every route in segments: real windows do not go below 1.
        ack_wait_s: longest time that a receiver holds an ACK back, 0 for none. It waits for a second segment, so that
            an RTT is longer by the time between two, and by this at the most. Where a control may leave a route it is
            the mean time over the user's routes, so that being left makes no route worse.
        tolerance: largest relative change of an RTT in the last round.

    Returns the equilibrium; ``queue_packets`` is 0 on links that are not full and nan without a queue. The load of a
    link may stay below its capacity where a short buffer leaves it idle at times.

    Raises:
        UnknownControlError, ParameterError: a control or its parameters; a floor that alone overfills a link; a link
            that is no plain capacity; a queue at no link.
        NotConvergedError: the tolerance was not met.

    """
    for name, law in network.links.items():
        if not isinstance(law, Capacity) or law.red is not None:
            raise ParameterError(f"link {name!r}: expected a capacity without a law of its own, found {law!r}")
    for name in queues:
        if name not in network.links:
            raise ParameterError(f"a queue before {name!r}; the links are: {', '.join(map(repr, network.links))}")
    if ack_wait_s != 0:
        positive("ack_wait_s", ack_wait_s, "s")
    return _Settling(network, queues, floor_segments, ack_wait_s).run(tolerance)


class _Settling:
    def __init__(self, network: Network, queues: Mapping[str, Queue], floor_segments: float, ack_wait_s: float) -> None:
        self.network = network
        self.queues = [(network.link_names.index(name), queue) for name, queue in queues.items()]
        self.floor_segments = floor_segments
        self.ack_wait_s = ack_wait_s
        self.rtt = network.rtt_s.copy()
        self.queue = np.full(len(network.link_names), np.nan)
        self.factor = np.ones(len(network.link_names))
        self.empties = np.asarray([LAWS[user.control].empties for user in network.users])[network.owner]
        self.solver = InteriorPoint(network, self.floor)

    @property
    def floor(self) -> Array:
        return np.asarray(self.floor_segments / self.rtt)

    @property
    def rates(self) -> Array:
        return np.asarray(self.solver.floor + self.solver.v)

    @property
    def mean_gap(self) -> Array:
        """Mean time between segments of a route, over the routes of its user.

        For controls that may leave a route: a route would else be worse for being left, and stay so.
        """
        network = self.network
        routes = network.user_sums(np.ones(len(network.rtt_s)))
        return np.asarray((routes / network.user_sums(self.rates))[network.owner])

    def run(self, tolerance: float) -> Equilibrium:
        network, solver = self.network, self.solver
        iterations, change = 0, np.inf
        for _ in range(300):
            solver.floor = self.floor
            solver.capacity = (network.capacity * self.factor)[solver.used]
            # A precision beyond that of the RTTs is needed only where those have settled.
            residual, steps = solver.solve(self.rtt, 1e-9)
            iterations += steps
            if change < tolerance:
                break
            target = self._target()
            change = float(np.abs(target / self.rtt - 1).max())
            # Longer RTTs lower losses and so RED's queues: half a step, in the logarithm, does not overshoot.
            self.rtt = np.sqrt(self.rtt * target)
        else:
            raise NotConvergedError(f"queues and round-trip times still move by {change:.1e} relative")
        return Equilibrium(
            network=network,
            rates=self.rates,
            link_loss=solver.link_loss,
            queue_packets=self.queue,
            rtt_s=self.rtt,
            floor=solver.floor,
            residual=residual,
            iterations=iterations,
        )

    def _target(self) -> Array:
        """The RTTs that the queues make at these rates; updates the queues and what short buffers leave of a link."""
        network, rates = self.network, self.rates
        waiting = np.minimum(np.where(self.empties, self.mean_gap, 1 / rates), self.ack_wait_s)
        delay = np.where(np.isnan(self.queue), 0, self.queue) / network.capacity
        now = network.rtt_s + network.crossing.T @ delay + waiting
        loss = self.solver.link_loss
        route_loss = network.crossing.T @ loss + network.own_loss
        for link, queue in self.queues:
            crossing = network.load_matrix[[link], :].toarray().ravel() * rates
            load = float(crossing.sum())
            if load == 0:
                self.queue[link] = 0.0
                continue
            # What the link itself loses, of all that makes its flows yield: it is full as far as that goes.
            others = float(crossing @ network.own_loss + _FULL * crossing @ route_loss) / load
            full = float(loss[link]) / (float(loss[link]) + others)
            product = float(network.capacity[link] * (crossing @ (now - delay[link])) / load)
            # As many as it would be if all were alike (an inverse Herfindahl index).
            flows = max(load**2 / float((crossing**2 / network.count[network.owner]).sum()), 1.0)
            if isinstance(queue, DropTail):
                mean, utilisation = drop_tail_sawtooth(queue.limit_segments / product, flows)
            else:
                mean, utilisation = red_sawtooth(queue, float(np.clip(loss[link], 1e-12, 0.99)), product, flows)
            self.queue[link] = full * mean * product
            self.factor[link] = 1 - full * (1 - utilisation)
        delay = np.where(np.isnan(self.queue), 0, self.queue) / network.capacity
        return np.asarray(network.rtt_s + network.crossing.T @ delay + waiting)
