"""The types of values in a scenario file, as annotated types for the models.

Each type validates its own values and reports the value found and the value expected; messages of the validation
library do not reach users. `Table` is the base of every model: it explains unknown and missing keys.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from typing import Any, ClassVar, Final, Self, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import CoreSchema, no_info_plain_validator_function

from mptcplab.scenario import units
from mptcplab.scenario.errors import Part, did_you_mean, dotted, one_of, show
from mptcplab.scenario.units import Amount, Dimension, UnreadableError

MICROSECOND = 1_000
SECOND = 1_000_000_000
HOUR = 3600 * SECOND
LONGEST = 30 * 24 * HOUR
"""The longest run, 30 days: no virtual time overflows, and a slip of the unit is found."""

_FIRST = ("kind", "distribution", "paths")

_NUMBER: Final = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?\s*"


def _written(*dimensions: Dimension) -> dict[str, Any]:
    """The schema of a quantity of one of these dimensions."""
    names = sorted({unit for dimension in dimensions for unit in dimension.units}, key=len, reverse=True)
    examples = [dimension.example for dimension in dimensions]
    return {"type": "string", "pattern": f"{_NUMBER}({'|'.join(names)})$", "examples": examples}


@dataclass(frozen=True)
class ValueType:
    """A type of value, to be put into `Annotated`."""

    expected: str
    """The expected value, for the error of a missing key."""
    validate: Callable[[object], Any]
    write: Callable[[Any], Any] = lambda value: value
    """The value as the file has it: the inverse of `validate`."""
    schema: Mapping[str, Any] | Callable[[], Mapping[str, Any]] = field(default_factory=dict, compare=False)
    """What an editor can check, as JSON Schema, or what makes it; a `Table` in it stands for that table's schema."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_plain_validator_function(self.validate)


def _value_type(field: FieldInfo) -> tuple[ValueType, bool]:
    """The type of a model's field, and whether `None` stands for an absent key."""
    own = next((item for item in field.metadata if isinstance(item, ValueType)), None)
    if own is not None:
        return own, False
    members = [item for member in get_args(field.annotation) for item in getattr(member, "__metadata__", ())]
    return next(item for item in members if isinstance(item, ValueType)), True


def fault(found: str, expected: str) -> PydanticCustomError:
    """What a validator raises."""
    return PydanticCustomError("fault", "{found}; expected {expected}", {"found": found, "expected": expected})


T = TypeVar("T")
Wrong = tuple[tuple[Part, ...], str, str]
"""A fault with its place (relative to the value that is validated): place, found, expected."""


def faults(title: str, found: Sequence[Wrong]) -> ValidationError:
    """Several faults at once, for a validator to raise."""
    return ValidationError.from_exception_data(
        title, [InitErrorDetails(type=fault(what, want), loc=where, input=None) for where, what, want in found]
    )


def told(detail: ErrorDetails | Mapping[str, Any]) -> tuple[str, str]:
    """What `fault` was told: found, expected."""
    context = detail.get("ctx", {})
    return context["found"], context["expected"]


class Table(BaseModel):
    """A table of the file: known keys only, and every error in the file's words."""

    # A table is built when a file first has it: most of them are in few files.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    expected: ClassVar[str] = "a table"

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as the file has them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def written(self) -> object:
        """As the file has it, defaults written out: what reads as an equal value."""
        return self.table()

    def table(self) -> dict[str, Any]:
        """Every key with its value as the file has it."""
        table = {}
        for name, key, value_type, optional in _columns(type(self)):
            value = getattr(self, name)
            if value is not None or not optional:
                table[key] = value_type.write(value)
        return table

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(value, dict):
            raise fault(show(value), f"{cls.expected} with the keys {', '.join(cls.keys())}")
        try:
            return handler(value)
        except ValidationError as error:
            details = error.errors(include_url=False)
        found = [cls._explained(detail) for detail in details if detail["type"] != "default_factory_not_called"]
        raise faults(cls.__name__, found)

    @classmethod
    def _explained(cls, detail: Mapping[str, Any]) -> Wrong:
        where = detail["loc"]
        if detail["type"] == "fault":
            return where, *told(detail)
        key = where[-1]
        if detail["type"] == "extra_forbidden":
            hint = did_you_mean(str(key), cls.keys())
            return where, f"an unknown key {show(str(key))}", f"one of the keys {', '.join(cls.keys())}{hint}"
        if detail["type"] == "missing":
            field = next(field for name, field in cls.model_fields.items() if key in (name, field.alias))
            return where, "nothing", _value_type(field)[0].expected
        raise AssertionError(f"a type without words of its own: {detail['type']} at {dotted(where)}")


def quantity(dimension: Dimension, low: Fraction | int, high: Fraction | int, noun: str = "") -> ValueType:
    """A quantity of this dimension in its base unit, a whole number unless it is a percentage or so."""
    noun = noun or dimension.noun
    expected = f'{noun} with its unit, such as "{dimension.example}"'
    bounds = f"{noun} from {units.write(dimension, low)} to {units.write(dimension, high)}"
    fractional = dimension in (units.PERCENTAGE, units.BDP, units.FREQUENCY)

    def validate(value: object) -> int | Fraction:
        try:
            _, number = units.read(value, [dimension])
        except UnreadableError as problem:
            known = f" ({units.unit_names([dimension])})" if "no such unit" in problem.found else ""
            raise fault(problem.found, f"{expected}{known}{problem.hint}") from None
        if not low <= number <= high:
            raise fault(show(value), bounds)
        if fractional:
            return number
        if number.denominator != 1:
            raise fault(show(value), f"{noun} that is a whole number of {dimension.base}")
        return int(number)

    return ValueType(expected, validate, partial(units.write, dimension), _written(dimension))


def amount(fractional_packets: bool = False) -> ValueType:
    """A length of a queue as a time, packets, a size or a multiple of the BDP."""
    dimensions = (units.TIME, units.PACKETS, units.SIZE, units.BDP)
    expected = 'a length with its unit, such as "100 ms", "64 packets", "300 kB" or "1 BDP"'
    most = {units.TIME: HOUR, units.PACKETS: 10**9, units.SIZE: 10**12, units.BDP: 1000}

    def validate(value: object) -> Amount:
        try:
            dimension, number = units.read(value, dimensions)
        except UnreadableError as problem:
            raise fault(problem.found, f"{expected}{problem.hint}") from None
        if not 0 <= number <= most[dimension]:
            zero, high = units.write(dimension, 0), units.write(dimension, most[dimension])
            raise fault(show(value), f"a length from {zero} to {high}")
        fractional = dimension is units.BDP or (dimension is units.PACKETS and fractional_packets)
        if number.denominator != 1 and not fractional:
            raise fault(show(value), f"a length that is a whole number of {dimension.base}")
        return Amount(dimension, number)

    return ValueType(expected, validate, str, _written(*dimensions))


def integer(low: int, high: int, what: str) -> ValueType:
    """A whole number."""
    expected = f"{what} from {low} to {high}"

    def validate(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise fault(show(value), expected)
        return value

    return ValueType(expected, validate, schema={"type": "integer", "minimum": low, "maximum": high})


def number(accept: Callable[[float], bool], expected: str) -> ValueType:
    """A finite number without a unit."""

    def validate(value: object) -> float:
        # A comparison with NaN is false, so `accept` refuses it; infinities it refuses by its bounds.
        if isinstance(value, bool) or not isinstance(value, int | float) or not accept(value):
            raise fault(show(value), expected)
        return float(value)

    return ValueType(expected, validate, schema={"type": "number"})


def boolean(expected: str = "true or false") -> ValueType:
    """True or false, nothing that resembles them."""

    def validate(value: object) -> bool:
        if not isinstance(value, bool):
            raise fault(show(value), expected)
        return value

    return ValueType(expected, validate, schema={"type": "boolean"})


def text(expected: str) -> ValueType:
    """A string that is not blank."""

    def validate(value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise fault(show(value), expected)
        return value

    return ValueType(expected, validate, schema={"type": "string", "minLength": 1})


def choice(*names: str) -> ValueType:
    """One of these strings."""
    expected = one_of([show(name) for name in names])

    def validate(value: object) -> str:
        if value not in names or not isinstance(value, str):
            hint = did_you_mean(value, names) if isinstance(value, str) else ""
            raise fault(show(value), f"{expected}{hint}")
        return value

    return ValueType(expected, validate, schema={"enum": list(names)})


def name_list(expected: str) -> ValueType:
    """An array of at least one name, none twice."""

    def validate(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise fault(show(value), expected)
        twice = next((item for index, item in enumerate(value) if item in value[:index]), None)
        if twice is not None:
            raise fault(f"{show(twice)} twice", f"{expected}, each once")
        return tuple(value)

    names = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}
    return ValueType(expected, validate, list, names)


def one_kind(
    tables: Mapping[str, type[Table]],
    default: str | None,
    short: Callable[[str], Table],
    expected: str,
    tag: str = "kind",
) -> ValueType:
    """A table whose `tag` chooses among models, or a string that `short` reads."""
    names = one_of([show(name) for name in tables])

    def validate(value: object) -> Table:
        if isinstance(value, str):
            return short(value)
        if not isinstance(value, dict):
            bare = " (a bare number)" if isinstance(value, int | float) and not isinstance(value, bool) else ""
            raise fault(f"{show(value)}{bare}", expected)
        chosen = value.get(tag, default)
        if not isinstance(chosen, str) or chosen not in tables:
            hint = did_you_mean(chosen, tables) if isinstance(chosen, str) else ""
            found = "nothing" if chosen is None else show(chosen)
            raise faults(tag, [((tag,), found, f"{names}{hint}")])
        return tables[chosen].model_validate({**value, tag: chosen})

    schema = {"anyOf": [{"type": "string"}, *tables.values()]}
    return ValueType(expected, validate, lambda table: table.written(), schema)


def table_of(model: type[Table], expected: str) -> ValueType:
    """A table of one model."""
    return ValueType(expected, model.model_validate, lambda value: value.written(), {"anyOf": [model]})


def attempt(validate: Callable[[object], T], value: object, where: tuple[Part, ...], wrong: list[Wrong]) -> T | None:
    """What `validate` makes of the value; or `None`, with its fault added to `wrong`."""
    try:
        return validate(value)
    except PydanticCustomError as error:
        context = error.context or {}
        wrong.append((where, context["found"], context["expected"]))
        return None


def or_word(word: str, value_type: ValueType) -> ValueType:
    """What `value_type` reads, or a word that stands for `None`."""
    expected = f"{show(word)} or {value_type.expected}"

    def validate(value: object) -> object:
        if value == word:
            return None
        wrong: list[Wrong] = []
        result = attempt(value_type.validate, value, (), wrong)
        for _, found, want in wrong:
            raise fault(found, f"{show(word)} or {want}")
        return result

    def write(value: object) -> object:
        return word if value is None else value_type.write(value)

    return ValueType(expected, validate, write, {"anyOf": [{"const": word}, value_type.schema]})


def fields(table: type[Table]) -> list[tuple[str, FieldInfo, ValueType | None]]:
    """The keys of a table with the types of their values; None where the key holds a table or anything."""
    found = []
    for name, each in table.model_fields.items():
        members = (each, *get_args(each.annotation))
        inside = [item for part in members for item in getattr(part, "metadata", getattr(part, "__metadata__", ()))]
        found.append((each.alias or name, each, next((item for item in inside if isinstance(item, ValueType)), None)))
    return found


@cache
def _columns(table: type[Table]) -> list[tuple[str, str, ValueType, bool]]:
    """The fields of a table: attribute, key in the file, type, and whether `None` stands for an absent key."""
    # What says which table this is comes first, though a base class may have declared other keys before.
    fields = sorted(table.model_fields.items(), key=lambda item: item[0] not in _FIRST)
    return [(name, field.alias or name, *_value_type(field)) for name, field in fields]
