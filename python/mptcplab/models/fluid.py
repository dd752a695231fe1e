"""Fluid models: how the rates move towards equilibrium when links lose by a law of their load.

For each connection dx_r/dt = x_r²·(gain − p_r/2·cut) + ᾱ_r/rtt_r², RTTs fixed, p_r = Σ p_ℓ(y_ℓ) over the links
(Khalili 2013 §V eq. 7, 8; the others by the same balance of ACKs x_r(1/b per segment) against losses p_r x_r):

=========  ==============================================================================================
reno       x²(1/(b w²) − p/2), w = x·rtt (also ``uncoupled``; ``ewtcp`` with a/(b w²), a = 1/n²)
lia        x²(min(A/w_r, 1/w_r²)/b − p_r/2), A = max(w/rtt²)/X²; the cap is kept, as in eq. 1
olia       x²(1/(b rtt_r² X²) − p_r/2) + ᾱ_r/(b rtt_r²)
balia      x²((1+β)(4+β)/(10 b rtt_r² X²) − p_r/2), β = max x/x_r; the decrease of `steady_state.balia`, one half
coupled    x²/(b w_r W) − p_r x_r W/(2 rtt_r), W = Σ w: the decrease is W/2, whichever path loses
=========  ==============================================================================================

OLIA's ᾱ is set-valued where paths tie, for being best or for having the largest window. Eq. 9 describes the convex
closure; it equals {(β − μ)/n : β a distribution over the best paths B, μ one over the widest M}: each line of eq. 9,
the sum 0, and the sum 1/n over B when B and M are disjoint follow. Of that set the trajectory takes the mean of α under
small independent disturbances of the paths' qualities and windows: with Gumbel disturbances of relative size ``blur``
the best path is r with probability softmax(log(1/(p rtt²))/blur)_r, the widest likewise, so ᾱ is smooth, lies in the
set when ``blur`` → 0, and an ordinary solver can follow the sliding motion along ties.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from .checks import Array, NotConvergedError, ParameterError, UnknownControlError, positive
from .link_laws import PowerLaw
from .network import Network

CONTROLS = ("reno", "uncoupled", "ewtcp", "lia", "olia", "balia", "coupled")
"""The controls that have a fluid model."""


@dataclass(frozen=True)
class Trajectory:
    """Rates over time. T instants, R routes."""

    network: Network
    time_s: Array
    """Instants, (T,)."""
    rates: Array
    """Segments/s of one connection by route, (T, R)."""

    @property
    def final(self) -> Array:
        """Rates at the last instant, (R,)."""
        return np.asarray(self.rates[-1])

    def settling_time_s(self, target: Array | None = None, tolerance: float = 0.05) -> float | None:
        """First time from which every user's total stays within ``tolerance`` of its target, or none if it never does.

        ``target``: rates of the routes, (R,); the last instant's when not given. Raises ParameterError.
        """
        positive("tolerance", tolerance)
        goal = self.network.user_sums(self.final if target is None else target)
        totals = np.array([self.network.user_sums(row) for row in self.rates])
        outside = np.asarray((np.abs(totals - goal) > tolerance * goal).any(axis=1))
        if outside[-1]:
            return None
        last = np.flatnonzero(outside)
        return float(self.time_s[last[-1] + 1 if last.size else 0])


class FluidModel:
    """The right-hand side of the fluid equations of a network.

    Args:
        network: links with a `PowerLaw` (a hard capacity has no loss as a function of load) and users.
        blur: relative width of OLIA's ties.

    Raises:
        ParameterError: a link without a loss law, a parameter of a control, or ``blur`` not positive.
        UnknownControlError: a control without a fluid model.

    """

    def __init__(self, network: Network, blur: float = 1e-4) -> None:
        self.network = network
        self.blur = positive("blur", blur)
        laws = []
        for name, law in network.links.items():
            if not isinstance(law, PowerLaw):
                raise ParameterError(f"link {name!r} has a hard capacity: the fluid model needs a loss law (PowerLaw)")
            laws.append(law)
        self.at_capacity: Array = np.array([law.loss_at_capacity for law in laws])
        self.exponent: Array = np.array([law.exponent for law in laws])
        for user in network.users:
            if user.control not in CONTROLS:
                raise UnknownControlError(f"no fluid model of {user.control!r}; there are: {', '.join(CONTROLS)}")
            if user.parameters:
                raise ParameterError(f"user {user.name!r}: the fluid models take no parameters")
        self._load = network.load_matrix
        self._slices = [network.routes_of(user.name) for user in network.users]

    def link_loss(self, rates: Array) -> Array:
        """Loss rate of each link at these rates, (L,)."""
        return np.asarray(self.at_capacity * (np.asarray(self._load @ rates) / self.network.capacity) ** self.exponent)

    def congestion_cost(self, rates: Array) -> float:
        """C(x) = Σ ∫ p_ℓ(y) dy (Khalili 2013 §V B), and what the routes lose whatever the load."""
        load = np.asarray(self._load @ rates)
        own = self.network.count[self.network.owner] * self.network.own_loss * rates
        return float((self.link_loss(rates) * load / (self.exponent + 1)).sum() + own.sum())

    def utility(self, rates: Array) -> float:
        """V(x) of theorem 4: −Σ count/(b rtt_u² X_u) − C(x)/2, meaningful where a user's RTTs are equal."""
        totals = self.network.user_sums(rates)
        rtt = np.array([self.network.rtt_s[part].mean() for part in self._slices])
        return float(-(self.network.count / (self.network.b * rtt**2 * totals)).sum() - self.congestion_cost(rates) / 2)

    def derivative(self, rates: Array) -> Array:
        """dx/dt in segments/s², (R,), at positive rates, (R,)."""
        loss = np.asarray(self.network.crossing.T @ self.link_loss(rates)) + self.network.own_loss
        change = np.empty(len(rates))
        for user, part, b in zip(self.network.users, self._slices, self.network.b, strict=True):
            change[part] = self._user(user.control, rates[part], self.network.rtt_s[part], loss[part], float(b))
        return change

    def _user(self, control: str, x: Array, rtt: Array, p: Array, b: float) -> Array:
        w = x * rtt
        total = x.sum()
        drop = p / 2
        if control in ("reno", "uncoupled"):
            return np.asarray(1 / (b * rtt**2) - x**2 * drop)
        if control == "ewtcp":
            return np.asarray(1 / (len(x) ** 2 * b * rtt**2) - x**2 * drop)
        if control == "lia":
            gain = np.minimum((w / rtt**2).max() / total**2 / w, 1 / w**2)
            return np.asarray(x**2 * (gain / b - drop))
        if control == "coupled":
            window = w.sum()
            return np.asarray(x / (b * rtt * window) - p * x * window / (2 * rtt))
        shared = 1 / (b * rtt**2 * total**2)
        if control == "balia":
            beta = x.max() / x
            return np.asarray(x**2 * (shared * (1 + beta) * (4 + beta) / 10 - drop))
        return np.asarray(x**2 * (shared - drop) + self.alpha(w, p, rtt) / (b * rtt**2))

    def alpha(self, window: Array, p: Array, rtt: Array) -> Array:
        """OLIA's blurred ᾱ of one connection, (n,): (best − widest)/n, each a softmax of width ``blur``."""
        best = _softmax(-np.log(np.maximum(p, 1e-300) * rtt**2) / self.blur)
        widest = _softmax(np.log(np.maximum(window, 1e-300)) / self.blur)
        return np.asarray((best - widest) / len(window))


def _softmax(values: Array) -> Array:
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum())


def trajectory(
    network: Network,
    start: Array,
    duration_s: float,
    *,
    samples: int = 501,
    blur: float = 1e-4,
    relative_tolerance: float = 1e-7,
) -> Trajectory:
    """Follow the rates from ``start`` for ``duration_s``.

    Args:
        network: as for `FluidModel`; R routes.
        start: positive rates at time 0, segments/s, (R,).
        duration_s: length in seconds.
        samples: number of equally spaced instants in the answer, 2 or more.
        blur: relative width of OLIA's ties.
        relative_tolerance: of the solver (LSODA, which turns implicit where ties make the motion stiff).

    Raises:
        ParameterError, UnknownControlError: as for `FluidModel`, or ``start``, ``duration_s`` or ``samples``.
        NotConvergedError: the solver gave up.

    """
    model = FluidModel(network, blur)
    positive("duration_s", duration_s, "s")
    if start.shape != network.rtt_s.shape or not (np.isfinite(start) & (start > 0)).all():
        raise ParameterError(f"start of shape {start.shape}: expected {len(network.rtt_s)} positive rates")
    if samples < 2:
        raise ParameterError(f"samples = {samples}: a trajectory needs at least 2 instants")
    least = 1e-9 * float(network.capacity.mean())

    def flow(_time: float, x: Array) -> Array:
        # A rate that vanishes may step below 0 by the solver's own error; it is read as a very small one.
        change = model.derivative(np.maximum(x, least))
        return np.where(x < least, np.maximum(change, 0.0), change)

    answer = solve_ivp(
        flow,
        (0.0, duration_s),
        start,
        method="LSODA",
        t_eval=np.linspace(0, duration_s, samples),
        rtol=relative_tolerance,
        atol=relative_tolerance * least * 1e6,
    )
    if not answer.success:
        raise NotConvergedError(
            f"fluid trajectory stopped at {answer.t[-1] if len(answer.t) else 0:g} s: {answer.message}"
        )
    return Trajectory(network, np.asarray(answer.t), np.maximum(answer.y.T, 0.0))
