"""The beginning of a scenario. A run does not know what comes later, so a shorter one has the same samples."""

from typing import TYPE_CHECKING

from mptcplab.scenario import units
from mptcplab.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario


def beginning(scenario: "Scenario", until_s: float) -> "Scenario | None":
    """The scenario up to a time, in whole milliseconds, at least one; None where it would not be a scenario."""
    document = scenario.document
    until_ns = max(1_000_000, int(until_s * 1e3) * 1_000_000)
    duration = units.write(units.TIME, until_ns)
    changes: dict[str, object] = {"measure.warmup": "0 s"}
    for name, connection in document.connections.items():
        if connection.start[1] >= until_ns:
            return None
        if connection.stop is not None and connection.stop > until_ns:
            changes[f'connection."{name}".stop'] = duration
    try:
        return scenario.with_(changes, duration=duration)
    except ScenarioError:
        return None
