"""Section V: theorems 1, 3 and 4 and corollary 2 on random networks, where OLIA's own equation (8) comes to rest.

The solver of equilibria takes theorem 1 for granted, so rates are followed by equation (8) from a random beginning
until they rest; what they are held against (TCP's formula, convex programs) knows nothing of OLIA.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
from mptcplab.models.fluid import FluidModel, trajectory
from mptcplab.models.link_laws import PowerLaw
from mptcplab.models.network import Network, Route, User
from mptcplab.reproduce import Claim, Context, Equality, Outcome, Share, every
from scipy.optimize import minimize

Floats = npt.NDArray[np.float64]

_NETWORKS: Final = 20
_QUICK: Final = 4
_SPANS_S: Final = (1e2, 1e5, 1e9)
"""V must rise over each of them, at 50 instants; after the last the rates rest."""
_LEAST: Final = 1e-9
"""Of the largest rate: what a path has that is not used."""
_BLUR: Final = 1e-5
"""Relative width of OLIA's ties, a tenth of the solver's default: so precise are the rates at rest."""
_NEAR: Final = 0.02
"""Paths whose TCP would get 2 % less than on the best count as best: the rates come to rest on ties."""
_NOTE: Final = (
    "Networks of two to five links that lose by a power of their load (remark 1), and two to five users with up to "
    "three paths each; in one half of them the paths of a user have different RTTs, which theorem 4 excludes. OLIA "
    "and LIA begin at the same random rates."
)
_CAUSE: Final = "Not known."


@dataclass(frozen=True)
class Rest:
    """Where a network came to rest; the worst of its users."""

    off_best: float
    """Part of a user's rate that is on other than its best paths (theorem 1 i)."""
    total: float
    """A user's rate over that of a TCP on its best path: the farthest from 1 (theorem 1 ii, goal 1)."""
    excess: float
    """What a subflow has above a TCP on its path, over that TCP's rate (goal 2)."""
    congested: float
    """Part of a user's rate on paths that lose more than its least lossy one; RTTs equal (goal 3)."""
    gain: float
    """What all users could gain at the same congestion cost without loss for any, over what they have (theorem 3)."""
    fall: float
    """The largest fall of V on the way, over its value at rest (theorem 4)."""
    below: float
    """V at rest over its maximum."""


def random_network(seed: int, control: str) -> Network:
    """Reproducible from the seed; RTTs of 10 to 200 ms, equal for each user where the seed is even."""
    random = np.random.default_rng(seed)
    links = {
        f"l{i}": PowerLaw(float(10 ** random.uniform(4, 5)), 0.01, float(random.uniform(2, 12)))
        for i in range(random.integers(2, 5, endpoint=True))
    }
    users = []
    for u in range(random.integers(2, 5, endpoint=True)):
        common = random.uniform(0.01, 0.2)
        routes = []
        for _ in range(random.integers(1, 3, endpoint=True)):
            crossed = random.choice(len(links), size=random.integers(1, 2, endpoint=True), replace=False)
            own = random.uniform(0.01, 0.2)
            routes.append(Route(tuple(f"l{i}" for i in crossed), float(common if seed % 2 == 0 else own)))
        users.append(User(f"u{u}", control, tuple(routes)))
    return Network(links, users)


def settled(seed: int, control: str) -> Rest:
    """Follows the rates from a random beginning to their rest and holds the theorems against it."""
    network = random_network(seed, control)
    model = FluidModel(network, _BLUR)
    crowd = np.asarray(network.load_matrix.sum(axis=1)).ravel().max()
    start = np.random.default_rng(seed).uniform(0.1, 1.0, len(network.rtt_s)) * network.capacity.min() / crowd
    rates, falls = start, 0.0
    for span_s in _SPANS_S:
        way = trajectory(network, start, span_s, samples=50, blur=_BLUR)
        value = np.array([model.utility(row) for row in way.rates])
        falls = max(falls, -float(np.diff(value).min()) / abs(value[-1]))
        rates = way.final
    loss = np.asarray(network.crossing.T @ model.link_loss(rates))
    tcp = np.sqrt(2 / loss) / network.rtt_s
    off, total, excess, congested = 0.0, 1.0, 0.0, 0.0
    for user in network.users:
        part = network.routes_of(user.name)
        mine, alone, lost = rates[part], tcp[part], loss[part]
        off = max(off, mine[alone < (1 - _NEAR) * alone.max()].sum() / mine.sum())
        ratio = mine.sum() / alone.max()
        total = ratio if abs(ratio - 1) > abs(total - 1) else total
        excess = max(excess, float((mine / alone).max()) - 1)
        congested = max(congested, mine[lost > (1 + 2 * _NEAR) * lost.min()].sum() / mine.sum())
    equal = seed % 2 == 0
    best = _maximum(model, rates) if equal else 1.0
    return Rest(
        off_best=float(off),
        total=float(total),
        excess=excess,
        congested=float(congested) if equal else 0.0,
        gain=_gain(network, model, rates),
        fall=falls if equal else 0.0,
        below=float(value[-1] / best) if equal else 1.0,
    )


def _sums(network: Network, values: Floats) -> Floats:
    return np.asarray(network.user_sums(values))


def _gain(network: Network, model: FluidModel, rates: Floats) -> float:
    """The largest mean gain of Σ x_r/rtt_r² over the users, none losing, at the same congestion cost (theorem 3)."""
    weights = 1 / network.rtt_s**2
    have, cost = _sums(network, weights * rates), model.congestion_cost(rates)
    scale = rates.max()

    def gains(x: Floats) -> Floats:
        return np.asarray(_sums(network, weights * x * scale) / have - 1)

    found = minimize(
        lambda x: -gains(x).mean(),
        np.maximum(rates / scale, _LEAST),
        method="SLSQP",
        bounds=[(_LEAST, None)] * len(rates),
        constraints=[
            {"type": "ineq", "fun": gains},
            {"type": "ineq", "fun": lambda x: 1 - model.congestion_cost(x * scale) / cost},
        ],
        options={"maxiter": 500, "ftol": 1e-10},
    )
    # What the program found counts only as far as it keeps the cost and takes from nobody.
    allowed = model.congestion_cost(found.x * scale) <= cost * (1 + 1e-6) and gains(found.x).min() >= -1e-6
    return max(float(gains(found.x).mean()), 0.0) if allowed else 0.0


def _maximum(model: FluidModel, rates: Floats) -> float:
    """The maximum of V, which is concave, from the rates at rest and from equal ones; in their logarithms."""
    begins = (np.maximum(rates, _LEAST * rates.max()), np.full(len(rates), rates.mean()))
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-12}
    return max(
        -float(minimize(lambda y: -model.utility(np.exp(y)), np.log(begin), method="L-BFGS-B", options=options).fun)
        for begin in begins
    )


def section_5(context: Context) -> Outcome:
    """The theorems' claims."""
    seeds = range(_QUICK if context.quick else _NETWORKS)
    found = {control: [settled(seed, control) for seed in seeds] for control in ("olia", "lia")}
    olia, equal = found["olia"], found["olia"][::2]
    rows = [
        {
            "control": control.upper(),
            "off the best paths": max(each.off_best for each in rests),
            "rate over TCP's, farthest": max((each.total for each in rests), key=lambda ratio: abs(ratio - 1)),
            "a subflow above TCP": max(each.excess for each in rests),
            "to gain, median": float(np.median([each.gain for each in rests])),
            "to gain, most": max(each.gain for each in rests),
            "networks with over 1 % to gain": sum(each.gain > 0.01 for each in rests),
            "V falls by": max(each.fall for each in rests[::2]),
            "V over its maximum": max((each.below for each in rests[::2]), key=lambda ratio: abs(ratio - 1)),
        }
        for control, rests in found.items()
    ]
    told = dict(zip(("olia", "lia"), rows, strict=True))
    mine, other = told["olia"], told["lia"]
    farthest = mine["rate over TCP's, farthest"]

    def claim(key: str, text: str, seen: str, checks: list[Share | Equality]) -> Claim:
        return Claim(key, text, None, seen, every(checks), _CAUSE)

    return Outcome(
        [
            claim(
                "best-only",
                "At rest OLIA uses only the best paths, those with the largest √(2/p)/rtt (theorem 1 i)",
                f"at most {100 * mine['off the best paths']:.2g} % of a "
                f"user's rate elsewhere (LIA: {100 * other['off the best paths']:.0f} %)",
                [Share(0.0, each.off_best) for each in olia],
            ),
            claim(
                "total",
                "A user's total rate is that of a TCP on its best path (theorem 1 ii)",
                f"{farthest:.4f} of it in the worst case",
                [Equality(each.total, 1.0) for each in olia],
            ),
            claim(
                "goal-1",
                "Corollary 2, goal 1: at least what a TCP gets on the best path",
                f"at most {100 * max(1 - each.total for each in olia):.2g} % less",
                [Share(0.0, max(1 - each.total, 0.0)) for each in olia],
            ),
            claim(
                "goal-2",
                "Corollary 2, goal 2: on no path more than a TCP would take there",
                f"at most {100 * mine['a subflow above TCP']:.2g} % more",
                [Share(0.0, max(each.excess, 0.0)) for each in olia],
            ),
            claim(
                "goal-3",
                "Corollary 2, goal 3: traffic is moved off the congested paths (users with equal RTTs)",
                f"at most {100 * max(each.congested for each in equal):.2g} % on paths that lose more than the best",
                [Share(0.0, each.congested) for each in equal],
            ),
            claim(
                "pareto",
                "Nobody can gain in Σ x/rtt² without loss for another or a higher congestion cost (theorem 3)",
                f"at most {100 * mine['to gain, most']:.2g} % on average over the users (LIA: "
                f"{100 * other['to gain, median']:.1f} % in the median network, {100 * other['to gain, most']:.0f} % "
                "at most)",
                [Share(0.0, each.gain) for each in olia],
            ),
            claim(
                "maximum",
                "With equal RTTs V rises all the way, and to its maximum (theorem 4)",
                f"it falls by at most {mine['V falls by']:.1g} of its value and ends at "
                f"{mine['V over its maximum']:.5f} of the maximum",
                [check for each in equal for check in (Share(0.0, each.fall), Equality(each.below, 1.0))],
            ),
        ],
        tables=[(f"{len(seeds)} random networks at rest", pl.DataFrame(rows))],
        notes=[_NOTE],
    )
