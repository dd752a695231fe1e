"""Changed data written into the text that they came from: comments, order and layout of what stays are kept."""

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Item

from mptcplab.scenario.errors import ScenarioError
from mptcplab.scenario.read import parse


def merged(text: str, data: Mapping[str, Any]) -> str:
    """A TOML text that reads as `data` and is as near to `text` as can be."""
    try:
        if _alike(parse(text, ""), data):
            return text
        document = tomlkit.parse(text)
        _merge(document, data)
        written = tomlkit.dumps(document)
        if _alike(tomllib.loads(written), data):
            return written
    except (ScenarioError, TOMLKitError, TypeError, KeyError, ValueError, IndexError, AttributeError, RecursionError):
        pass  # whatever is wrong with the text: what is wanted is known
    return tomli_w.dumps(data)


def _merge(place: Any, data: Mapping[str, Any]) -> None:  # noqa: ANN401 - tomlkit's tables have no common type
    for key in [key for key in place if key not in data]:
        del place[key]
    for key, value in data.items():
        if key not in place:
            place[key] = _item(key, value)
            continue
        old = place[key]
        if _alike(old, value):
            continue
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            _merge(old, value)
        elif isinstance(old, AoT) and isinstance(value, list) and len(value) == len(old):
            for table, each in zip(old, value, strict=True):
                _merge(table, each)
        else:
            place[key] = _item(key, value)


def _item(key: str, value: object) -> Any:  # noqa: ANN401
    """A new value: tables under names on lines of their own, parameters inline."""
    if isinstance(value, Mapping) and key not in ("link", "path", "connection", "medium", "measure"):
        return _inline(value)
    if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value) and key == "event":
        tables = tomlkit.aot()
        for each in value:
            table = tomlkit.table()
            for name, inner in each.items():
                table[name] = _inline(inner) if isinstance(inner, Mapping) else inner
            tables.append(table)
        return tables
    return tomlkit.item(value)


def _inline(value: Mapping[str, object]) -> Item:
    if any(isinstance(inner, Mapping) and name in ("down", "up") for name, inner in value.items()) or "paths" in value:
        return tomlkit.item(dict(value))
    if {"rate", "delay"} <= value.keys() or {"trace", "delay"} <= value.keys() or "links" in value:
        return tomlkit.item(dict(value))
    table = tomlkit.inline_table()
    table.update({name: _inline(inner) if isinstance(inner, Mapping) else inner for name, inner in value.items()})
    return table


def _alike(one: object, other: object) -> bool:
    """Whether two values are the same. 1 and 1.0 are: JavaScript does not tell them apart."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    # A NaN is not equal to itself.
    return one == other or (one != one and other != other)
