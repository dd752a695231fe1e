"""Applications that read slowly or pause: `read_rate` and `read` of a connection."""

from typing import Any, Final

from mptcplab.scenario import units
from mptcplab.scenario.errors import show
from mptcplab.scenario.links import RATE
from mptcplab.scenario.value_types import LONGEST, ValueType, Wrong, attempt, fault, faults, quantity

_AT: Final = quantity(units.TIME, 1, LONGEST)
_WORDS: Final[dict[str, int | None]] = {"pause": 0, "all": None}
"""Rates that have a name: none, and everything as it comes."""
_EXPECTED: Final = 'an array of times and rates, such as [["5 s", "pause"], ["8 s", "1 Mbit/s"], ["20 s", "all"]]'

Stage = tuple[int, int | None]
"""From a time on, in nanoseconds, a rate in bit/s: 0 for none, None for everything as it comes."""


def _rate(value: object) -> int | None:
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    wrong: list[Wrong] = []
    rate: int | None = attempt(RATE.validate, value, (), wrong)
    for _, found, want in wrong:
        raise fault(found, f'"pause", "all" or {want}')
    return rate


def _validate(value: object) -> tuple[Stage, ...]:
    if not isinstance(value, list) or not value:
        raise fault(show(value), _EXPECTED)
    wrong: list[Wrong] = []
    stages: list[Stage] = []
    for index, each in enumerate(value):
        if not isinstance(each, list) or len(each) != 2:
            wrong.append(((index,), show(each), 'a time and a rate, such as ["5 s", "pause"]'))
            continue
        before = len(wrong)
        at = attempt(_AT.validate, each[0], (index, 0), wrong)
        rate = attempt(_rate, each[1], (index, 1), wrong)
        if at is None or len(wrong) > before:
            continue
        if stages and at <= stages[-1][0]:
            latest = show(units.write(units.TIME, stages[-1][0]))
            wrong.append(((index, 0), show(each[0]), f"a time after the one before it, {latest}"))
        stages.append((at, rate))
    if wrong:
        raise faults("read", wrong)
    return tuple(stages)


def _write(stages: tuple[Stage, ...]) -> list[list[str]]:
    words = {rate: word for word, rate in _WORDS.items()}
    return [
        [units.write(units.TIME, at), words[rate] if rate in words else units.write(units.RATE, rate)]
        for at, rate in stages
    ]


def _schema() -> dict[str, Any]:
    rate = {"anyOf": [{"enum": list(_WORDS)}, RATE.schema]}
    stage = {"type": "array", "prefixItems": [_AT.schema, rate], "minItems": 2, "maxItems": 2}
    return {"type": "array", "items": stage, "minItems": 1}


READ: Final = ValueType(_EXPECTED, _validate, _write, _schema)


def described(read_rate: int | None, read: tuple[Stage, ...] | None) -> dict[str, Any]:
    """For the core: nothing where everything is read as it comes.

    >>> described(None, ((5_000_000_000, 0),))
    {'reading': [{'at_ns': 5000000000, 'rate_bps': 0}]}
    """
    first: tuple[Stage, ...] = () if read_rate is None else ((0, read_rate),)
    stages = first + (read or ())
    return {"reading": [{"at_ns": at, "rate_bps": rate} for at, rate in stages]} if stages else {}
