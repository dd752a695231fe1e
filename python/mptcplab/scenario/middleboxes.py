"""Middleboxes of links: what each does and takes, its file in crates/network declares."""

from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from mptcplab.scenario.declared import Declared, Family
from mptcplab.scenario.errors import show
from mptcplab.scenario.value_types import ValueType, Wrong, fault, faults, told


class Middlebox(Declared):
    """A middlebox."""

    def written(self) -> object:
        """The name alone where there is nothing more to say."""
        table = self.table()
        return table if len(table) > 1 else table["kind"]


def _short(value: str) -> Middlebox:
    # One that is not known goes the way of a table, which says what there is.
    box: Middlebox = MIDDLEBOX.validate({"kind": value})
    return box


MIDDLEBOX = Family(
    "middleboxes",
    Middlebox,
    None,
    _short,
    'a middlebox, such as "nat", or a table such as { kind = "strip", on = "syn" }',
)


_LIST = 'an array of middleboxes, the one nearest to the client first, such as ["nat"]'


def _boxes(value: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise fault(show(value), _LIST)
    wrong: list[Wrong] = []
    boxes = []
    for index, item in enumerate(value):
        try:
            boxes.append(MIDDLEBOX.validate(item))
        except PydanticCustomError as error:
            context = error.context or {}
            wrong.append(((index,), context["found"], context["expected"]))
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                place = () if isinstance(item, str) else detail["loc"]
                wrong.append(((index, *place), *told(detail)))
    if wrong:
        raise faults("middleboxes", wrong)
    return tuple(boxes)


BOXES = ValueType(
    _LIST,
    _boxes,
    lambda boxes: [box.written() for box in boxes],
    lambda: {"type": "array", "items": MIDDLEBOX.schema},
)
