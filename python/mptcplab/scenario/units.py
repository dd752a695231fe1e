"""Quantities with their units, exactly: "12.5 ms" is 12 500 000 ns and not a floating-point neighbour of it.

A quantity is read into a `Fraction` of its base unit and written in one way only, so that `read(write(x)) == x` and two
ways to write one quantity become one.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from mptcplab.scenario.errors import one_of, show

_QUANTITY = re.compile(r"(?P<number>[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*(?P<unit>\S*)")
# Long enough for every quantity that is meant; keeps the numbers small that a hostile file could ask for.
_LONGEST_TEXT = 64


@dataclass(frozen=True, eq=False)
class Dimension:
    """What a quantity measures."""

    noun: str
    """With its article: "a rate"."""
    base: str
    """The base unit in words, plural: "bits per second"."""
    units: Mapping[str, Fraction]
    """Every unit that is read, as so many base units."""
    written: tuple[str, ...]
    """The units that are written, from the largest; powers of ten, so that every number ends."""
    example: str

    def __reduce__(self) -> str:
        """The name in this module: a dimension is told by its identity, also in a copied or unpickled scenario."""
        return next(name for name, value in globals().items() if value is self)


def _powers_of_ten(**exponents: int) -> dict[str, Fraction]:
    return {unit: Fraction(10) ** exponent for unit, exponent in exponents.items()}


RATE = Dimension(
    "a rate",
    "bits per second",
    {f"{prefix}bit/s": Fraction(10) ** power for prefix, power in {"": 0, "k": 3, "M": 6, "G": 9}.items()},
    ("Gbit/s", "Mbit/s", "kbit/s", "bit/s"),
    "25 Mbit/s",
)
TIME = Dimension("a time", "nanoseconds", _powers_of_ten(ns=0, us=3, ms=6, s=9), ("s", "ms", "us", "ns"), "12.5 ms")
SIZE = Dimension(
    "a size",
    "bytes",
    _powers_of_ten(B=0, kB=3, MB=6, GB=9) | {f"{p}iB": Fraction(1024**n) for n, p in enumerate("KMG", start=1)},
    ("GB", "MB", "kB", "B"),
    "300 kB",
)
PACKETS = Dimension(
    "a number of packets", "packets", {"packets": Fraction(1), "packet": Fraction(1)}, ("packets",), "64 packets"
)
BDP = Dimension("a multiple of the BDP", "BDP", {"BDP": Fraction(1)}, ("BDP",), "1 BDP")
PERCENTAGE = Dimension("a percentage", "parts of one", {"%": Fraction(1, 100)}, ("%",), "1 %")
FREQUENCY = Dimension("a number per second", "times per second", {"/s": Fraction(1)}, ("/s",), "5 /s")

DIMENSIONS = (RATE, TIME, SIZE, PACKETS, BDP, PERCENTAGE, FREQUENCY)

# What people write for what is meant; compared in lower case. Not read: an answer, not a second spelling.
_MEANT = {
    "bps": "bit/s", "kbps": "kbit/s", "mbps": "Mbit/s", "gbps": "Gbit/s", "bit": "bit/s", "kbit": "kbit/s",
    "mbit": "Mbit/s", "gbit": "Gbit/s", "b/s": "bit/s", "kb/s": "kbit/s", "mb/s": "Mbit/s", "gb/s": "Gbit/s",
    "sec": "s", "second": "s", "seconds": "s", "msec": "ms", "usec": "us", "µs": "us", "μs": "us", "nsec": "ns",
    "byte": "B", "bytes": "B", "kbyte": "kB", "kbytes": "kB", "mbyte": "MB", "mbytes": "MB",
    "p": "packets", "pkt": "packets", "pkts": "packets", "pct": "%", "percent": "%", "hz": "/s",
}  # fmt: skip
_MEANT |= {unit.lower(): unit for dimension in DIMENSIONS for unit in dimension.units}


class UnreadableError(ValueError):
    """The value is no quantity of these dimensions."""

    def __init__(self, found: str, hint: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.hint = hint
        """A did-you-mean to put behind what is expected, or nothing."""


def unit_names(dimensions: Sequence[Dimension]) -> str:
    """The units of these dimensions: `bit/s, kbit/s, Mbit/s or Gbit/s`."""
    return one_of([unit for dimension in dimensions for unit in dimension.units if unit != "packet"])


def read(value: object, dimensions: Sequence[Dimension]) -> tuple[Dimension, Fraction]:
    """The dimension and the quantity in its base unit; raises `UnreadableError`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise UnreadableError(f"{show(value)} (a bare number)")
    if not isinstance(value, str):
        raise UnreadableError(show(value))
    match = _QUANTITY.fullmatch(value.strip()) if len(value) <= _LONGEST_TEXT else None
    if match is None:
        raise UnreadableError(show(value))
    number, unit = match["number"], match["unit"]
    for dimension in dimensions:
        if unit in dimension.units:
            return dimension, Fraction(number) * dimension.units[unit]
    if not unit:
        raise UnreadableError(f"{show(value)} (a number without a unit)")
    for dimension in DIMENSIONS:
        if unit in dimension.units:
            raise UnreadableError(f"{show(value)} ({dimension.noun})")
    meant = _MEANT.get(unit.lower())
    known = any(meant in dimension.units for dimension in dimensions)
    hint = f'; did you mean "{number} {meant}"?' if known else ""
    raise UnreadableError(f'{show(value)} (no such unit as "{unit}")', hint)


def decimal(number: Fraction) -> str:
    """A fraction whose decimals end, in full: `12.5`."""
    digits, rest = 0, number.denominator
    # Each digit takes a 2 and a 5 out of the denominator, as long as it has them.
    while rest != 1 and digits <= 4 * _LONGEST_TEXT:
        rest //= math.gcd(rest, 10)
        digits += 1
    if (10**digits) % number.denominator:
        raise ValueError(f"{number} has no finite decimal form")
    scaled = abs(number.numerator) * (10**digits // number.denominator)
    sign = "-" if number < 0 else ""
    whole, part = divmod(scaled, 10**digits)
    return f"{sign}{whole}.{part:0{digits}d}" if digits else f"{sign}{whole}"


@lru_cache(maxsize=4096)  # a scenario has few different quantities, mostly defaults
def write(dimension: Dimension, quantity: Fraction | int) -> str:
    """The quantity with the unit that makes the shortest number of 1 or more: `12.5 ms`, `1460 B`, `0 s`."""
    quantity = Fraction(quantity)
    smallest = "s" if dimension is TIME and quantity == 0 else dimension.written[-1]
    fitting = [unit for unit in dimension.written if abs(quantity) >= dimension.units[unit]] or [smallest]
    # `min` keeps the first of equals, which is the largest unit.
    return min((f"{decimal(quantity / dimension.units[unit])} {unit}" for unit in fitting), key=len)


@dataclass(frozen=True, slots=True)
class Amount:
    """A length of a queue, in the dimension in which it was given: it becomes bytes only with a rate and a delay."""

    dimension: Dimension
    quantity: Fraction

    def __str__(self) -> str:
        return write(self.dimension, self.quantity)
