"""Capacity that varies at random: changes of a link's rate, drawn from the seed before the run."""

import math
import random
from collections.abc import Iterator
from typing import Annotated, ClassVar

from mptcplab.scenario import units
from mptcplab.scenario.value_types import HOUR, Table, choice, number, one_kind, quantity


class TwoState(Table):
    """The link's rate alternating with a lower one, each for exponentially distributed times."""

    expected: ClassVar[str] = "a capacity with two states"
    kind: Annotated[str, choice("two-state")] = "two-state"
    low: Annotated[int, quantity(units.RATE, 1, 10**12)]
    high_for: Annotated[int, quantity(units.TIME, 1_000_000, HOUR)]
    low_for: Annotated[int, quantity(units.TIME, 1_000_000, HOUR)]

    def changes(self, rate_bps: int, duration_ns: int, draw: random.Random) -> Iterator[tuple[int, int]]:
        """Moments and rates from then on, in their order."""
        at_ns, is_low = 0, False
        while True:
            mean_ns = self.low_for if is_low else self.high_for
            at_ns += max(1, round(-mean_ns * math.log(1.0 - draw.random())))
            if at_ns >= duration_ns:
                return
            is_low = not is_low
            yield at_ns, self.low if is_low else rate_bps


class Autocorrelated(Table):
    """A rate whose logarithm is a first-order autoregressive process; its mean is the link's rate."""

    expected: ClassVar[str] = "an autocorrelated capacity"
    kind: Annotated[str, choice("autocorrelated")] = "autocorrelated"
    deviation: Annotated[float, number(lambda x: 0 < x <= 2, "a number above 0 and at most 2")] = 0.3
    time: Annotated[int, quantity(units.TIME, 1_000_000, HOUR)] = 2_000_000_000
    step: Annotated[int, quantity(units.TIME, 1_000_000, HOUR)] = 100_000_000

    def changes(self, rate_bps: int, duration_ns: int, draw: random.Random) -> Iterator[tuple[int, int]]:
        """Moments and rates from then on, in their order."""
        keeps = math.exp(-self.step / self.time)
        moves = math.sqrt(1.0 - keeps * keeps)
        value = _normal(draw)
        for at_ns in range(0, duration_ns, self.step):
            factor = math.exp(self.deviation * value - self.deviation * self.deviation / 2)
            yield at_ns, max(1, round(rate_bps * factor))
            value = keeps * value + moves * _normal(draw)


Variation = TwoState | Autocorrelated
VARIATION = one_kind(
    {"two-state": TwoState, "autocorrelated": Autocorrelated},
    None,
    lambda _: TwoState.model_validate({}),
    'a table such as { kind = "autocorrelated", deviation = 0.3 }',
)


def _normal(draw: random.Random) -> float:
    """A standard normal draw by Box and Muller: the library's own may change from version to version."""
    return math.sqrt(-2.0 * math.log(1.0 - draw.random())) * math.cos(2.0 * math.pi * draw.random())


def generator(seed: int, link: str, way: str) -> random.Random:
    """The stream of one direction of a link."""
    return random.Random(f"{seed}/link/{link}/{way}/variation")
