"""Scenario files: a network, what crosses it and when, read from TOML and found right.

Nothing is loaded before it is asked for: errors and units need no validation of documents.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from mptcplab.scenario.builders import connection, event, link
    from mptcplab.scenario.errors import Problem, ScenarioError, UnsupportedError
    from mptcplab.scenario.load import Scenario
else:
    from mptcplab.deferred import deferred as _deferred

    _HOMES = {
        "Problem": "errors",
        "Scenario": "load",
        "ScenarioError": "errors",
        "UnsupportedError": "errors",
        "connection": "builders",
        "event": "builders",
        "link": "builders",
    }
    __getattr__ = _deferred(__name__, _HOMES)


__all__ = ["Problem", "Scenario", "ScenarioError", "UnsupportedError", "connection", "event", "link"]
