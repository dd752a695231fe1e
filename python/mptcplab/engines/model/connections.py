"""What connections are to the models, known without their mathematics."""

from collections.abc import Sequence

from mptcplab.scenario.applications import File
from mptcplab.scenario.connections import Connection
from mptcplab.scenario.model import Document


def is_of_files(document: Document) -> bool:
    """Whether all connections carry files: then the question is when they end."""
    return bool(document.connections) and all(
        isinstance(connection.application, File) for connection in document.connections.values()
    )


def subflow_paths(connection: Connection) -> Sequence[str]:
    """The path of each subflow, in the order of opening."""
    if connection.protocol == "tcp" or connection.path_manager.name == "default":
        return connection.paths[:1]
    if connection.path_manager.name == "ndiffports":
        subflows = connection.path_manager.parameters["subflows"]
        assert isinstance(subflows, int), "checked by the registry"
        return connection.paths[:1] * subflows
    return connection.paths
