"""A factor: from a coordinate of a design, 0 to 1, to a value of a scenario's key.

A quantity stays exact and becomes a whole number of its base unit (a bit per second, a nanosecond, a byte, a packet);
percentages, multiples of the BDP and frequencies keep nine decimals of theirs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from mptcplab.errors import Error
from mptcplab.scenario import units
from mptcplab.scenario.errors import show
from mptcplab.scenario.units import Dimension, UnreadableError

_FRACTIONAL: Final = (units.PERCENTAGE, units.BDP, units.FREQUENCY)
_DECIMALS: Final = 9
_EXPECTED: Final = 'a range such as ["1 ms", "25 ms"] or { from = "1 ms", to = "25 ms" }, or { values = [...] }'


class FactorError(Error, ValueError):
    """This is no factor; what was found and what would do."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}; expected {expected}")
        self.found = found
        self.expected = expected


@dataclass(frozen=True)
class Factor:
    """A range, or a list of values."""

    key: str
    """Of the scenario, dotted."""
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    dimension: Dimension | None = None
    """None for a number without a unit."""
    whole: bool = False
    """Whether a number without a unit is a whole one."""
    scale: Literal["linear", "log"] = "linear"
    values: tuple[Any, ...] = ()
    """For a list: its values; the range is then not used."""
    levels: int | None = None
    """In a grid: how many values of the range."""

    def at(self, coordinate: float) -> Any:  # noqa: ANN401 - as TOML has it
        """The value at a coordinate from 0 to 1, as the scenario file has it. A list is cut into equal parts."""
        if self.values:
            return self.values[min(int(coordinate * len(self.values)), len(self.values) - 1)]
        exact = self._between(coordinate)
        if self.dimension is None:
            return round(exact) if self.whole else float(exact)
        digits = _DECIMALS if self.dimension in _FRACTIONAL else 0
        return units.write(self.dimension, Fraction(round(exact * 10**digits), 10**digits))

    def coordinate(self, value: object) -> float:
        """The coordinate of a value, as `at` gives it. Raises FactorError for what is not in the range."""
        if self.values:
            if value not in self.values:
                raise FactorError(show(value), f"one of {', '.join(map(show, self.values))}")
            return (self.values.index(value) + 0.5) / len(self.values)
        quantity, dimension = _end(value)
        if dimension is not self.dimension or not self.low <= quantity <= self.high:
            raise FactorError(show(value), f"a value of {self.key}, from {self.at(0.0)} to {self.at(1.0)}")
        if self.scale == "log":
            return math.log(quantity / self.low) / math.log(self.high / self.low)
        return float((quantity - self.low) / (self.high - self.low))

    def number(self, value: object) -> float | None:
        """A value of this factor as a number in its base unit, times in seconds as in results; None for words."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        try:
            dimension, quantity = units.read(value, units.DIMENSIONS)
        except UnreadableError:
            return None
        return float(quantity / 10**9 if dimension is units.TIME else quantity)

    def _between(self, coordinate: float) -> Fraction:
        if self.scale == "linear" or coordinate in (0.0, 1.0):
            return self.low + Fraction(coordinate) * (self.high - self.low)
        ratio = math.log(self.high / self.low)
        return self.low * Fraction(math.exp(coordinate * ratio))


def factor(key: str, given: object, *, listed: bool = False) -> Factor:
    """Read a factor: an array of two (a range; a list where `listed`), or a table. Raises FactorError."""
    if isinstance(given, list):
        if listed:
            return _list(key, given)
        if len(given) != 2:
            raise FactorError(show(given), f"{_EXPECTED}; a list of values is for a grid, or for [variant]")
        return _range(key, given[0], given[1], {})
    if not isinstance(given, Mapping):
        raise FactorError(show(given), _EXPECTED)
    known = {"values"} if "values" in given else {"from", "to", "scale", "levels"}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise FactorError(f"an unknown key {show(unknown[0])}", _EXPECTED)
    if "values" in given:
        return _list(key, given["values"])
    if "from" not in given or "to" not in given:
        raise FactorError(show(given), _EXPECTED)
    return _range(key, given["from"], given["to"], given)


def _list(key: str, given: object) -> Factor:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise FactorError(show(given), "an array of at least one value")
    twice = next((value for at, value in enumerate(given) if value in given[:at]), None)
    if twice is not None:
        raise FactorError(f"{show(twice)} twice", "each value once")
    return Factor(key, values=tuple(given))


def _range(key: str, low: object, high: object, more: Mapping[str, object]) -> Factor:
    levels = more.get("levels")
    scale: Literal["linear", "log"]
    match more.get("scale", "linear"):
        case "linear":
            scale = "linear"
        case "log":
            scale = "log"
        case other:
            raise FactorError(f"the scale {show(other)}", '"linear" or "log"')
    if levels is not None and (isinstance(levels, bool) or not isinstance(levels, int) or levels < 1):
        raise FactorError(f"{show(levels)} levels", "a whole number of 1 or more")
    first, dimension = _end(low)
    last, kind = _end(high)
    if dimension is not kind:
        raise FactorError(f"{show(low)} to {show(high)}", "two values of the same kind")
    if not first < last:
        raise FactorError(f"{show(low)} to {show(high)}", "a range from the lower to the higher value")
    if scale == "log" and first <= 0:
        raise FactorError(f"{show(low)} on a logarithmic scale", "a range above 0")
    whole = isinstance(low, int) and isinstance(high, int)
    return Factor(key, first, last, dimension, whole, scale, levels=levels)


def _end(value: object) -> tuple[Fraction, Dimension | None]:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return Fraction(value), None
    try:
        dimension, quantity = units.read(value, units.DIMENSIONS)
    except UnreadableError as error:
        raise FactorError(error.found, f"{_EXPECTED}{error.hint}") from None
    return quantity, dimension
