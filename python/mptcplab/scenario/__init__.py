"""Scenario files: a network, what crosses it and when, read from TOML and found right.

Nothing is loaded before it is asked for: errors and units need no validation of documents.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from mptcplab.scenario.builders import connection, event, link
    from mptcplab.scenario.errors import Problem, ScenarioError, UnsupportedError
    from mptcplab.scenario.load import Scenario
else:
    _HOMES = {
        "Problem": "errors",
        "Scenario": "load",
        "ScenarioError": "errors",
        "UnsupportedError": "errors",
        "connection": "builders",
        "event": "builders",
        "link": "builders",
    }

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


__all__ = ["Problem", "Scenario", "ScenarioError", "UnsupportedError", "connection", "event", "link"]
