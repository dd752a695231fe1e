"""Scenario files: a network, what crosses it and when, read from TOML and found right."""

from mptcplab.scenario.builders import connection, event, link
from mptcplab.scenario.errors import Problem, ScenarioError, UnsupportedError
from mptcplab.scenario.load import Scenario

__all__ = ["Problem", "Scenario", "ScenarioError", "UnsupportedError", "connection", "event", "link"]
