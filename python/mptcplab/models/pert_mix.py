"""PERT beside flows that answer to losses: its early responses as a loss of its own, and how aggressive it is.

On a link that all flows fill together the queue is what the queue's discipline makes of the losses, and PERT sees it.
It yields to losses, of which each takes a half as from Reno, and to early responses, of which each takes β(q): so its
window is √(2α/(p + 2 β p′)), p′ early responses per segment, and 2 β p′ adds to the loss p of the route. In the round
after a response the window is (1 − β)w, but as many segments are acknowledged as were under way before. With a response
in every round, w p′ = 1, w²(1 − (1 − β)²) = 2αw, so that β is as much as β(1 − β/2); in general as β(1 − w p′ β/2).

α moves by 0.1 a round trip toward 32 while the queueing delay q is below the lower threshold (high-speed), toward 1 up
to half of the largest delay (safe), and toward 1 + p′/p, 16 at most, above (compete). A queue swings, and α is the
balance of the times spent on either side; here α goes from one value to the other over a fifth of the threshold to both
sides of it.

What PERT measures is more than the queue where receivers acknowledge every second segment. The last segment of a round
is often alone: its acknowledgment waits for the receiver's timer (40 ms), if no segment comes within it. Of (w + 1)/2
acknowledgments a round that is one, so that the average rises by 2/(w + 1) of 40 ms; and the largest delay is at least
that of a usual queue and 40 ms, of a full one at drop-tail.
"""

from dataclasses import dataclass

import numpy as np

from .checks import ParameterError, positive
from .pert import Response

SWING = 0.2
"""Over how much of a threshold, to both sides, α goes from one mode's value to the other's."""


@dataclass(frozen=True)
class Mixed:
    """A subflow of PERT on a route where others answer to losses.

    ``response`` has the largest queueing delay of the route's queues; ``ack_wait_s`` is the receiver's timer, 0 where
    each segment is acknowledged at once; ``fills`` says that the queue is often as long as it can be.

    Raises ParameterError.
    """

    response: Response
    alpha_max: float = 32.0
    alpha_compete: float = 16.0
    ack_wait_s: float = 0.0
    fills: bool = False

    def __post_init__(self) -> None:
        positive("alpha_max", self.alpha_max)
        positive("alpha_compete", self.alpha_compete)
        if not 0 <= self.ack_wait_s < np.inf:
            raise ParameterError(f"ack_wait_s = {self.ack_wait_s!r}: expected 0 s or more")

    def seen_s(self, delay_s: float, window_segments: float, rtt_s: float) -> float:
        """The queueing delay that PERT measures: the queue's, and the timer's part where rounds are longer than it."""
        waits = self.ack_wait_s if rtt_s > self.ack_wait_s else 0.0
        return delay_s + waits * min(1.0, 2 / (window_segments + 1))

    def answer(self, delay_s: float, window_segments: float, rtt_s: float, loss: float) -> tuple[float, float]:
        """What the early responses add to the loss, and α; ``loss`` is the route's rate of losses, 0 or more."""
        seen_s = self.seen_s(delay_s, window_segments, rtt_s)
        usual_s = self.response.largest_delay_s if self.fills else delay_s
        largest_s = max(self.response.largest_delay_s, usual_s + self.ack_wait_s)
        early = self.response.answers(seen_s, window_segments)
        beta = seen_s / (seen_s + largest_s)
        ratio = 1 + early / loss if loss > 0 else np.inf
        # In the round after a response the acknowledgments of the old window grow the new one.
        less = 1 - beta / 2 * window_segments * early
        return 2 * beta * less * early, self._alpha(seen_s, largest_s, min(ratio, self.alpha_compete))

    def _alpha(self, seen_s: float, largest_s: float, compete: float) -> float:
        def above(threshold_s: float) -> float:
            """0 well below the threshold, 1 well above."""
            return float(np.clip((seen_s / threshold_s - 1 + SWING) / (2 * SWING), 0, 1))

        fast = 1 - above(self.response.low_s) if self.response.low_s > 0 else 0.0
        slow = above(largest_s / 2)
        # In the logarithm, as α is a factor. Where both thresholds are near, compete mode has its part first.
        return float(np.exp(slow * np.log(compete) + (1 - slow) * fast * np.log(self.alpha_max)))
