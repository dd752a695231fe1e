"""PERT's answer to queueing delay, and the queue at which flows that give it settle.

A PERT flow gives up the part β(q) = q/(q + q_max) of its window with probability P(q) at each ACK, q the smoothed
queueing delay, at most once a round trip. P is a gentle-RED curve of the delay (Bhandarkar 2007). In balance a lone
flow has W = √(α/(β p)) (Singh 2012 eq. 3.3), p what remains of P by the limit: after an answer a round of W ACKs gives
none and the next comes 1/P ACKs later, so p = P/(1 + W P).

Flows that answer to delays and flows that answer to losses are compared by the *equivalent loss* 2 β(q) p: the loss at
which a Reno flow has the window that PERT has with α = 1.
"""

from dataclasses import dataclass

from scipy.optimize import brentq

from .checks import ParameterError, positive
from .link_laws import RedCurve


@dataclass(frozen=True)
class Response:
    """When a flow responds: thresholds above the propagation delay, and the largest queueing delay it has seen.

    ``per_segment`` is the number of ACKs a segment gets, 0.5 where receivers acknowledge every second one. Without
    ``once_per_rtt`` every ACK may be answered. Raises ParameterError.
    """

    largest_delay_s: float
    low_s: float = 0.005
    high_s: float = 0.010
    probability: float = 0.05
    per_segment: float = 1.0
    once_per_rtt: bool = True

    def __post_init__(self) -> None:
        positive("largest_delay_s", self.largest_delay_s, "s")
        if not 0 < self.per_segment <= 1:
            raise ParameterError(f"per_segment = {self.per_segment!r}: expected at most one ACK per segment")
        self._curve()

    def _curve(self) -> RedCurve:
        return RedCurve(self.low_s, self.high_s, self.probability)

    def early(self, delay_s: float) -> float:
        """Probability of an early response to an ACK, without the limit of one a round trip."""
        return float(self._curve().probability(delay_s))

    def decrease(self, delay_s: float) -> float:
        """β: the part of the window that is given up."""
        return delay_s / (delay_s + self.largest_delay_s)

    def answers(self, delay_s: float, window_segments: float) -> float:
        """Early responses per segment sent."""
        each = self.early(delay_s) * self.per_segment
        return each / (1 + window_segments * each) if self.once_per_rtt else each

    def equivalent_loss(self, delay_s: float, window_segments: float) -> float:
        """The loss rate at which a Reno flow has the same window as a PERT flow with these responses and α = 1."""
        return 2 * self.decrease(delay_s) * self.answers(delay_s, window_segments)

    def delay_s(self, equivalent_loss: float, window_segments: float) -> float:
        """The inverse: the queueing delay at which flows are held. The largest delay where no answer would do."""
        if self.equivalent_loss(self.largest_delay_s, window_segments) <= equivalent_loss:
            return self.largest_delay_s
        low = min(self.low_s, self.largest_delay_s)
        if equivalent_loss <= 0 or self.equivalent_loss(low, window_segments) >= equivalent_loss:
            return low
        return float(
            brentq(
                lambda q: self.equivalent_loss(q, window_segments) - equivalent_loss,
                low,
                self.largest_delay_s,
                xtol=1e-9,
            )
        )


def settled_delay_s(
    response: Response, rate_segments_per_s: float, rtt_s: float, flows: float, alpha: float = 1.0
) -> float:
    """The queueing delay at which `flows` PERT flows settle that share a link and are alone on it.

    Args:
        response: how they answer.
        rate_segments_per_s: the link's capacity.
        rtt_s: the round-trip time without queue.
        flows: their number; one that has a part of a flow's window counts for that part.
        alpha: increase in segments per round trip.

    Raises:
        ParameterError: out of range.

    """
    positive("rate_segments_per_s", rate_segments_per_s, "segments/s")
    positive("rtt_s", rtt_s, "s")
    positive("flows", flows)
    positive("alpha", alpha)

    def excess(delay_s: float) -> float:
        window = rate_segments_per_s * (rtt_s + delay_s) / flows
        return response.equivalent_loss(delay_s, window) * window**2 - 2 * alpha

    if excess(response.largest_delay_s) <= 0:
        return response.largest_delay_s
    return float(brentq(excess, 0.0, response.largest_delay_s, xtol=1e-9))
