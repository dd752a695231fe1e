"""Algorithms by their names, with their parameters, as mptcplab.registry lists them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mptcplab import registry
from mptcplab.registry import Parameter, Value
from mptcplab.scenario.errors import did_you_mean, one_of, show
from mptcplab.scenario.value_types import ValueType, Wrong, attempt, fault, faults


@dataclass(frozen=True, slots=True)
class Named:
    """An algorithm with every parameter that it takes."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_plugin: bool = False
    """Whether it is a plug-in; `name` then says which: a file and a class, or an entry point."""
    sha256: str | None = None
    """Of a plug-in's file, once it is known."""

    def written(self) -> str | dict[str, Any]:
        """As a scenario file has it."""
        if self.is_plugin:
            digest = {} if self.sha256 is None else {"sha256": self.sha256}
            return {"plugin": self.name, **digest, **self.parameters}
        return {"name": self.name, **self.parameters} if self.parameters else self.name


def _parameter(parameter: Parameter, value: object) -> Value:
    assert parameter.default is not None, "an algorithm's parameter has a default"
    kind = type(parameter.default)
    if kind is bool:
        if isinstance(value, bool):
            return value
        raise fault(show(value), "true or false")
    if kind is str:
        if isinstance(value, str) and value in parameter.choices:
            return value
        hint = did_you_mean(value, parameter.choices) if isinstance(value, str) else ""
        raise fault(show(value), f"{one_of([show(name) for name in parameter.choices])}{hint}")
    low, high = parameter.minimum, parameter.maximum
    assert low is not None, "a number has bounds"
    assert high is not None, "a number has bounds"
    numeric = isinstance(value, int) or (kind is float and isinstance(value, float))
    if isinstance(value, bool) or not numeric or not isinstance(value, int | float) or not low <= value <= high:
        what = "a whole number" if kind is int else "a number"
        unit = f" {parameter.unit}" if parameter.unit else ""
        raise fault(show(value), f"{what} from {low:g} to {high:g}{unit}")
    return kind(value)


def _schema(family: str) -> dict[str, object]:
    """Each algorithm by its name, or as a table with its parameters."""
    kinds = {bool: "boolean", int: "integer", float: "number"}
    either: list[object] = [
        {
            "type": "object",
            "description": "a plug-in: its file and class, and its parameters",
            "properties": {"plugin": {"type": "string"}, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
            "required": ["plugin"],
        }
    ]
    for entry in registry.FAMILIES[family]:
        either.append({"const": entry.name, "description": entry.summary})
        properties: dict[str, object] = {"name": {"const": entry.name}}
        for each in entry.parameters:
            if isinstance(each.default, str):
                allowed: dict[str, object] = {"enum": list(each.choices)}
            elif isinstance(each.default, bool):
                allowed = {"type": "boolean"}
            else:
                allowed = {"type": kinds[type(each.default)], "minimum": each.minimum, "maximum": each.maximum}
            properties[each.name] = allowed | {"default": each.default}
        either.append({"type": "object", "properties": properties, "required": ["name"], "additionalProperties": False})
    return {"anyOf": either}


def _plugin(table: Mapping[str, Any], noun: str) -> Named:
    """A plug-in as it is named; whether there is one is found out where the scenario's folder is known."""
    wrong: list[Wrong] = []
    spec, digest = table["plugin"], table.get("sha256")
    if not isinstance(spec, str) or not spec:
        wrong.append((("plugin",), show(spec), f'the file of a {noun} and its class, such as "gentle.py:Gentle"'))
    if digest is not None and not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)):
        wrong.append((("sha256",), show(digest), "the SHA-256 of the file, 64 hexadecimal digits"))
    if wrong:
        raise faults(noun, wrong)
    parameters = {key: value for key, value in table.items() if key not in ("plugin", "sha256")}
    return Named(spec, parameters, is_plugin=True, sha256=digest)


def _is_installed(family: str, name: str) -> bool:
    """Whether an installed package adds this name."""
    from mptcplab.plugins import loading  # only for names that are not built in

    return any(kind.family == family and name in loading.installed(key) for key, kind in loading.KINDS.items())


class Algorithm(ValueType):
    """An algorithm of a family: its name, or a table of its name and parameters.

    The names are read from the registry when a value, an error or the schema needs them.
    """

    def __init__(self, family: str, noun: str) -> None:
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "noun", noun)
        object.__setattr__(self, "validate", self._validate)
        object.__setattr__(self, "write", Named.written)

    family: str
    noun: str

    @property
    def expected(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # read from the registry when asked for
        """The expected value."""
        return f"a {self.noun}: {one_of(registry.names(self.family))}"

    @property
    def schema(self) -> Mapping[str, object]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What an editor can check."""
        return _schema(self.family)

    def _validate(self, value: object) -> Named:
        family, noun = self.family, self.noun
        table = {"name": value} if isinstance(value, str) else value
        if not isinstance(table, dict):
            raise fault(show(value), self.expected)
        if "plugin" in table:
            return _plugin(table, noun)
        name = table.get("name")
        entry = registry.find(family, name) if isinstance(name, str) else None
        if entry is None and isinstance(name, str) and _is_installed(family, name):
            return Named(name, {key: each for key, each in table.items() if key != "name"}, is_plugin=True)
        if entry is None:
            found = "nothing" if name is None else show(name)
            hint = did_you_mean(name, registry.names(family)) if isinstance(name, str) else ""
            if isinstance(value, str):
                raise fault(found, f"{self.expected}{hint}")
            raise faults(noun, [(("name",), found, f"{self.expected}{hint}")])
        wrong: list[Wrong] = []
        known = [parameter.name for parameter in entry.parameters]
        for key in table:
            if key != "name" and key not in known:
                takes = (
                    f"one of the parameters of {name}: {', '.join(known)}" if known else f"{name} without parameters"
                )
                wrong.append(((key,), f"an unknown parameter {show(key)}", takes + did_you_mean(key, known)))
        parameters: dict[str, Value] = {}
        for parameter in entry.parameters:
            given = table.get(parameter.name, parameter.default)
            read = attempt(partial(_parameter, parameter), given, (parameter.name,), wrong)
            if read is not None:
                parameters[parameter.name] = read
        if wrong:
            raise faults(noun, wrong)
        if parameters.get("shared") == "none":
            # Nothing is looked for: how it would be is not worth a line in every description.
            parameters = {key: value for key, value in parameters.items() if not key.startswith("shared")}
        return Named(entry.name, parameters)


CONGESTION = Algorithm("congestion", "congestion control")
SCHEDULER = Algorithm("schedulers", "scheduler")
PATH_MANAGER = Algorithm("path-managers", "path manager")
