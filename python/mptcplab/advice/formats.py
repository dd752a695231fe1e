"""Numbers as sentences have them."""

import math
from typing import Final

SAME: Final = "much the same"
"""Of a difference below half a per cent."""


def rate(bps: float) -> str:
    """`93.6 Mbit/s`."""
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= size:
            return f"{_three(bps / size)} {unit}"
    return f"{bps:.0f} bit/s"


def time(seconds: float) -> str:
    """`39.4 ms`, `1.25 s`."""
    return f"{_three(seconds)} s" if seconds >= 1 else f"{_three(seconds * 1e3)} ms"


def size(number: float) -> str:
    """`280 MB`."""
    for unit, one in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= one:
            return f"{_three(number / one)} {unit}"
    return f"{number:.0f} B"


def quantity(value: float, unit: str) -> str:
    """A rate or a time."""
    return rate(value) if unit == "bit/s" else time(value)


def share(part: float) -> str:
    """`28 %`; under one per cent says so."""
    if 0 < part < 0.005:
        return "under 1 %"
    return f"{part * 100:.0f} %"


def percent(part: float) -> str:
    """`7.2 %`: one decimal below ten."""
    number = abs(part) * 100
    return f"{number:.1f} %" if number < 9.95 else f"{number:.0f} %"


def better(logarithm: float, unit: str | None) -> str:
    """A difference of scores in words that fit the unit: `7.2 % less time`, `12 % more`, `much the same`.

    A score that combines several figures has no unit; it is `12 % better`.
    """
    if abs(logarithm) < 0.005:
        return SAME
    if unit == "s":
        change = math.exp(-logarithm) - 1
        return f"{percent(change)} {'less' if change < 0 else 'more'} time"
    up, down = ("better", "worse") if unit is None else ("more", "less")
    return f"{percent(math.exp(logarithm) - 1)} {up if logarithm > 0 else down}"


def listed(items: list[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def _three(number: float) -> str:
    """Three digits that matter, no exponent."""
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def plain_size(number: float) -> str:
    """As the user wrote it: `20 GB`."""
    for unit, one in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= one:
            return f"{number / one:g} {unit}"
    return f"{number:g} B"
