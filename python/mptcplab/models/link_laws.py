"""How a link loses: a hard capacity, a power of its load, or a RED queue at its capacity."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .checks import Array, ParameterError, as_floats, loss_rates, positive


@dataclass(frozen=True)
class RedCurve:
    """RED's loss probability as a function of the mean queue, in packets.

    Zero up to ``min_packets``, linear to ``max_probability`` at ``max_packets``; then linear to 1 at twice
    ``max_packets`` when ``gentle``, at once to 1 otherwise. Raises ParameterError. Source: Floyd & Jacobson 1993; the
    gentle form as in Khalili 2013 §III (25, 50 packets and 0.1 for 10 Mbit/s).
    """

    min_packets: float
    max_packets: float
    max_probability: float
    gentle: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.min_packets < self.max_packets < np.inf:
            raise ParameterError(
                f"RED thresholds {self.min_packets:g} and {self.max_packets:g}: expected 0 <= min < max"
            )
        if not 0 < self.max_probability <= 1:
            raise ParameterError(f"RED max_probability = {self.max_probability:g}: expected a value in (0, 1]")

    def _corners(self) -> tuple[list[float], list[float]]:
        end = 2 * self.max_packets if self.gentle else self.max_packets
        queues, losses = [self.min_packets, self.max_packets, end], [0.0, self.max_probability, 1.0]
        # A curve that already reaches 1 at max_packets has no second slope to invert.
        return (queues[:2], losses[:2]) if self.max_probability == 1 else (queues, losses)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Queues in packets at which the curve bends, in their order."""
        return tuple(self._corners()[0])

    def probability(self, queue_packets: npt.ArrayLike) -> Array:
        """Loss probability at a mean queue in packets, any shape. Raises ParameterError (not numbers)."""
        queue = as_floats("queue_packets", queue_packets)
        queues, losses = self._corners()
        loss = np.interp(queue, queues[:2], losses[:2]) if not self.gentle else np.interp(queue, queues, losses)
        return np.asarray(np.where(queue >= queues[-1], 1.0, loss))

    def queue(self, probability: npt.ArrayLike) -> Array:
        """Mean queue in packets at which the loss is ``probability`` in [0, 1); the lower threshold at 0.

        Raises LossOutOfRangeError.
        """
        queues, losses = self._corners()
        return np.asarray(np.interp(loss_rates(probability, zero=True), losses, queues))


@dataclass(frozen=True)
class Capacity:
    """A hard capacity in segments/s: no loss below it, whatever loss holds the load to it at it.

    Khalili 2013 §III. With ``red``, a RED queue stands before it: the loss sets the queue, the queue adds to the RTT.
    Raises ParameterError.
    """

    segments_per_s: float
    red: RedCurve | None = None

    def __post_init__(self) -> None:
        positive("capacity", self.segments_per_s, "segments/s")


@dataclass(frozen=True)
class PowerLaw:
    """Loss that rises with the load y: ``loss_at_capacity``·(y/C)^``exponent``; the larger the exponent, the sharper.

    A loss law p_ℓ(y) of Khalili 2013 §V, increasing as theorems 3 and 4 ask; a large exponent makes it sharp around C
    (remark 1). It is not cut at 1: it is a price, and losses are small where the models hold. Raises ParameterError.
    """

    segments_per_s: float
    loss_at_capacity: float = 0.01
    exponent: float = 8.0

    def __post_init__(self) -> None:
        positive("capacity", self.segments_per_s, "segments/s")
        positive("exponent", self.exponent)
        loss_rates(self.loss_at_capacity, name="loss_at_capacity")


LinkLaw: TypeAlias = Capacity | PowerLaw
"""Any of the laws."""
