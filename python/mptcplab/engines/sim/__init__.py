"""The engine `sim`: our own TCP and Multipath TCP in virtual time, packet by packet."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mptcplab.scenario import Problem, Scenario


def unsupported(scenario: "Scenario") -> "list[Problem]":
    """Everything in the scenario that the engine cannot do: what the registry says it has not."""
    return scenario.unsupported("sim")
