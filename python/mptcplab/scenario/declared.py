"""Tables of a scenario file whose keys their owners declare: queues, losses, middleboxes, media and TCP.

What a key may be, its default and its name in the description for the core come from mptcplab.registry, so that nothing
here knows which there are. The tables are made when a file first has one: the core is not needed before that.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Optional, Self

from pydantic import create_model, model_validator

from mptcplab import registry
from mptcplab.registry import Entry, Parameter
from mptcplab.scenario import units
from mptcplab.scenario.errors import did_you_mean, one_of, show
from mptcplab.scenario.value_types import (
    Table,
    ValueType,
    Wrong,
    amount,
    boolean,
    choice,
    fault,
    faults,
    integer,
    or_word,
    quantity,
)
from mptcplab.scenario.value_types import number as number_type
from mptcplab.scenario.written import QUANTITIES

PERCENTAGE = quantity(units.PERCENTAGE, 0, 1)
LENGTH = amount()

_NOUNS: Mapping[str, str] = {"queues": "queue", "losses": "loss", "middleboxes": "middlebox"}


class Declared(Table):
    """A table with the keys that its entry of the registry declares."""

    entry: ClassVar[Entry]

    if TYPE_CHECKING:
        kind: str

        def __getattr__(self, name: str) -> Any: ...  # noqa: ANN401  # a key of the file

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        parameters = {parameter.name: parameter for parameter in self.entry.parameters}
        for order in self.entry.orders:
            low, high = (getattr(self, name) for name in (order.low, order.high))
            if low is None or high is None:
                continue
            written = [
                show(_value_type(parameters[name]).write(getattr(self, name))) for name in (order.low, order.high)
            ]
            if parameters[order.low].kind == "length":
                # Lengths of two dimensions are compared when the whole scenario is known (checks.py).
                if low.dimension is not high.dimension:
                    continue
                low, high = low.quantity, high.quantity
            if low > high or (order.strict and low == high):
                found: Wrong = (
                    ((order.high,), written[1], f"more than {order.low}, which is {written[0]}")
                    if order.strict
                    else ((order.low,), written[0], f"at most {order.high}, which is {written[1]}")
                )
                raise faults(self.entry.name, [found])
        return self


@cache
def _value_type(parameter: Parameter) -> ValueType:
    kind = _value(parameter)
    return or_word("none", kind) if parameter.absent == "none" else kind


def _value(parameter: Parameter) -> ValueType:
    low, high = parameter.minimum, parameter.maximum
    match parameter.kind:
        case "flag":
            return boolean()
        case "word":
            return choice(*parameter.choices)
        case "percentage":
            return PERCENTAGE
        case "length":
            return amount(fractional_packets=True)
        case "limit":
            return LENGTH
    assert low is not None, "a number has bounds"
    assert high is not None, "a number has bounds"
    if parameter.kind in QUANTITIES:
        return quantity(QUANTITIES[parameter.kind], int(low), int(high))
    if parameter.kind == "whole":
        return integer(int(low), int(high), parameter.noun or "a whole number")
    unit = f", in {parameter.unit}" if parameter.unit else ""
    if parameter.above_minimum:
        return number_type(lambda x: low < x <= high, f"a number above {low:g} and at most {high:g}{unit}")
    return number_type(lambda x: low <= x <= high, f"a number from {low:g} to {high:g}{unit}")


def _default(parameter: Parameter) -> Any:  # noqa: ANN401  # of any kind
    """As the table has it; `...` where one must be given."""
    if parameter.absent is not None:
        return None
    if parameter.default is None:
        return ...
    if parameter.kind == "limit":
        return LENGTH.validate(parameter.default)
    return Fraction(str(parameter.default)) if parameter.kind == "percentage" else parameter.default


def _table(entry: Entry, base: type[Declared], name: str, expected: str, *, tagged: bool) -> type[Declared]:
    fields: dict[str, Any] = {}
    tag = (Annotated[str, choice(entry.name)], entry.name)
    if tagged and not any(parameter.kind == "limit" for parameter in entry.parameters):
        fields["kind"] = tag
    for parameter in entry.parameters:
        if parameter.kind == "largest packet":
            continue
        required: Any = Annotated[Any, _value_type(parameter)]
        optional: Any = Optional[required]  # noqa: UP045 - `|` is not known of what is made at run time
        fields[parameter.name] = (optional if parameter.absent == "left out" else required, _default(parameter))
        if parameter.kind == "limit":
            fields |= {"at_least": (Optional[Annotated[Any, LENGTH]], None), "kind": tag}  # noqa: UP045
    made = create_model(name, __base__=base, __module__=__name__, __doc__=entry.summary, **fields)
    made.entry, made.expected = entry, expected
    return made


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


class Family(ValueType):
    """A table whose `kind` is an entry of a family of the registry, or a string that `short` reads."""

    def __init__(
        self, family: str, base: type[Declared], default: str | None, short: Callable[[str], Table], expected: str
    ) -> None:
        super().__init__(expected, self._validate, lambda table: table.written(), self._schema)
        for name, value in (("family", family), ("base", base), ("default", default), ("short", short)):
            object.__setattr__(self, name, value)
        _FAMILIES[family] = self

    family: str
    base: type[Declared]
    default: str | None
    short: Callable[[str], Table]

    def tables(self) -> Mapping[str, type[Declared]]:
        """The tables by their kinds."""
        return _tables(self.family)

    def _schema(self) -> Mapping[str, object]:
        return {"anyOf": [{"type": "string"}, *self.tables().values()]}

    def _validate(self, value: object) -> Any:  # noqa: ANN401  # a table of `base`
        tables = self.tables()
        if isinstance(value, str):
            return self.short(value)
        if not isinstance(value, dict):
            bare = " (a bare number)" if isinstance(value, int | float) and not isinstance(value, bool) else ""
            raise fault(f"{show(value)}{bare}", self.expected)
        chosen = value.get("kind", self.default)
        if not isinstance(chosen, str) or chosen not in tables:
            hint = did_you_mean(chosen, tables) if isinstance(chosen, str) else ""
            found = "nothing" if chosen is None else show(chosen)
            raise faults("kind", [(("kind",), found, f"{one_of([show(name) for name in tables])}{hint}")])
        return tables[chosen].model_validate({**value, "kind": chosen})


_FAMILIES: dict[str, Family] = {}


@cache
def _tables(family: str) -> Mapping[str, type[Declared]]:
    noun, base = _NOUNS[family], _FAMILIES[family].base
    return {
        entry.name: _table(
            entry, base, f"{_camel(entry.name)}{noun.capitalize()}", f"a {entry.name} {noun}", tagged=True
        )
        for entry in registry.FAMILIES[family]
    }


def described(table: Declared, given: Mapping[str, Callable[[Any], Any]] | None = None) -> dict[str, Any]:
    """As the core has it; `given` makes what depends on the scenario, by the kinds of parameters."""
    told: dict[str, Any] = {"kind": table.kind} if "kind" in type(table).model_fields else {}
    for parameter in table.entry.parameters:
        if given is not None and parameter.kind in given:
            told[parameter.field] = given[parameter.kind](getattr(table, parameter.name, None))
        else:
            value = getattr(table, parameter.name)
            told[parameter.field] = float(value) if isinstance(value, Fraction) else value
    return told


class Settings(ValueType):
    """A table of what has parameters and is no family: `tcp`, `media`."""

    def __init__(self, name: str, expected: str, table_expected: str) -> None:
        super().__init__(expected, self._validate, lambda table: table.written(), lambda: {"anyOf": [self.table()]})
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "table_expected", table_expected)
        _SETTINGS[name] = self

    name: str
    table_expected: str

    def table(self) -> type[Declared]:
        """The model."""
        return _setting(self.name)

    def _validate(self, value: object) -> Any:  # noqa: ANN401  # a table of this model
        return self.table().model_validate(value)


_SETTINGS: dict[str, Settings] = {}


@cache
def _setting(name: str) -> type[Declared]:
    entry = registry.settings(name)
    return _table(entry, Declared, _camel(entry.name), _SETTINGS[name].table_expected, tagged=False)


def __getattr__(name: str) -> type[Declared]:
    """A table by its name, which is how one is pickled."""
    if name.startswith("__"):
        raise AttributeError(name)
    families = (table for family in _FAMILIES for table in _tables(family).values())
    for made in (*families, *map(_setting, _SETTINGS)):
        if made.__name__ == name:
            return made
    raise AttributeError(name)
