"""Middleboxes of links: what each does is in mptcplab.registry, its parameters are here."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from mptcplab.scenario import units
from mptcplab.scenario.errors import show
from mptcplab.scenario.kinds import (
    HOUR,
    SECOND,
    Kind,
    Table,
    Wrong,
    boolean,
    choice,
    fault,
    faults,
    one_kind,
    quantity,
    told,
)

MOST_CONTENT = 65_455
"""Content of the largest IPv4 packet beside 20 bytes of its header and 60 of TCP's."""

_MOMENT = quantity(units.TIME, 0, 30 * 24 * HOUR)
_SPAN = quantity(units.SIZE, 1, MOST_CONTENT)


class Box(Table):
    """What every box has."""

    def written(self) -> object:
        """The name alone where there is nothing more to say."""
        table = self.table()
        return table if len(table) > 1 else table["kind"]


class Strip(Box):
    """Removes Multipath TCP options from segments."""

    expected: ClassVar[str] = "a middlebox that strips options"
    kind: Annotated[str, choice("strip")] = "strip"
    on: Annotated[str, choice("syn", "data", "not-syn", "all")] = "all"
    direction: Annotated[str, choice("down", "up")] | None = None


class Nat(Box):
    """Translates clients' addresses and ports."""

    expected: ClassVar[str] = "a NAT"
    kind: Annotated[str, choice("nat")] = "nat"


class SequenceRewriting(Box):
    """Changes the initial sequence numbers of each connection."""

    expected: ClassVar[str] = "a middlebox that rewrites sequence numbers"
    kind: Annotated[str, choice("sequence-rewriting")] = "sequence-rewriting"
    sack: Annotated[bool, boolean()] = True


class Splitting(Box):
    """Splits segments."""

    expected: ClassVar[str] = "a middlebox that splits segments"
    kind: Annotated[str, choice("splitting")] = "splitting"
    size: Annotated[int, _SPAN] = 536


class Coalescing(Box):
    """Merges two segments into one."""

    expected: ClassVar[str] = "a middlebox that coalesces segments"
    kind: Annotated[str, choice("coalescing")] = "coalescing"
    hold: Annotated[int, quantity(units.TIME, 1, SECOND)] = 1_000_000
    size: Annotated[int, _SPAN] = 9000


class PayloadRewriting(Box):
    """Replaces one byte of each connection with others."""

    expected: ClassVar[str] = "a middlebox that rewrites payload"
    kind: Annotated[str, choice("payload-rewriting")] = "payload-rewriting"
    direction: Annotated[str, choice("down", "up")] = "down"
    at: Annotated[int, quantity(units.SIZE, 0, 2**32 - 1)] = 1000
    growth: Annotated[int, quantity(units.SIZE, -1, 1000)] = 0


class ProactiveAcks(Box):
    """Acknowledges data before the receiver has it."""

    expected: ClassVar[str] = "a proxy that acknowledges"
    kind: Annotated[str, choice("proactive-acks")] = "proactive-acks"


class ResetInjection(Box):
    """Resets each connection after a number of bytes."""

    expected: ClassVar[str] = "a middlebox that injects resets"
    kind: Annotated[str, choice("reset-injection")] = "reset-injection"
    after: Annotated[int, quantity(units.SIZE, 0, 10**15)] = 100_000


class SynFilter(Box):
    """Drops SYNs with Multipath TCP options."""

    expected: ClassVar[str] = "a filter of SYNs"
    kind: Annotated[str, choice("syn-filter")] = "syn-filter"
    drops: Annotated[str, choice("all", "capable")] = "all"


class Captive(Box):
    """Lets connections open, then drops their data."""

    expected: ClassVar[str] = "a captive path"
    kind: Annotated[str, choice("captive")] = "captive"
    begins: Annotated[int, _MOMENT] = Field(0, alias="from")
    until: Annotated[int, _MOMENT] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.until is not None and self.until <= self.begins:
            found, first = (show(units.write(units.TIME, time)) for time in (self.until, self.begins))
            raise faults("Captive", [(("until",), found, f"a time after from, {first}")])
        return self


Middlebox = (
    Strip
    | Nat
    | SequenceRewriting
    | Splitting
    | Coalescing
    | PayloadRewriting
    | ProactiveAcks
    | ResetInjection
    | SynFilter
    | Captive
)
MIDDLEBOXES: dict[str, type[Table]] = {
    "strip": Strip,
    "nat": Nat,
    "sequence-rewriting": SequenceRewriting,
    "splitting": Splitting,
    "coalescing": Coalescing,
    "payload-rewriting": PayloadRewriting,
    "proactive-acks": ProactiveAcks,
    "reset-injection": ResetInjection,
    "syn-filter": SynFilter,
    "captive": Captive,
}


def _short(value: str) -> Table:
    # One that is not known goes the way of a table, which says what there is.
    return MIDDLEBOX.validate({"kind": value})  # type: ignore[no-any-return]


MIDDLEBOX: Kind = one_kind(
    MIDDLEBOXES, None, _short, 'a middlebox, such as "nat", or a table such as { kind = "strip", on = "syn" }'
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


BOXES: Kind = Kind(
    _LIST, _boxes, lambda boxes: [box.written() for box in boxes], {"type": "array", "items": MIDDLEBOX.schema}
)
