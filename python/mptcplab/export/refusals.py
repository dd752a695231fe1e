"""What an exported script cannot express, by name."""

from collections.abc import Iterator
from typing import Final

from mptcplab.engines.linux import refusals as of_linux
from mptcplab.engines.linux_virtual import tc_refusals
from mptcplab.scenario import Problem, Scenario
from mptcplab.scenario.errors import Part, show
from mptcplab.scenario.model import Document

APPLICATIONS: Final = ("bulk", "file", "rate")


def unsupported(scenario: Scenario) -> list[Problem]:
    """Everything that a script of namespaces cannot do, each with what it expects."""
    places = scenario.places()
    # The controls of this machine are not those of the one that will run the script, which says what it lacks.
    found = {problem.key: problem for problem in of_linux.unsupported(scenario, controls=(), programs_here=False)}
    for each in (*tc_refusals.found(scenario.document, ()), *_found(scenario.document)):
        problem = places.problem(*each)
        found.setdefault(problem.key, problem)
    found.pop("links", None)
    return list(found.values())


def _found(document: Document) -> Iterator[tuple[tuple[Part, ...], str, str]]:
    for name, connection in document.connections.items():
        key = ("connection", name)
        kind = connection.application.kind
        if kind not in APPLICATIONS:
            yield (*key, "application"), show(kind), f"one that iperf3 can play: {', '.join(APPLICATIONS)}"
        if connection.count > 1 and kind == "file":
            yield (*key, "count"), f"{connection.count} files", "1: iperf3 shares a size between its streams"
        for reads in ("read_rate", "read"):
            if getattr(connection, reads) is not None:
                yield (*key, reads), "a value", "none: iperf3 reads everything as it comes"
        manager = connection.path_manager
        if connection.protocol == "mptcp" and manager.name not in (
            "default",
            "fullmesh",
            "backup",
            "ndiffports",
            "linux",
        ):
            yield (*key, "path_manager"), show(manager.name), "default, fullmesh, backup, ndiffports or linux"
