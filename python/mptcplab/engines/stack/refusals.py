"""What the engine `stack` cannot do, beyond the algorithms that the registry says it has not."""

from collections.abc import Iterator

from mptcplab.engines.stack.layout import CONNECTION_LIMIT, PATH_LIMIT, PATHS_OF_A_CONNECTION
from mptcplab.scenario import Problem, Scenario
from mptcplab.scenario.errors import Part
from mptcplab.scenario.model import Document

Found = tuple[tuple[Part, ...], str, str]


def unsupported(scenario: Scenario) -> list[Problem]:
    """Everything in the scenario that the engine does not support, each with what it expects."""
    places = scenario.places()
    problems = {problem.key: problem for problem in scenario.unsupported("stack")}
    for found in _found(scenario.document):
        problem = places.problem(*found)
        problems.setdefault(problem.key, problem)
    return list(problems.values())


def _found(document: Document) -> Iterator[Found]:
    for name, connection in document.connections.items():
        if len(connection.paths) > PATHS_OF_A_CONNECTION:
            yield ("connection", name, "paths"), f"{len(connection.paths)} paths", f"at most {PATHS_OF_A_CONNECTION}"
    if len(document.paths_in_use()) > PATH_LIMIT:
        yield ("path",), f"{len(document.paths_in_use())} paths in use", f"at most {PATH_LIMIT}"
    count = sum(connection.count for connection in document.connections.values())
    if count > CONNECTION_LIMIT:
        yield (
            ("connection",),
            f"{count} connections",
            f"at most {CONNECTION_LIMIT}: they run on one machine, in real time",
        )
