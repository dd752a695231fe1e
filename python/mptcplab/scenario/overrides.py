"""`--set key=value`: one key of a scenario, changed before it is validated."""

import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

from mptcplab.scenario.errors import Part, Problem, did_you_mean, dotted, one_of, show

FILE = "--set"
"""What stands in the place of a file in the problems of an override."""

# Tables whose keys are names: an override changes what has such a name, a slip of the pen does not make a new one.
_NAMED = ("link", "path", "connection")
_ALGORITHMS = ("congestion", "scheduler", "path_manager")
Key = tuple[Part, ...]
Change = tuple[str, object]
"""A key, its parts with dots between them, and a value."""


class _OverrideError(Exception):
    def __init__(self, key: str, found: str, expected: str) -> None:
        super().__init__(key)
        self.problem = Problem(FILE, key, found, expected)


def _split(text: str) -> tuple[list[str], str]:
    """The parts of the key and the value; the key is what TOML takes for one, up to the first `=` that ends it."""
    at = text.find("=")
    while at >= 0:
        try:
            nested: Any = tomllib.loads(f"{text[:at]} = 0") if "\n" not in text[:at] else {}
        except (ValueError, RecursionError):
            nested = {}
        parts = []
        while isinstance(nested, dict) and len(nested) == 1:
            part, nested = next(iter(nested.items()))
            parts.append(part)
        if parts and nested == 0:
            return parts, text[at + 1 :].strip()
        at = text.find("=", at + 1)
    raise _OverrideError("", show(text), 'KEY=VALUE, such as link.wifi.rate="10 Mbit/s"')


def _value(text: str) -> object:
    """TOML where it is TOML, else the text itself: `10 Mbit/s` needs no quotes."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if list(parsed) == ["value"] else text


def _index(part: str, items: list[Any], key: Key) -> int:
    if part.isdecimal() and int(part) < len(items):
        return int(part)
    have = f"an index from 0 to {len(items) - 1}" if items else "no index, as the array is empty"
    raise _OverrideError(dotted((*key, part)), show(part), have)


def _apply(data: dict[str, Any], parts: Sequence[str], value: object) -> Key:
    here: Any = data
    key: Key = ()
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        if isinstance(here, list):
            index = _index(part, here, key)
            key += (index,)
            if last:
                here[index] = value
            else:
                here = here[index]
            continue
        if not isinstance(here, dict):
            found = f"{show(here)}, which has no keys"
            raise _OverrideError(dotted(key), found, f"the whole value at once: {dotted(key)}={{ {part} = … }}")
        if not last and len(key) == 1 and key[0] in _NAMED and part not in here:
            names = list(here)
            have = [show(name) for name in names]
            kind = f"the {key[0]} {one_of(have)}" if have else f"a {key[0]} of the scenario, which has none"
            raise _OverrideError(dotted((*key, part)), show(part), f"{kind}{did_you_mean(part, names)}")
        key += (part,)
        if last:
            here[part] = value
        else:
            inside = here.setdefault(part, {})
            if part in _ALGORITHMS and isinstance(inside, str):
                # A name is short for a table: a parameter may be set beside it.
                inside = here[part] = {"name": inside}
            here = inside
    return key


def apply(data: dict[str, Any], overrides: Iterable[str | Change]) -> tuple[list[Key], list[Problem]]:
    """Changes `data` by each override in turn; the keys that were set, and what is wrong with the rest.

    An override is `key=value` as a text, or a key and a value as TOML would have read it.
    """
    keys: list[Key] = []
    problems: list[Problem] = []
    for given in overrides:
        try:
            if isinstance(given, str):
                parts, text = _split(given)
                value = _value(text)
            else:
                parts, _ = _split(f"{given[0]}=0")
                value = given[1]
            keys.append(_apply(data, parts, value))
        except _OverrideError as wrong:
            problems.append(wrong.problem)
    return keys, problems
