"""The models' errors and checks. Errors give the location, the value found and the value expected."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mptcplab.errors import Error

Array: TypeAlias = npt.NDArray[np.float64]
"""Floating-point array."""


SMALLEST_LOSS = 1e-100
"""Smallest loss rate taken: its powers must not underflow."""


class ModelInputError(Error, ValueError):
    """A model was asked about something that it cannot answer."""


class LossOutOfRangeError(ModelInputError):
    """A loss rate is not inside (0, 1)."""


class RttError(ModelInputError):
    """A round-trip time is not positive and finite."""


class LengthMismatchError(ModelInputError):
    """Two lists that describe the same paths differ in length."""


class ParameterError(ModelInputError):
    """Another parameter is out of its range."""


class UnknownControlError(ModelInputError):
    """No such congestion control among the models."""


class NotConvergedError(Error, RuntimeError):
    """A solver stopped before it met its tolerance; the message gives the residual reached."""


def _where(bad: npt.NDArray[np.bool_]) -> tuple[tuple[int, ...], str]:
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    return first, f"[{', '.join(map(str, first))}]" if first else ""


def as_floats(name: str, values: npt.ArrayLike) -> Array:
    """``values`` as an array of floats.

    Raises:
        ParameterError: it is not numeric, ragged, or empty.

    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name}: expected numbers in rows of equal length, found {values!r}") from error
    if array.size == 0:
        raise ParameterError(f"{name} is empty: give one value per path")
    return array


def loss_rates(p: npt.ArrayLike, *, zero: bool = False, name: str = "p") -> Array:
    """Loss rates as an array; each inside (0, 1), or [0, 1) when ``zero``.

    Raises:
        LossOutOfRangeError: one is not.

    """
    array = as_floats(name, p)
    bad = ~((array < 1) & ((array >= 0) if zero else (array > 0)))
    if bad.any():
        first, where = _where(bad)
        raise LossOutOfRangeError(
            f"loss rate {name}{where} = {array[first]:g} is outside {'[' if zero else '('}0, 1): "
            "give a fraction, 0.01 for 1 %"
        )
    tiny = (array > 0) & (array < SMALLEST_LOSS)
    if tiny.any():
        first, where = _where(tiny)
        raise LossOutOfRangeError(
            f"loss rate {name}{where} = {array[first]:g} is below {SMALLEST_LOSS:g}, too small for the formulas"
        )
    return array


def round_trip_times(rtt_s: npt.ArrayLike, *, name: str = "rtt_s") -> Array:
    """Round-trip times in seconds as an array; each positive and finite.

    Raises:
        RttError: one is not.

    """
    array = as_floats(name, rtt_s)
    bad = ~((array > 0) & np.isfinite(array))
    if bad.any():
        first, where = _where(bad)
        raise RttError(f"round-trip time {name}{where} = {array[first]:g} s: it must be positive, 0.02 for 20 ms")
    return array


def paths(p: npt.ArrayLike, rtt_s: npt.ArrayLike) -> tuple[Array, Array]:
    """Loss rates and round-trip times of the same paths, shape (n,) or (m, n), broadcast to a common shape.

    Raises:
        LossOutOfRangeError, RttError: a value is out of range.
        LengthMismatchError: one describes more paths, or more cases, than the other.

    """
    loss, rtt = np.atleast_1d(loss_rates(p)), np.atleast_1d(round_trip_times(rtt_s))
    if loss.shape[-1] != rtt.shape[-1]:
        raise LengthMismatchError(
            f"{loss.shape[-1]} loss rates but {rtt.shape[-1]} round-trip times: give one of each per path"
        )
    if loss.shape != rtt.shape:
        try:
            loss, rtt = np.broadcast_arrays(loss, rtt)
        except ValueError as error:
            raise LengthMismatchError(
                f"loss rates of shape {loss.shape} and round-trip times of shape {rtt.shape} do not describe the same "
                "cases: give (n,) or (m, n)"
            ) from error
    return loss, rtt


def positive(name: str, value: float, unit: str = "") -> float:
    """``value`` when it is positive and finite.

    Raises:
        ParameterError: it is not.

    """
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(f"{name} = {value!r}{' ' + unit if unit else ''}: it must be positive and finite")
    return float(value)


def segments_per_ack(b: float) -> float:
    """``b``, segments acknowledged by one ACK: 1 without delayed ACKs, 2 with them.

    Raises:
        ParameterError: it is below 1 or not finite.

    """
    if not (np.isfinite(b) and b >= 1):
        raise ParameterError(f"b = {b!r}: an ACK acknowledges at least 1 segment (2 with delayed ACKs)")
    return float(b)
