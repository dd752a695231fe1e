"""The solver behind `equilibrium` and `optimum`: a primal-dual interior-point method for the whole network.

Products that should vanish (a link's loss times its spare capacity; a route's rate above its floor times the excess of
its loss) are held equal to a barrier that goes to zero. Each Newton step eliminates the rates connection by connection,
so that a dense system of the size of the links remains. Logarithms of rates and losses are used throughout, because the
laws are powers and so nearly straight in them.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .checks import Array, NotConvergedError, ParameterError
from .control_laws import ControlLaw, law_of
from .link_laws import PowerLaw
from .network import Network


class _Group:
    """Users of one control with the same number of routes: their law is evaluated in one batch."""

    def __init__(self, network: Network, control: str, members: list[int], floored: bool) -> None:
        first = np.searchsorted(network.owner, members)
        self.routes = first[:, None] + np.arange(len(network.users[members[0]].routes))
        self.law: ControlLaw
        self.law, self.parameters = law_of(control, [network.users[u].parameters for u in members])
        self.b = network.b[members][:, None]
        self.complementary = self.law.empties or floored

    def evaluate(self, x: Array, rtt: Array) -> tuple[Array, Array]:
        """Log of the loss asked for and its derivative by log x."""
        return self.law.law(x[self.routes], rtt[self.routes], self.b, self.parameters)


def _groups(network: Network, floored: bool) -> list[_Group]:
    members: dict[tuple[str, int], list[int]] = {}
    for u, user in enumerate(network.users):
        members.setdefault((user.control, len(user.routes)), []).append(u)
    return [_Group(network, control, users, floored) for (control, _), users in members.items()]


class InteriorPoint:
    """The point: rates above their floors ``v``, losses, slacks of the links, gaps of the routes.

    It is kept between solutions, so that a next one starts from the last.
    """

    QUICK_STEPS = 80
    SAFE_STEPS = 600

    def __init__(self, network: Network, floor: Array) -> None:
        self.network = network
        # A link that no route crosses has no load, no loss and no part in the equations.
        self.used = np.flatnonzero(np.asarray(network.crossing.sum(axis=1)).ravel() > 0)
        self.load = sp.csr_array(network.load_matrix[self.used])
        self.price = sp.csr_array(network.crossing[self.used].T)
        self.capacity = network.capacity[self.used]
        self.hard = network.hard[self.used]
        self.groups = _groups(network, bool((floor > 0).any()))
        self.floor = floor
        self.own_loss: Array = network.own_loss
        self.complementary = np.zeros(len(network.rtt_s), dtype=np.bool_)
        for group in self.groups:
            self.complementary[group.routes] = group.complementary
        names = [network.link_names[i] for i in self.used]
        laws = [law for law in (network.links[name] for name in names) if isinstance(law, PowerLaw)]
        self.power = np.asarray([law.exponent for law in laws])
        self.log_scale = np.asarray([np.log(law.loss_at_capacity) for law in laws])
        pairs = [(g.routes[:, :, None], g.routes[:, None, :]) for g in self.groups]
        shapes = [np.broadcast_shapes(r.shape, c.shape) for r, c in pairs]
        rows = np.concatenate([np.broadcast_to(r, s).ravel() for (r, _), s in zip(pairs, shapes, strict=True)])
        columns = np.concatenate([np.broadcast_to(c, s).ravel() for (_, c), s in zip(pairs, shapes, strict=True)])
        # The blocks stand at the same places in every step: only the numbers change.
        numbered = sp.csr_array(sp.coo_array((np.arange(len(rows)), (rows, columns))))
        self.block_order, self.block_places = numbered.data, (numbered.indices, numbered.indptr)
        self._start()

    def _start(self) -> None:
        network, capacity = self.network, self.capacity
        free = capacity - self.load @ self.floor
        if (free[self.hard] <= 0).any():
            worst = int(np.argmin(np.where(self.hard, free / capacity, np.inf)))
            raise ParameterError(
                f"link {network.link_names[self.used[worst]]!r}: the least traffic of its routes alone, "
                f"{capacity[worst] - free[worst]:g} segments/s, fills its capacity of {capacity[worst]:g}; fewer users "
                "or a larger capacity would do"
            )
        crowd = np.asarray(self.load.sum(axis=1)).ravel()
        per_route = np.where(self.hard, free, capacity) / crowd
        tightest = np.array([per_route[self.price[[r], :].indices].min() for r in range(self.price.shape[0])])
        self.v = 0.7 * tightest
        self.reference = tightest.copy()
        self.slack = np.maximum(capacity - self.load @ (self.floor + self.v), 0.1 * capacity)
        asked = np.exp(self.laws(self.floor + self.v, network.rtt_s)[0])
        hops: Array = np.asarray(self.price.sum(axis=1)).ravel()
        self.loss: Array = np.asarray(self.price.T @ (asked / hops)) / np.asarray(self.price.sum(axis=0)).ravel()
        self.loss_reference = self.loss.copy()
        self.gap = np.where(self.complementary, 1.0, 0.0)

    @property
    def link_loss(self) -> Array:
        """Loss of every link of the network, 0 where no route crosses."""
        loss = np.zeros(len(self.network.link_names))
        loss[self.used] = self.loss
        return loss

    def answer(self, own_loss: Array, alpha: Array) -> None:
        """From now on each route loses this besides its links, (R,), and increases by α where its law has one, (R,)."""
        self.own_loss = own_loss
        for group in self.groups:
            if group.law.responds:
                group.parameters["alpha"] = alpha[group.routes]

    def laws(self, x: Array, rtt: Array) -> tuple[Array, list[Array]]:
        """Log of the loss that each control asks for at these rates, (R,), and its derivatives, group by group."""
        log_asked = np.empty(len(x))
        jacobians = []
        for group in self.groups:
            value, jacobian = group.evaluate(x, rtt)
            log_asked[group.routes] = value
            jacobians.append(jacobian)
        return log_asked, jacobians

    def solve(self, rtt: Array, tolerance: float) -> tuple[float, int]:
        """Move the point to the equilibrium at these RTTs; residual and number of steps.

        First with full steps that only hold each unknown to a tenth of itself: a tenth of the steps on large networks,
        where one route of thousands would else hold all the others back. It is not sure to converge; if it does not,
        again from the start with one step length for all, as interior-point methods do.
        """
        residual, steps = self._iterate(rtt, tolerance, self.QUICK_STEPS, together=False)
        if not residual < tolerance:
            self._start()
            residual, more = self._iterate(rtt, tolerance, self.SAFE_STEPS, together=True)
            steps += more
        if not residual < tolerance:
            raise NotConvergedError(
                f"equilibrium of {len(self.network.users)} users on {len(self.capacity)} links: relative residual "
                f"{residual:.1e} after {steps} steps, wanted {tolerance:.1e}"
            )
        return residual, steps

    def _iterate(self, rtt: Array, tolerance: float, limit: int, *, together: bool) -> tuple[float, int]:
        step = 0.0
        residual = np.inf
        for iteration in range(limit):
            try:
                with np.errstate(all="ignore"):  # a runaway point shows as a residual that is not a number
                    system = _System(self, rtt)
                    residual = system.residual
                    if residual < tolerance or not np.isfinite(residual):
                        return residual, iteration
                    # A long step earns a deep cut of the barrier; a short one asks to come back to the centre first.
                    cut = (0.02 if step > 0.9 else 0.2 if step > 0.3 else 0.7) if together else 0.2
                    # Below the tolerance a cut gains nothing and costs digits: blocks of tied routes grow singular.
                    direction = system.direction(max(cut * system.mean, 0.1 * tolerance))
            except np.linalg.LinAlgError:
                return np.inf, iteration
            step = self._reach(direction) if together else 1.0
            self._move(direction, step)
        return residual, limit

    def _reach(self, direction: "_Direction") -> float:
        """The longest step that keeps all that must stay positive so, and logarithms within 2."""
        step = min(1.0, 2.0 / max(float(np.abs(direction.bent).max()), 1e-300))
        pairs = (
            (self.loss, direction.loss),
            (self.slack, direction.slack),
            (self.gap, direction.gap),
            (self.v, direction.v),
        )
        for value, change in pairs:
            falling = change < 0
            if falling.any():
                step = min(step, 0.99 * float((-value[falling] / change[falling]).min()))
        return step

    def _move(self, direction: "_Direction", step: float) -> None:
        """Take the step; a full one leaves each unknown at least a tenth of itself."""
        least = 0.1 if step == 1 else 0.0
        self.v = np.where(
            self.complementary,
            np.maximum(self.v + step * direction.v, least * self.v),
            self.v * np.exp(np.clip(step * direction.bent, -2, 2)),
        )
        self.loss = np.maximum(self.loss + step * direction.loss, least * self.loss)
        self.slack = np.maximum(self.slack + step * direction.slack, least * self.slack)
        self.gap = np.maximum(self.gap + step * direction.gap, least * self.gap)

    def inverse_blocks(self, jacobians: list[Array], x: Array) -> sp.csr_array:
        """Inverse of the routes' part of the Newton matrix: a small dense block for each connection."""
        size = len(x)
        part = self.v / x  # derivative by log v instead of log x
        blocks = []
        for group, jacobian in zip(self.groups, jacobians, strict=True):
            matrix = -jacobian * part[group.routes][:, None, :]
            diagonal = np.arange(matrix.shape[1])
            matrix[:, diagonal, diagonal] += self.gap[group.routes]
            blocks.append(np.linalg.inv(matrix).ravel())
        return sp.csr_array((np.concatenate(blocks)[self.block_order], *self.block_places), shape=(size, size))


@dataclass(frozen=True)
class _Direction:
    """A change of the point: rates (in their logarithm, ``bent``, or straight, ``v``), losses, slacks and gaps."""

    bent: Array
    v: Array
    loss: Array
    slack: Array
    gap: Array


def _scaled(matrix: sp.csr_array, factors: Array) -> sp.csr_array:
    """The matrix with a factor for each of its entries."""
    return sp.csr_array((matrix.data * factors, matrix.indices, matrix.indptr), shape=matrix.shape)


class _System:
    """The equations at the point and their linearisation, eliminated down to the links."""

    def __init__(self, point: InteriorPoint, rtt: Array) -> None:
        self.point = point
        hard, capacity = point.hard, point.capacity
        x = point.floor + point.v
        self.p: Array = np.asarray(point.price @ point.loss) + point.own_loss
        log_asked, jacobians = point.laws(x, rtt)
        self.law_error = np.log(self.p) - log_asked - point.gap
        load = point.load @ x
        self.over = np.where(hard, point.slack + load - capacity, 0.0)
        curved = ~hard
        log_law = point.log_scale + point.power * np.log(load[curved] / capacity[curved])
        self.curve_error = log_law - np.log(point.loss[curved])
        links = (point.loss * point.slack / (point.loss_reference * capacity))[hard]
        routes = (point.gap * point.v / point.reference)[point.complementary]
        self.products = np.concatenate([links, routes])
        self.mean = float(self.products.mean()) if self.products.size else 0.0
        errors = (self.law_error, self.over / capacity, self.curve_error, self.products)
        self.residual = max(float(np.abs(error).max(initial=0)) for error in errors)

        self.inverse = point.inverse_blocks(jacobians, x)
        self.gained = _scaled(point.load, point.v[point.load.indices]) @ self.inverse
        per_route = np.repeat(1 / self.p, np.diff(point.price.indptr))
        schur = (self.gained @ _scaled(point.price, per_route)).toarray()
        self.curve = load[curved] / point.power
        diagonal = np.empty(len(capacity))
        diagonal[hard] = (point.slack / point.loss)[hard]
        diagonal[curved] = self.curve / point.loss[curved]
        schur[np.diag_indices_from(schur)] += diagonal
        # Losses span many powers of ten (a sharp law far below its capacity): each unknown is its relative change,
        # each equation a fraction of the capacity.
        self.schur = schur * point.loss[None, :] / capacity[:, None]

    def direction(self, barrier: float) -> _Direction:
        """The Newton step towards products equal to ``barrier``."""
        point, hard = self.point, self.point.hard
        route_target = barrier * point.reference
        link_target = barrier * point.loss_reference * point.capacity
        gap_pull = np.where(point.complementary, route_target / point.v - point.gap, 0.0)
        pull = gap_pull - self.law_error
        right = self.gained @ pull
        right[hard] += (self.over + link_target / point.loss - point.slack)[hard]
        right[~hard] += self.curve_error * self.curve
        d_loss: Array = point.loss * np.linalg.solve(self.schur, right / point.capacity)
        d_log_v = self.inverse @ (pull - np.asarray(point.price @ d_loss) / self.p)
        d_v = point.v * d_log_v
        # Where a law holds on every route its rate moves in the logarithm; where routes may empty, in the rate itself:
        # there v = μ/gap must follow μ down by any factor in one step.
        return _Direction(
            bent=np.where(point.complementary, 0.0, d_log_v),
            v=np.where(point.complementary, d_v, 0.0),
            loss=d_loss,
            slack=np.where(hard, -self.over - point.load @ d_v, 0.0),
            gap=np.where(point.complementary, gap_pull - point.gap * d_log_v, 0.0),
        )
