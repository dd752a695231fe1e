"""The canonical text of a scenario: complete, and the same for every way to say the same."""

from typing import Any

import tomli_w

from mptcplab.scenario.model import DURATION, LINKS_BY, Document


def around_seed(document: Document) -> tuple[str, str]:
    """What stands before the seed and after it: every default, every quantity in its canonical unit.

    With a seed between them they read as an equal scenario but for the seed.
    """
    data: dict[str, Any] = {
        "title": document.title,
        "duration": DURATION.write(document.duration_ns),
        "seed": document.seed,
    }
    if document.links_by != LINKS_BY[0]:
        data["links"] = document.links_by
    if document.sysctl:
        data["sysctl"] = dict(document.sysctl)
    data["measure"] = document.measure.written()
    for key, tables in (
        ("medium", document.media),
        ("link", document.links),
        ("path", document.paths),
        ("connection", document.connections),
    ):
        if tables:
            data[key] = {name: table.written() for name, table in tables.items()}
    if document.events:
        data["event"] = [event.written() for event in document.events]
    if document.endpoints:
        data["endpoint"] = [endpoint.written() for endpoint in document.endpoints]
    if document.limits is not None:
        data["limits"] = document.limits.written()
    if document.topology is not None:
        data["topology"] = document.topology.written()
    if document.traffic:
        kinds = {name: traffic.written() for name, traffic in document.traffic.items()}
        data["traffic"] = kinds.get("", kinds)
    if document.testbed is not None:
        data["testbed"] = document.testbed.written()
    # Before the seed stand the title and the duration, each on one line.
    before, line, after = tomli_w.dumps(data).partition(f"\nseed = {document.seed}\n")
    assert line, "the seed has a line of its own"
    return f"{before}\nseed = ", f"\n{after}"
