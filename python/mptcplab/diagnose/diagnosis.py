"""`diagnose`: files in, connections and what binds them out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from mptcplab.diagnose import captures
from mptcplab.diagnose.connections import Connection, connections
from mptcplab.diagnose.facts import Reading
from mptcplab.diagnose.reading import read
from mptcplab.diagnose.rules import findings
from mptcplab.diagnose.rules.finding import Case, Finding

_MOST: Final = 20
_GREETING_BYTES: Final = 100_000


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
    carrying = sorted(filter(_carries, found), key=_carried, reverse=True)
    if len(carrying) > _MOST:
        reading.notes.append(
            f"causes were looked for in the {_MOST} connections that carried the most, of {len(carrying)}"
        )
    cases = [Case(reading.hosts, connection) for connection in carrying[:_MOST]]
    if not cases and reading.hosts:
        cases = [Case(reading.hosts, None)]
    captured, of_captures = captures.read(reading)
    return Diagnosis(reading, found, captured, [*(each for case in cases for each in findings(case)), *of_captures])


def _carries(connection: Connection) -> bool:
    """Multipath TCP, or TCP that has carried more than a greeting: a machine has many idle sockets."""
    return connection.protocol == "mptcp" or _carried(connection) > _GREETING_BYTES


def _carried(connection: Connection) -> float:
    return max((view.sent() + view.received() for view in connection.views), default=0)
