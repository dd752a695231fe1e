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

Where all flows answer to delay before loss (PERT), the queue is the inverse of their response (`pert`), and the link is
never idle: the price of such a link is the equivalent loss. Where only some do, the queue is that of the losses, and
their early responses are a loss of their own (`pert_mix`).
"""

from collections.abc import Mapping, Sequence
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
from .pert import Response
from .pert_mix import Mixed

DROP_TAIL_SPREAD = 0.3
"""How far flows lose at different times at a drop-tail queue: s of d = n^−s / 2; 0 for together, 1 for apart."""

RED_SPREAD = 0.1
"""The same for RED: nearly together, as its average queue lags and so swings."""

_FULL = 1e-3
"""Part of the losses that a link must cause to count as full: nothing of a link that is not."""

_ROUNDS = 400
_FIRST_STEP = 0.5
_LARGEST_STEP = 0.7
_GROWTH = 1.05
"""How each link's queue approaches what its discipline wants; faster growth makes networks of 10 links swing."""


@dataclass(frozen=True)
class DropTail:
    """First in, first out, of so many segments. Raises ParameterError (negative or infinite)."""

    limit_segments: float

    def __post_init__(self) -> None:
        if not 0 <= self.limit_segments < np.inf:
            raise ParameterError(f"a drop-tail queue of {self.limit_segments!r} segments: expected 0 or more")


@dataclass(frozen=True)
class EarlyResponse:
    """Any discipline that only PERT flows of one response use.

    PERT sees the sum of the delays of its route; here each queue is answered for itself, so a route should have one.
    """

    response: Response


Queue: TypeAlias = RedCurve | DropTail | EarlyResponse
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
        raise ParameterError(f"a buffer of {buffer!r} BDP: expected 0 or more")
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
    mixed: Mapping[str, Sequence[Mixed | None]] | None = None,
    floor_segments: float = 1.0,
    ack_wait_s: float = 0.0,
    tolerance: float = 1e-7,
) -> Equilibrium:
    """Rates, losses, queues and RTTs that agree with each other.

    Args:
        network: links of plain `Capacity` and users; the RTTs are those of empty queues.
        queues: what stands before a link, by its name; no queue where none is given.
        mixed: how PERT's subflows answer to the delay on routes that flows share which answer to losses, by the name of
            their user, one a route; None for a route that has an `EarlyResponse`.
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
    return _Settling(network, queues, mixed or {}, floor_segments, ack_wait_s).run(tolerance)


class _Settling:
    def __init__(
        self,
        network: Network,
        queues: Mapping[str, Queue],
        mixed: Mapping[str, Sequence[Mixed | None]],
        floor_segments: float,
        ack_wait_s: float,
    ) -> None:
        self.network = network
        self.mixed: dict[int, Mixed] = {}
        for name, responses in mixed.items():
            part = network.routes_of(name)
            if (
                not LAWS[network.users[network.owner[part.start]].control].responds
                or len(responses) != part.stop - part.start
            ):
                raise ParameterError(f"user {name!r}: expected a delay-based control, and a response for each route")
            self.mixed |= {
                route: each for route, each in zip(range(part.start, part.stop), responses, strict=True) if each
            }
        # What PERT's subflows add to the loss of their routes, and the logarithm of their α.
        self.early = np.zeros((2, len(network.rtt_s)))
        self.queues = [(network.link_names.index(name), queue) for name, queue in queues.items()]
        self.floor_segments = floor_segments
        self.ack_wait_s = ack_wait_s
        self.rtt = network.rtt_s.copy()
        self.queue = np.zeros(len(network.link_names))
        self.queueing = np.isin(np.arange(len(network.link_names)), [link for link, _ in self.queues])
        self.factor = np.ones(len(network.link_names))
        self.empties = np.asarray([LAWS[user.control].empties for user in network.users])[network.owner]
        rows = network.load_matrix
        self.routes = np.split(rows.indices, rows.indptr[1:-1])
        self.loads = np.split(rows.data, rows.indptr[1:-1])
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
        step, last = np.full((2, len(self.queue)), _FIRST_STEP), np.zeros((2, len(self.queue)))
        early_step, early_last = np.full(self.early.shape, _FIRST_STEP), np.zeros(self.early.shape)
        iterations, change = 0, np.inf
        for _ in range(_ROUNDS):
            solver.floor = self.floor
            solver.capacity = (network.capacity * self.factor)[solver.used]
            residual, steps = solver.solve(self.rtt, 1e-9)
            iterations += steps
            if change < tolerance:
                break
            waiting = np.minimum(np.where(self.empties, self.mean_gap, 1 / self.rates), self.ack_wait_s)
            wanted = self._wanted(waiting) - np.array([self.queue, self.factor])
            # A link may be full or not by a hair, and its queue jump: who overshoots goes on with smaller steps.
            step = np.clip(np.where(wanted * last < 0, step / 2, step * _GROWTH), 0, _LARGEST_STEP)
            last = wanted
            self.queue, self.factor = np.array([self.queue, self.factor]) + step * wanted
            rtt = network.rtt_s + network.crossing.T @ (self.queue / network.capacity) + waiting
            # Half of the way in the logarithm: a wait is in inverse proportion to the rate, and so to the RTT itself.
            rtt = np.sqrt(self.rtt * rtt)
            change = float(max(np.abs(rtt / self.rtt - 1).max(), np.abs(step[1] * wanted[1]).max()))
            if self.mixed:
                more = self._answers() - self.early
                early_step = np.clip(
                    np.where(more * early_last < 0, early_step / 2, early_step * _GROWTH), 0, _LARGEST_STEP
                )
                early_last = more
                self.early = self.early + early_step * more
                price = network.crossing.T @ solver.link_loss + solver.own_loss
                change = max(change, float((np.abs(more) / np.array([price, np.ones(len(price))])).max()))
                solver.answer(network.own_loss + self.early[0], np.exp(self.early[1]))
            self.rtt = rtt
        else:
            raise NotConvergedError(f"queues and round-trip times still move by {change:.1e} relative")
        return Equilibrium(
            network=network,
            rates=self.rates,
            link_loss=solver.link_loss,
            queue_packets=np.where(self.queueing, self.queue, np.nan),
            rtt_s=self.rtt,
            floor=solver.floor,
            residual=residual,
            iterations=iterations,
        )

    def _answers(self) -> Array:
        """What PERT's subflows would add to the loss at these queues, and the logarithm of their α."""
        network = self.network
        delay = np.asarray(network.crossing.T @ (self.queue / network.capacity))
        loss = np.asarray(network.crossing.T @ self.solver.link_loss) + network.own_loss
        answers = np.zeros(self.early.shape)
        for route, each in self.mixed.items():
            rtt_s = float(self.rtt[route])
            window = float(self.rates[route]) * rtt_s
            added, alpha = each.answer(float(delay[route]), window, rtt_s, float(loss[route]))
            answers[:, route] = added, np.log(alpha)
        return answers

    def _wanted(self, waiting: Array) -> Array:
        """The queues that the disciplines make at these rates, and the parts of capacities that they leave."""
        network, rates = self.network, self.rates
        delay = self.queue / network.capacity
        now = network.rtt_s + network.crossing.T @ delay + waiting
        loss = self.solver.link_loss
        route_loss = network.crossing.T @ loss + network.own_loss + self.early[0]
        wanted = np.array([np.zeros(len(self.queue)), np.ones(len(self.queue))])
        for link, queue in self.queues:
            routes = self.routes[link]
            crossing = self.loads[link] * rates[routes]
            load = float(crossing.sum())
            if load == 0:
                continue
            # What the link itself loses, of all that makes its flows yield: it is full as far as that goes.
            others = float(crossing @ (network.own_loss + _FULL * route_loss)[routes]) / load
            full = float(loss[link]) / (float(loss[link]) + others)
            product = float(network.capacity[link] * (crossing @ (now[routes] - delay[link])) / load)
            # As many as it would be if all were alike (an inverse Herfindahl index).
            flows = max(load**2 / float((crossing**2 / network.count[network.owner[routes]]).sum()), 1.0)
            if isinstance(queue, EarlyResponse):
                window = float(crossing @ (rates * now)[routes]) / load
                wanted[0, link] = full * queue.response.delay_s(float(loss[link]), window) * network.capacity[link]
                continue
            if isinstance(queue, DropTail):
                mean, utilisation = drop_tail_sawtooth(queue.limit_segments / product, flows)
            else:
                mean, utilisation = red_sawtooth(queue, float(np.clip(loss[link], 1e-12, 0.99)), product, flows)
            wanted[:, link] = full * mean * product, 1 - full * (1 - utilisation)
        return wanted
