"""A multipath connection's steady state by the name of its control: windows, rates, shares, and bit/s when asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import steady_state
from .checks import Array, ParameterError, UnknownControlError, paths, positive

CONTROLS: Mapping[str, tuple[Callable[..., Array], frozenset[str]]] = {
    "uncoupled": (steady_state.uncoupled, frozenset()),
    "reno": (steady_state.uncoupled, frozenset()),
    "ewtcp": (steady_state.ewtcp, frozenset({"a"})),
    "coupled": (steady_state.coupled, frozenset()),
    "lia": (steady_state.lia, frozenset()),
    "lia-capped": (steady_state.lia_capped, frozenset()),
    "olia": (steady_state.olia, frozenset()),
    "balia": (steady_state.balia, frozenset({"decrease"})),
    "epsilon": (steady_state.epsilon, frozenset({"epsilon"})),
    "pert": (steady_state.pert, frozenset({"alpha", "beta"})),
    "mppert": (steady_state.mppert, frozenset({"k", "alpha", "beta"})),
    "mppert-capped": (steady_state.mppert_capped, frozenset({"k", "alpha", "beta"})),
}
"""Control by name: its windows and the parameters it takes besides ``b``. A lone TCP, ``reno``, is uncoupled."""


@dataclass(frozen=True)
class Prediction:
    """The steady state of one connection, shape (n,), or of m of them, shape (m, n); totals are () or (m,)."""

    control: str
    loss_rate: Array
    rtt_s: Array
    windows_segments: Array
    mss_bytes: float | None

    def __repr__(self) -> str:
        from mptcplab.render import short

        return short.of_prediction(self)

    def _repr_html_(self) -> str | None:
        from mptcplab.render import html_tables

        return None if self.windows_segments.ndim > 1 else html_tables.of_prediction(self)

    @property
    def rates_segments_per_s(self) -> Array:
        """Rate of each path, window / RTT."""
        return np.asarray(self.windows_segments / self.rtt_s)

    @property
    def total_segments_per_s(self) -> Array:
        """Rate of the connection."""
        return np.asarray(self.rates_segments_per_s.sum(axis=-1))

    @property
    def rates_bps(self) -> Array | None:
        """Payload rate of each path in bit/s; nothing without an MSS."""
        return None if self.mss_bytes is None else np.asarray(self.rates_segments_per_s * self.mss_bytes * 8)

    @property
    def total_bps(self) -> Array | None:
        """Payload rate of the connection in bit/s; nothing without an MSS."""
        return None if self.mss_bytes is None else np.asarray(self.total_segments_per_s * self.mss_bytes * 8)

    @property
    def shares(self) -> Array:
        """Each path's part of the rate (Chauvenne 2017: ratio of throughput)."""
        return np.asarray(self.rates_segments_per_s / self.total_segments_per_s[..., None])

    @property
    def mean_loss_rate(self) -> Array:
        """Loss rate of the connection, each path weighted by its share (Chauvenne 2017 §6.1.3)."""
        return np.asarray((self.loss_rate * self.shares).sum(axis=-1))

    @property
    def loss_shares(self) -> Array:
        """Each path's part of the losses, r_i (Chauvenne 2017 eq. 6.2)."""
        return np.asarray(self.loss_rate * self.shares / self.mean_loss_rate[..., None])

    @property
    def segments_per_loss(self) -> Array:
        """Mean number of segments the connection sends between losses, E[P] = 1/p (Chauvenne 2017 §6.1.3)."""
        return np.asarray(1 / self.mean_loss_rate)

    @property
    def segments_per_loss_by_path(self) -> Array:
        """The same, by the path they are sent on, E[P_i] (Chauvenne 2017 eq. 6.1).

        The thesis's example 2 prints 23.06 for the second path where 0.3 × 76.92 = 23.08.
        """
        return np.asarray(self.shares * self.segments_per_loss[..., None])


def predict(
    p: npt.ArrayLike,
    rtt_s: npt.ArrayLike,
    control: str = "lia",
    b: float = 1.0,
    mss: float | None = None,
    **parameters: float | str,
) -> Prediction:
    """The steady state of ``control`` over n paths.

    Args:
        p: loss rates, shape (n,) or (m, n), each inside (0, 1).
        rtt_s: round-trip times in seconds of the same paths.
        control: a name of `CONTROLS`.
        b: segments acknowledged by one ACK, 1 or more.
        mss: payload of a segment in bytes, for rates in bit/s.
        parameters: parameters of the control: ``k``, ``alpha``, ``beta`` (mppert, pert), ``a`` (ewtcp),
            ``epsilon`` (epsilon), ``decrease`` (balia).

    Raises:
        LossOutOfRangeError, RttError, LengthMismatchError: the paths are wrong.
        UnknownControlError: no such control.
        ParameterError: ``b``, ``mss`` or a parameter of the control is wrong.

    Sources: see the functions of `steady_state`.

    >>> import mptcplab
    >>> answer = mptcplab.predict([0.01, 0.02], [0.02, 0.02], "lia")
    >>> round(float(answer.total_segments_per_s), 1)
    707.1

    """
    loss, rtt = paths(p, rtt_s)
    if control not in CONTROLS:
        raise UnknownControlError(f"congestion control {control!r} has no model; there are: {', '.join(CONTROLS)}")
    windows, accepted = CONTROLS[control]
    unknown = sorted(set(parameters) - accepted)
    if unknown:
        takes = ", ".join(sorted(accepted)) or "no parameters"
        raise ParameterError(f"{control} has no parameter {', '.join(map(repr, unknown))}: it takes {takes}")
    size = None if mss is None else positive("mss", mss, "bytes")
    return Prediction(control, loss, rtt, windows(loss, rtt, b, **parameters), size)
