"""JSON Schemas of scenario and sweep files, for editors that complete and check keys while one types.

They are made from the models that read the files. What relates several values is left to `mptcplab check`.
"""

from typing import Any, Final

from pydantic_core import PydanticUndefined

from mptcplab.scenario.connections import Connection, Traffic
from mptcplab.scenario.endpoints import Endpoint, Limits
from mptcplab.scenario.links import MEDIUM, Link
from mptcplab.scenario.machines import Testbed
from mptcplab.scenario.model import Event, Head, Measure, Path, Topology
from mptcplab.scenario.value_types import Table, fields

DIALECT: Final = "http://json-schema.org/draft-07/schema#"


def scenario() -> dict[str, Any]:
    """The schema of scenario files."""
    definitions: dict[str, Any] = {}
    whole = _table(Head, definitions)
    whole["properties"] |= {
        "medium": _named(MEDIUM.table(), definitions),
        "link": _named(Link, definitions),
        "path": _named(Path, definitions),
        "connection": _named(Connection, definitions),
        "event": {"type": "array", "items": _resolved(Event, definitions)},
        "endpoint": {"type": "array", "items": _resolved(Endpoint, definitions)},
        "limits": _resolved(Limits, definitions),
        "measure": _resolved(Measure, definitions),
        "topology": _resolved(Topology, definitions),
        "testbed": _resolved(Testbed, definitions),
        "traffic": {"anyOf": [_resolved(Traffic, definitions), _named(Traffic, definitions)]},
    }
    return {"$schema": DIALECT, "title": "mptcplab scenario", **whole, "definitions": definitions}


def sweep() -> dict[str, Any]:
    """The schema of sweep files."""
    whole_number = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
    values = {"type": "array", "minItems": 1}
    edges = {"type": ["string", "number"]}
    between = {
        "type": "object",
        "properties": {"from": edges, "to": edges, "scale": {"enum": ["linear", "log"]}, "levels": whole_number},
        "required": ["from", "to"],
        "additionalProperties": False,
    }
    listed = {
        "type": "object",
        "properties": {"values": values},
        "required": ["values"],
        "additionalProperties": False,
    }
    design = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["wsp", "lhs", "grid", "random"]},
            "points": whole_number,
            "seed": {"type": "integer", "minimum": 0},
            "candidates": whole_number,
        },
        "required": ["kind"],
        "additionalProperties": False,
    }
    return {
        "$schema": DIALECT,
        "title": "mptcplab sweep",
        "type": "object",
        "properties": {
            "scenario": {"type": "string", "description": "path of a scenario file, relative to this file"},
            "engine": {
                "type": "string",
                "pattern": "^(sim|model|stack|linux|linux-virtual(:.+)?)$",
                "default": "sim",
                "description": "sim, model, stack, linux, linux-virtual or linux-virtual:KERNEL",
            },
            "repeat": whole_number | {"default": 1, "description": "seeds per point"},
            "design": design,
            "factor": {
                "type": "object",
                "description": "a key of the scenario, with its range or values",
                "additionalProperties": {"anyOf": [values, between, listed, {"type": "object"}]},
            },
            "variant": {
                "type": "object",
                "description": "a key of the scenario, with its values",
                "additionalProperties": {"anyOf": [values, {"type": "object"}]},
            },
        },
        "required": ["scenario"],
        "additionalProperties": False,
    }


def _named(table: type[Table], definitions: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": _resolved(table, definitions)}


def _resolved(schema: object, definitions: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """With a reference in place of each table; the table's own schema is then among the definitions."""
    if isinstance(schema, type) and issubclass(schema, Table):
        if schema.__name__ not in definitions:
            definitions[schema.__name__] = {}
            definitions[schema.__name__] = _table(schema, definitions)
        return {"$ref": f"#/definitions/{schema.__name__}"}
    if callable(schema):
        return _resolved(schema(), definitions)
    if isinstance(schema, dict):
        return {key: _resolved(value, definitions) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_resolved(value, definitions) for value in schema]
    return schema


def _table(table: type[Table], definitions: dict[str, Any]) -> dict[str, Any]:
    properties, required = {}, []
    for key, each, kind in fields(table):
        if kind is not None:
            properties[key] = {"description": kind.expected} | _resolved(kind.schema, definitions)
            default = (
                each.default
                if each.default_factory_takes_validated_data
                else each.get_default(call_default_factory=True)
            )
            if default is not PydanticUndefined and default is not None:
                properties[key]["default"] = kind.write(default)
        elif isinstance(each.annotation, type) and issubclass(each.annotation, Table):
            properties[key] = _resolved(each.annotation, definitions)
        if each.is_required() and not (key == "kind" and "default" in properties.get(key, {})):
            required.append(key)
    whole: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if table.__doc__:
        whole["description"] = table.__doc__.strip().splitlines()[0]
    return whole | ({"required": required} if required else {})
