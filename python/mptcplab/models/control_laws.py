"""The law that each control imposes on the rates of one connection and the losses of its routes, for the solvers.

A control asks for the loss φ_r(x) on route r when its rates are x. In equilibrium the loss p_r equals φ_r(x); a control
that may leave a route empty only needs p_r ≥ φ_r(x) there. Every law is given as log φ and its derivative by log x, for
a batch of g connections with n routes each: ``x`` and ``rtt`` (g, n), ``b`` (g, 1), parameters (g, 1).

With windows w_r = x_r rtt_r and the total X = Σ x_r, the laws are the fixed points of `steady_state` read backwards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .checks import Array, ParameterError, UnknownControlError

Parameters: TypeAlias = Mapping[str, Array]
Law: TypeAlias = Callable[[Array, Array, Array, Parameters], tuple[Array, Array]]


def _eye(x: Array) -> Array:
    return np.broadcast_to(np.eye(x.shape[1]), (*x.shape, x.shape[1]))


def _rows(x: Array, row: Array) -> Array:
    """The same row (g, n) for each route: shape (g, n, n)."""
    return np.broadcast_to(row[:, None, :], (*x.shape, x.shape[1]))


def _share(x: Array) -> Array:
    return np.asarray(x / x.sum(axis=1, keepdims=True))


def _one_hot(values: Array) -> Array:
    hot = np.zeros(values.shape)
    hot[np.arange(len(values)), values.argmax(axis=1)] = 1
    return hot


def _uncoupled(x: Array, rtt: Array, b: Array, _: Parameters) -> tuple[Array, Array]:
    """p = 2/(b w²)."""
    return np.log(2 / b) - 2 * np.log(x * rtt), -2 * _eye(x)


def _ewtcp(x: Array, rtt: Array, b: Array, parameters: Parameters) -> tuple[Array, Array]:
    """p = 2a/(b w²), a = 1/n² when 0 (Singh 2012 ch. II)."""
    a = np.where(parameters["a"] > 0, parameters["a"], 1 / x.shape[1] ** 2)
    return np.log(2 * a / b) - 2 * np.log(x * rtt), -2 * _eye(x)


def _mppert(x: Array, rtt: Array, b: Array, parameters: Parameters) -> tuple[Array, Array]:
    """p = aα/(bβ w^{k+1}), a = max(w^{k+1}/rtt²)/X² (Singh 2012 eq. 3.4, 3.6)."""
    order = parameters["k"] + 1
    log_w = np.log(x * rtt)
    merit = order * log_w - 2 * np.log(rtt)
    log_a = merit.max(axis=1, keepdims=True) - 2 * np.log(x.sum(axis=1, keepdims=True))
    gain = parameters["alpha"] / (b * parameters["beta"])
    jacobian = _rows(x, order * _one_hot(merit) - 2 * _share(x)) - order[:, :, None] * _eye(x)
    return np.log(gain) + log_a - order * log_w, jacobian


def _mppert_capped(x: Array, rtt: Array, b: Array, parameters: Parameters) -> tuple[Array, Array]:
    """p = min(aα/w^k, α/w)/(bβw): what a lone flow would ask, where that is less."""
    log_loss, jacobian = _mppert(x, rtt, b, parameters)
    alone = np.log(parameters["alpha"] / (b * parameters["beta"])) - 2 * np.log(x * rtt)
    capped = alone < log_loss
    return np.where(capped, alone, log_loss), np.where(capped[:, :, None], -2 * _eye(x), jacobian)


def _pert(x: Array, rtt: Array, b: Array, parameters: Parameters) -> tuple[Array, Array]:
    """p = α/(bβ w²) (Singh 2012 eq. 3.3)."""
    return np.log(parameters["alpha"] / (b * parameters["beta"])) - 2 * np.log(x * rtt), -2 * _eye(x)


def _epsilon(x: Array, rtt: Array, b: Array, parameters: Parameters) -> tuple[Array, Array]:
    """p = 2a/(b w^ε w_total^(2−ε)), a as in `steady_state.epsilon`."""
    order = parameters["epsilon"]
    rest = 2 - order
    released = np.minimum(1.0, rest)
    w = x * rtt
    log_w, log_total = np.log(w), np.log(w.sum(axis=1, keepdims=True))
    merit = order * log_w - 2 * np.log(rtt)
    log_goal = rest * log_total + merit.max(axis=1, keepdims=True) - 2 * np.log(x.sum(axis=1, keepdims=True))
    log_loss = np.log(2 / b) + released * log_goal - rest * log_total - order * log_w
    row = released * (rest * _share(w) + order * _one_hot(merit) - 2 * _share(x)) - rest * _share(w)
    return log_loss, _rows(x, row) - order[:, :, None] * _eye(x)


def _epsilon_capped(x: Array, rtt: Array, b: Array, parameters: Parameters) -> tuple[Array, Array]:
    """The same with no increase above TCP's 1/w."""
    log_loss, jacobian = _epsilon(x, rtt, b, parameters)
    alone = np.log(2 / b) - 2 * np.log(x * rtt)
    capped = alone < log_loss
    return np.where(capped, alone, log_loss), np.where(capped[:, :, None], -2 * _eye(x), jacobian)


def _olia(x: Array, rtt: Array, b: Array, _: Parameters) -> tuple[Array, Array]:
    """p ≥ 2/(b rtt_r² X²), equal on the routes used (Khalili 2013 eq. 16)."""
    total = x.sum(axis=1, keepdims=True)
    return np.log(2 / b) - 2 * np.log(rtt * total), _rows(x, -2 * _share(x))


def _coupled(x: Array, rtt: Array, b: Array, _: Parameters) -> tuple[Array, Array]:
    """p ≥ 2/(b w_total²), equal on the routes used (Singh 2012 ch. II)."""
    w = x * rtt
    log_loss = np.log(2 / b) - 2 * np.log(w.sum(axis=1, keepdims=True))
    return np.broadcast_to(log_loss, x.shape), _rows(x, -2 * _share(w))


def _balia(x: Array, rtt: Array, b: Array, _: Parameters) -> tuple[Array, Array]:
    """p = 2(1+β)(4+β)/(10 b rtt² X²), β = max x/x_r: `steady_state.balia` with a decrease of one half."""
    log_loss, jacobian = _olia(x, rtt, b, {})
    beta = x.max(axis=1, keepdims=True) / x
    slope = (beta / (1 + beta) + beta / (4 + beta))[:, :, None]
    return log_loss + np.log((1 + beta) * (4 + beta) / 10), jacobian + slope * (_rows(x, _one_hot(x)) - _eye(x))


def _fair(x: Array, _rtt: Array, _b: Array, parameters: Parameters) -> tuple[Array, Array]:
    """p ≥ weight/X^alpha, equal on the routes used: the optimum of α-fair utilities (not a control)."""
    alpha = parameters["alpha"]
    log_loss = np.log(parameters["weight"]) - alpha * np.log(x.sum(axis=1, keepdims=True))
    return np.broadcast_to(log_loss, x.shape), _rows(x, -alpha * _share(x))


@dataclass(frozen=True)
class ControlLaw:
    """A law, whether it may leave routes empty, and its parameters with their defaults."""

    law: Law
    empties: bool
    defaults: Mapping[str, float]
    responds: bool = False
    """Whether it answers to queueing delay, and so has an α that depends on it."""


_PERT = {"k": 0.0, "alpha": 1.0, "beta": 0.5}

LAWS: Mapping[str, ControlLaw] = {
    "reno": ControlLaw(_uncoupled, False, {}),
    "uncoupled": ControlLaw(_uncoupled, False, {}),
    "ewtcp": ControlLaw(_ewtcp, False, {"a": 0.0}),
    "lia": ControlLaw(_mppert, False, _PERT),
    "lia-capped": ControlLaw(_mppert_capped, False, _PERT),
    "mppert": ControlLaw(_mppert, False, _PERT, responds=True),
    "mppert-capped": ControlLaw(_mppert_capped, False, _PERT, responds=True),
    "pert": ControlLaw(_pert, False, {"alpha": 1.0, "beta": 0.5}, responds=True),
    "epsilon": ControlLaw(_epsilon, False, {"epsilon": 1.0}),
    "epsilon-capped": ControlLaw(_epsilon_capped, False, {"epsilon": 1.0}),
    "olia": ControlLaw(_olia, True, {}),
    "coupled": ControlLaw(_coupled, True, {}),
    "balia": ControlLaw(_balia, False, {}),
    "fair": ControlLaw(_fair, True, {"alpha": 2.0, "weight": 1.0}),
}
"""Law by the name of the control; ``lia`` is ``mppert`` with k = 0 and a decrease of one half."""

_RANGES: Mapping[str, tuple[float, float]] = {
    "k": (-1, 1),
    "epsilon": (0, 2),
    "alpha": (0, np.inf),
    "beta": (0, 1),
    "a": (-1e-300, np.inf),
    "weight": (0, np.inf),
}


def law_of(control: str, parameters: Sequence[Mapping[str, float]]) -> tuple[ControlLaw, dict[str, Array]]:
    """The law of ``control`` and its parameters for g users as columns (g, 1), defaults filled in.

    Raises:
        UnknownControlError: no such control.
        ParameterError: a parameter that the control does not know, or out of range.

    """
    if control not in LAWS:
        raise UnknownControlError(f"congestion control {control!r} has no model; there are: {', '.join(LAWS)}")
    law = LAWS[control]
    accepted = {} if control in ("lia", "lia-capped") else law.defaults
    columns = {name: np.full((len(parameters), 1), value) for name, value in law.defaults.items()}
    for g, given in enumerate(parameters):
        for name, value in given.items():
            if name not in accepted:
                takes = ", ".join(accepted) or "no parameters"
                raise ParameterError(f"{control} has no parameter {name!r}: it takes {takes}")
            low, high = _RANGES[name]
            if not (low < value <= high and np.isfinite(value)):
                raise ParameterError(f"{control}: {name} = {value!r}, expected {low:g} < {name} <= {high:g}")
            columns[name][g, 0] = value
    return law, columns
