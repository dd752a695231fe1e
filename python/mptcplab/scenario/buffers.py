"""Receive buffers by rule: a size that follows from the paths of a connection, or from Linux's sysctl."""

from typing import Annotated, Any, ClassVar

from mptcplab.scenario import units
from mptcplab.scenario.value_types import Table, ValueType, attempt, choice, fault, number, quantity

_SIZE = quantity(units.SIZE, 88, 65_535 * 2**14)


class BufferRule(Table):
    """A rule for the size of the receive buffer."""

    expected: ClassVar[str] = "a rule for a receive buffer"
    rule: Annotated[str, choice("paths", "linux")]
    factor: Annotated[float, number(lambda x: 0 < x <= 1000, "a number above 0 and at most 1000")] = 2.0
    rmem_max: Annotated[int, _SIZE] = 6_291_456


def _buffer() -> ValueType:
    expected = f'"auto", {_SIZE.expected}, or a rule such as {{ rule = "paths" }}'

    def validate(value: object) -> object:
        if value == "auto":
            return None
        if isinstance(value, dict):
            return BufferRule.model_validate(value)
        wrong: list[Any] = []
        size = attempt(_SIZE.validate, value, (), wrong)
        for _, found, want in wrong:
            raise fault(found, f'"auto" or {want}')
        return size

    def write(value: object) -> object:
        return "auto" if value is None else value.written() if isinstance(value, BufferRule) else _SIZE.write(value)

    return ValueType(expected, validate, write, {"anyOf": [{"const": "auto"}, _SIZE.schema, BufferRule]})


BUFFER = _buffer()
