"""Scenario data as JSON that JavaScript can hold without loss: its numbers end at 2^53, and JSON has no infinity."""

import math
import re
from typing import Any, Final

MARK: Final = "$number"
_EXACT: Final = 2**53
_WHOLE: Final = re.compile(r"-?[0-9]{1,40}")
_DEEPEST: Final = 40


class TooDeepError(ValueError):
    """Tables in tables beyond what a scenario could mean."""


def to_json(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - any part of a document
    """The value with numbers that JavaScript has not as `{"$number": text}`, and dates as their texts."""
    if depth > _DEEPEST:
        raise TooDeepError
    if isinstance(value, dict):
        return {str(key): to_json(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each, depth + 1) for each in value]
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < _EXACT else {MARK: str(value)} if value.bit_length() < 128 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {MARK: repr(value)}
    return str(value)


def from_json(value: Any, depth: int = 0) -> Any:  # noqa: ANN401
    """What `to_json` was given. Raises ValueError for what a TOML document cannot hold."""
    if depth > _DEEPEST:
        raise TooDeepError
    if isinstance(value, dict):
        if value.keys() == {MARK}:
            return _number(value[MARK])
        return {key: from_json(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [from_json(each, depth + 1) for each in value]
    if value is None:
        raise ValueError("null, which TOML does not have")
    return value


def _number(text: object) -> int | float:
    if isinstance(text, str) and _WHOLE.fullmatch(text):
        return int(text)
    if text in ("inf", "-inf", "nan"):
        return float(str(text))
    raise ValueError(f"{text!r}, which is not a number")
