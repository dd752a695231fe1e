"""A declared parameter in the words of a scenario file: its default, its range, and what it means."""

from fractions import Fraction
from typing import Final

from mptcplab.registry import Entry, Parameter
from mptcplab.scenario import units
from mptcplab.scenario.errors import one_of, show

QUANTITIES: Final = {"time": units.TIME, "size": units.SIZE, "packets": units.PACKETS}
_VALUES: Final = {
    "time": "a time",
    "size": "a size",
    "packets": "packets",
    "percentage": "a percentage",
    "length": "a length",
    "limit": "a length",
}


def number(parameter: Parameter, value: float) -> str:
    """A number with its unit; one of packets without."""
    if parameter.kind in ("time", "size"):
        return units.write(QUANTITIES[parameter.kind], int(value))
    if parameter.kind == "percentage":
        return units.write(units.PERCENTAGE, Fraction(str(value)))
    return str(int(value)) if value == int(value) else f"{value:g}"


def default(parameter: Parameter) -> str:
    """`none` where the key may be left out, `required` where it may not."""
    if parameter.absent is not None:
        return "none" if parameter.absent == "left out" else show("none")
    value = parameter.default
    if value is None:
        return "required"
    if parameter.kind in QUANTITIES and not isinstance(value, str):
        return show(units.write(QUANTITIES[parameter.kind], int(value)))
    return show(number(parameter, float(value))) if parameter.kind == "percentage" else show(value)


def bounds(parameter: Parameter, entry: Entry) -> str:
    """The least and the greatest value, and what other parameters demand; empty where every value will do."""
    low, high = parameter.minimum, parameter.maximum
    least = [order for order in entry.orders if order.low == parameter.name]
    limits = [f"below `{each.high}`" if each.strict else f"at most `{each.high}`" for each in least]
    if low is None or high is None:
        return ", ".join(limits)
    written = [number(parameter, value) for value in (low, high)]
    if parameter.above_minimum:
        return ", ".join([f"above {written[0]}, at most {written[1]}", *limits])
    return ", ".join([f"{written[0]} to {written[1]}", *limits])


def words(parameter: Parameter) -> str:
    """The words it is chosen from, or the two of a flag; empty for a number."""
    if parameter.choices:
        return one_of([f"`{show(word)}`" for word in parameter.choices])
    return "`true` or `false`" if parameter.kind == "flag" else ""


def meaning(parameter: Parameter) -> str:
    """What it is, and what kind of value it takes."""
    what = _VALUES.get(parameter.kind)
    unit = f", in {parameter.unit}" if parameter.unit else ""
    return parameter.summary + (f", {what}" if what else "") + unit
