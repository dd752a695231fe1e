"""Numbers as sentences have them."""

import math

import pytest
from mptcplab.advice import formats


@pytest.mark.parametrize(
    ("ratio", "unit", "spoken"),
    [
        (1.12, "bit/s", "12 % more"),
        (0.5, "bit/s", "50 % less"),
        # Twice as good is half the time.
        (2.0, "s", "50 % less time"),
        (0.8, "s", "25 % more time"),
        (1.12, None, "12 % better"),
        (0.5, None, "50 % worse"),
        (1.004, "s", "much the same"),
        (0.996, None, "much the same"),
    ],
)
def test_a_difference_is_said_in_the_words_of_its_unit(ratio: float, unit: str | None, spoken: str) -> None:
    assert formats.better(math.log(ratio), unit) == spoken
