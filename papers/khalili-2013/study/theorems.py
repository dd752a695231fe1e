"""Theorems 1, 3 and 4 and corollary 2 of section V, tried on random networks.

Each fixed point is the end of a trajectory of the fluid model (eq. 8), not the answer of our equilibrium solver, which
uses theorem 1. (LIA's, which stand beside for comparison, are the solver's.) What the theorems say of it is then looked
for independently: TCP's rate from the loss of its paths, and better allocations by a convex programme (C is convex, the
users' measures are linear, V is concave).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import polars as pl
from mptcplab.models.checks import Array
from mptcplab.models.equilibrium import equilibrium
from mptcplab.models.fluid import FluidModel, trajectory
from mptcplab.models.link_laws import PowerLaw
from mptcplab.models.network import Network, Route, User
from mptcplab.reproduce import Claim, Context, Equality, Outcome, Share, every
from scipy.optimize import Bounds, NonlinearConstraint, minimize

DURATION_S: Final = 1e7
SAMPLES: Final = 400
BEST: Final = 0.98
"""A path counts as one of the best from this share of the best one's TCP rate: ties are blurred (models/fluid.py)."""


def random_network(seed: int, control: str, *, equal_rtts: bool) -> Network:
    """2 to 5 links with loss laws, 2 to 5 users with 1 to 3 paths of 1 to 3 links each, round trips of 10 to 200 ms."""
    random = np.random.default_rng([2013, seed])
    links = {
        f"l{i}": PowerLaw(float(10 ** random.uniform(4, 6)), 0.01, float(random.uniform(2, 12)))
        for i in range(int(random.integers(2, 6)))
    }
    users = []
    for u in range(int(random.integers(2, 6))):
        common = float(random.uniform(0.01, 0.2))
        routes = []
        for _ in range(int(random.integers(1, 4))):
            crossed = random.choice(len(links), size=min(len(links), int(random.integers(1, 4))), replace=False)
            own = float(random.uniform(0.01, 0.2))
            routes.append(Route(tuple(f"l{i}" for i in crossed), common if equal_rtts else own))
        users.append(User(f"u{u}", control, tuple(routes)))
    return Network(links, users)


@dataclass(frozen=True)
class FixedPoint:
    """Where a network's rates come to rest."""

    network: Network
    rates: Array
    """Segments/s by route, (R,)."""
    utility: Array
    """V along the trajectory, (SAMPLES,)."""

    @property
    def model(self) -> FluidModel:
        """Its fluid model."""
        return FluidModel(self.network)

    @property
    def tcp(self) -> Array:
        """What a TCP would get on each route at the fixed point's losses, (R,)."""
        loss = np.asarray(self.network.crossing.T @ self.model.link_loss(self.rates))
        return np.asarray(np.sqrt(2 / loss) / self.network.rtt_s)

    def parts(self) -> list[slice]:
        """The routes of each user."""
        return [self.network.routes_of(user.name) for user in self.network.users]


@cache
def fixed_points(count: int, *, equal_rtts: bool) -> list[FixedPoint]:
    """OLIA's, of so many networks."""
    found = []
    for seed in range(count):
        network = random_network(seed, "olia", equal_rtts=equal_rtts)
        model = FluidModel(network)
        crowd = float(np.asarray(network.load_matrix.sum(axis=1)).max())
        start = np.random.default_rng([4, seed]).uniform(0.1, 1.0, len(network.rtt_s)) * network.capacity.min() / crowd
        path = trajectory(network, start, DURATION_S, samples=SAMPLES)
        found.append(FixedPoint(network, path.final, np.array([model.utility(rates) for rates in path.rates])))
    return found


def lia_points(count: int, *, equal_rtts: bool) -> list[FixedPoint]:
    """LIA's on the same networks."""
    found = []
    for seed in range(count):
        network = random_network(seed, "lia", equal_rtts=equal_rtts)
        capped = [User(user.name, "lia-capped", user.routes) for user in network.users]
        rates = equilibrium(Network(network.links, capped)).rates
        found.append(FixedPoint(network, rates, np.empty(0)))
    return found


def improvement(point: FixedPoint) -> float:
    """By what part the users' Σ x/rtt² can grow, in the mean, if none loses and C(x) does not grow.

    Theorem 3 says 0 of OLIA's fixed points.
    """
    network, model = point.network, point.model
    weight = 1 / network.rtt_s**2
    unit = np.maximum(point.rates, 1e-3 * point.rates.max())
    now = network.user_sums(weight * point.rates)
    cost = model.congestion_cost(point.rates)

    def gain(y: Array) -> Array:
        return np.asarray(network.user_sums(weight * unit * y) / now - 1)

    def slope(y: Array) -> Array:
        loss = np.asarray(network.crossing.T @ model.link_loss(unit * y))
        return np.asarray(loss * unit / cost)

    rows: Array = np.array([network.user_sums(weight * unit * one) / now for one in np.eye(len(unit))]).T
    answer = minimize(  # type: ignore[call-overload]  # the stubs know no list of constraints with these bounds
        lambda y: -float(gain(y).sum()),
        point.rates / unit,
        jac=lambda _: np.asarray(-rows.sum(axis=0)),
        bounds=Bounds(0.0, np.inf),
        constraints=[
            NonlinearConstraint(gain, 0.0, np.inf, jac=lambda _: rows),
            NonlinearConstraint(lambda y: np.array([model.congestion_cost(unit * y) / cost]), -np.inf, 1.0, jac=slope),
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    best = np.asarray(answer.x)
    feasible = gain(best).min() > -1e-6 and model.congestion_cost(unit * best) < cost * (1 + 1e-6)
    return max(float(gain(best).mean()), 0.0) if feasible else float("nan")


def maximum_of_v(point: FixedPoint) -> float:
    """The largest V of any rates, by a quasi-Newton method that knows nothing of OLIA."""
    model = point.model
    unit = float(point.rates.max())
    scale = abs(float(point.utility[-1]))

    def negative(y: Array) -> float:
        return -model.utility(y * unit) / scale

    def slope(y: Array) -> Array:
        # dV/dx_r = 1/(rtt² X²) − p_r/2, for one connection a user and an acknowledgment a segment.
        network, rates = point.network, y * unit
        total = np.repeat(network.user_sums(rates), [part.stop - part.start for part in point.parts()])
        loss = np.asarray(network.crossing.T @ model.link_loss(rates))
        return np.asarray((loss / 2 - 1 / (network.rtt_s * total) ** 2) * unit / scale)

    start = np.full(len(point.rates), 0.1)
    answer = minimize(
        negative,
        start,
        jac=slope,
        bounds=Bounds(1e-9, np.inf),
        method="L-BFGS-B",
        options={"maxfun": 200_000, "maxiter": 5000, "ftol": 1e-14, "gtol": 1e-10},
    )
    return -float(answer.fun) * scale


def _each(points: Sequence[FixedPoint], value: Callable[[FixedPoint, slice], float]) -> list[float]:
    """One value a user."""
    return [value(point, part) for point in points for part in point.parts()]


def _to_best(point: FixedPoint, part: slice) -> float:
    return float(point.rates[part].sum() / point.tcp[part].max())


def _off_best(point: FixedPoint, part: slice) -> float:
    tcp, rates = point.tcp[part], point.rates[part]
    return float(rates[tcp < BEST * tcp.max()].sum() / rates.sum())


def section_v(context: Context) -> Outcome:
    """Theorems 1, 3, 4 and corollary 2."""
    count = 10 if context.quick else 40
    equal, apart = (fixed_points(count, equal_rtts=same) for same in (True, False))
    everything = [*equal, *apart]
    lia = [*lia_points(count, equal_rtts=True), *lia_points(count, equal_rtts=False)]
    totals = _each(everything, _to_best)
    off = _each(everything, _off_best)
    most = _each(everything, lambda point, part: float((point.rates[part] / point.tcp[part]).max()))
    gains = [improvement(point) for point in everything]
    lia_gains = [improvement(point) for point in lia]
    falls = [float(-np.diff(point.utility).min() / abs(point.utility[-1])) for point in equal]
    heights = [float(point.utility[-1]) / maximum_of_v(point) for point in equal]
    claims = [
        Claim(
            "theorem-1-best",
            "At a fixed point of OLIA a user sends on its best paths only",
            "nothing elsewhere",
            f"at most {100 * max(off):.2g} % of a user's traffic is elsewhere",
            every(Share(0.0, each) for each in off),
        ),
        Claim(
            "theorem-1-total",
            "In total it gets what a TCP would get on the best of its paths",
            "the same rate",
            f"{min(totals):.4f} to {max(totals):.4f} of it",
            every(Equality(each, 1.0) for each in totals),
        ),
        Claim(
            "corollary-2",
            "OLIA meets the three goals of RFC 6356: no less than TCP on the best path, on no path more than TCP would "
            "get there, nothing on the more congested paths",
            "all three",
            f"at least {min(totals):.4f} of TCP's rate; on no path more than {max(most):.4f} of TCP's; at most "
            f"{100 * max(off):.2g} % of the traffic on other than the best paths",
            every(
                [Equality(each, 1.0) for each in totals],
                [Share(0.0, max(each - 1, 0.0)) for each in most],
                [Share(0.0, each) for each in off],
            ),
        ),
        Claim(
            "theorem-3",
            "A fixed point of OLIA is Pareto-optimal: no allocation gives some users a larger Σ x/rtt² without giving "
            "others less or raising the congestion cost",
            "no gain",
            f"at most {100 * max(gains):.2g} % in the mean of the users (LIA's on the same networks: median "
            f"{100 * float(np.median(lia_gains)):.0f} %, at most {100 * max(lia_gains):.0f} %)",
            every(Share(0.0, each) for each in gains),
        ),
        Claim(
            "theorem-4",
            "Where all paths of a user have the same round-trip time, OLIA converges to a maximum of V",
            "the maximum",
            f"V never falls by more than {100 * max(max(falls), 0.0):.1g} % and ends within "
            f"{100 * max(abs(each - 1) for each in heights):.2g} % of the maximum found without OLIA",
            every([Equality(each, 1.0) for each in heights], [Share(0.0, max(each, 0.0)) for each in falls]),
        ),
    ]
    frame = pl.DataFrame(
        [
            {
                "control": control,
                "round trips of a user's paths": name,
                "networks": len(points),
                "total to TCP on the best path": f"{min(own):.4f} to {max(own):.4f}",
                "off the best paths, median": float(np.median(_each(points, _off_best))),
                "off the best paths, most": max(_each(points, _off_best)),
                "possible gain, median": float(np.median([improvement(point) for point in points])),
                "possible gain, most": max(improvement(point) for point in points),
            }
            for control, name, points in (
                ("OLIA", "equal", equal),
                ("OLIA", "different", apart),
                ("LIA", "equal", lia[:count]),
                ("LIA", "different", lia[count:]),
            )
            for own in [_each(points, _to_best)]
        ]
    )
    return Outcome(
        claims,
        tables=[("Fixed points of the fluid models on random networks", frame)],
        notes=[
            f"{2 * count} random networks: 2 to 5 links with loss laws, 2 to 5 users with 1 to 3 paths; half of them "
            "with one round-trip time a user.",
            "Fixed points are ends of trajectories of the fluid model; best rates, better allocations and the "
            "maximum of V are computed without OLIA's equations.",
        ],
    )
