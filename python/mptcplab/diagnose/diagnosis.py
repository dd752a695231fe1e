"""`diagnose`: files in, connections and what binds them out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mptcplab.diagnose import captures
from mptcplab.diagnose.connections import Connection, connections
from mptcplab.diagnose.facts import Reading
from mptcplab.diagnose.reading import read
from mptcplab.diagnose.rules import findings
from mptcplab.diagnose.rules.finding import Case, Finding


@dataclass(frozen=True)
class Diagnosis:
    """What there is, and what binds."""

    reading: Reading
    connections: list[Connection]
    captured: list[dict[str, Any]] = field(default_factory=list)
    """Connections of captures, as the document has them."""
    findings: list[Finding] = field(default_factory=list)


def diagnose(files: Iterable[str]) -> Diagnosis:
    """Read outputs of ss, nstat, ip and sysctl, logs and captures (`-` is standard input), and say what they show.

    Raises InputError when there is nothing to read.
    """
    return of_reading(read(files))


def of_reading(reading: Reading) -> Diagnosis:
    """The same of what has been read."""
    found = connections(reading.hosts)
    cases = [Case(reading.hosts, connection) for connection in found if _carries(connection)]
    if not cases and reading.hosts:
        cases = [Case(reading.hosts, None)]
    captured, of_captures = captures.read(reading)
    return Diagnosis(reading, found, captured, [*(each for case in cases for each in findings(case)), *of_captures])


def _carries(connection: Connection) -> bool:
    """Multipath TCP, or TCP that has carried more than a greeting: a machine has many idle sockets."""
    carried = max((view.sent() + view.received() for view in connection.views), default=0)
    return connection.protocol == "mptcp" or carried > 100_000
