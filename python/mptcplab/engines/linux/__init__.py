"""The engine `linux`: the kernel's Multipath TCP in network namespaces, over emulated links (docs/engines/linux.md)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mptcplab.scenario import Problem, Scenario


def unsupported(scenario: "Scenario") -> "list[Problem]":
    """Everything in the scenario that the engine does not support on this machine, each with what it expects."""
    from mptcplab.engines.linux import refusals  # guests of linux-virtual load this package without scenarios

    return refusals.unsupported(scenario)


__all__ = ["unsupported"]
