"""Max-min fair rates: nobody can get more without taking from someone who has no more, on any topology.

A user's rate is the sum over its routes, which it may divide as it likes. Over a set of rates that is convex, as here,
there is exactly one such allocation of totals, and raising all users together until some are blocked, then the others,
finds it: progressive filling (Bertsekas & Gallager 1992 §6.5.2 with one route each). With several routes every step is
a linear program, since a user that is blocked on one route may move to another and make room (Radunović & Le Boudec
2007, algorithm MP). Which users are blocked is read from the prices: a user whose bound has a price above 0 is at that
bound in every solution (complementary slackness), and one step always has such a user.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog

from .checks import Array, NotConvergedError, ParameterError

_PRICED = 1e-7
"""Prices sum to 1; below this one is rounding. Who is missed is found at the next step, at the same level."""


def max_min(
    load: sp.csr_array, capacity: Array, owner: npt.NDArray[np.integer[Any]], *, weights: Array | None = None
) -> Array:
    """The max-min fair total of each user.

    Args:
        load: what a unit of rate on a route (column) puts on a link (row), none negative, shape (L, R). A demand is a
            link that only the routes of its user cross.
        capacity: of each link, positive, shape (L,).
        owner: the user of each route, 0 to U − 1, shape (R,).
        weights: totals are compared after division by these, (U,); 1 each when not given.

    Returns the totals, shape (U,), in the unit of ``capacity``.

    Raises:
        ParameterError: shapes that do not fit, a capacity, weight or load out of range, a user without a bound.
        NotConvergedError: a linear program found no answer.

    Source: Radunović & Le Boudec 2007 §III; Bertsekas & Gallager 1992 §6.5.2.

    """
    links, routes = load.shape
    users = int(owner.max()) + 1 if owner.size else 0
    each = np.ones(users) if weights is None else np.asarray(weights, dtype=np.float64)
    if capacity.shape != (links,) or owner.shape != (routes,) or each.shape != (users,) or users == 0:
        raise ParameterError(
            f"{links} × {routes} loads, {capacity.shape} capacities, {owner.shape} owners, {each.shape} weights: "
            "expected one capacity a link, one owner a route, one weight a user, and at least one route"
        )
    for name, values in (("capacity", capacity), ("weights", each)):
        if not (np.isfinite(values) & (values > 0)).all():
            raise ParameterError(f"{name} = {values!r}: each must be positive")
    if (load.data < 0).any() or not np.isfinite(load.data).all() or (load.sum(axis=0) == 0).any():
        raise ParameterError("load: expected numbers that are not negative, and every route on a link")
    unit = float(capacity.max())
    # Variables: the rates of the routes, and the level t. Each user has at least what it was given, or weight · t.
    loads = np.hstack([load.toarray(), np.zeros((links, 1))])
    of_user = (owner[None, :] == np.arange(users)[:, None]).astype(np.float64)
    cost = np.append(np.zeros(routes), -1.0)
    given = np.zeros(users)
    rising = np.ones(users, dtype=np.bool_)
    while rising.any():
        answer = linprog(
            cost,
            A_ub=np.vstack([loads, np.hstack([-of_user, (each * rising)[:, None]])]),
            b_ub=np.concatenate([capacity / unit, -given]),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        if answer.status != 0:
            raise NotConvergedError(f"the linear program of max-min fairness ended with: {answer.message}")
        level = float(np.asarray(answer.x)[-1])
        prices = -np.asarray(answer.ineqlin.marginals, dtype=np.float64)[links:] * each
        blocked = rising & (prices > _PRICED)
        if not blocked.any():
            raise NotConvergedError("the linear program of max-min fairness has no price on any user")
        given[blocked] = each[blocked] * level
        rising &= ~blocked
    return given * unit
