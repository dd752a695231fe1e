"""Downloads on the testbed of §6: the scenario, what is counted, and what is tried if a claim does not hold."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl
from mptcplab.reproduce import Check, Context
from mptcplab.reproduce import Found as Mean

from . import networks, variants
from .measure import TESTBED, Case, Found, by_seed
from .networks import MACHINE
from .short import K, seeds

QUEUE: Final = "1 BDP"
BUSY_QUEUE: Final = f"{MACHINE['busy-queue']} packets"
NAMES: Final = {"min-rtt": "min-RTT", "blest": "BLEST", "daps": "DAPS", "otias": "OTIAS", "dmptcp": "DMPTCP"}


def download(
    name: str | None,
    kb: int,
    ways: Sequence[Mapping[str, Any]],
    *,
    background: int = 0,
    seconds: float = 600,
    linux: bool = False,
    queue: str | None = None,
    buffer: str | None = None,
    tcp: Mapping[str, Any] | None = None,
    jitter: str | None = None,
    both_ways: bool = False,
) -> dict[str, Any]:
    """A file to the client over two paths; `background`: so many Reno flows on each, from 5 s before.

    `linux`: schedulers in their kernel form; `queue` of both links; `buffer` of the file's receiver; `jitter` of the
    links; `both_ways`: acknowledgments are lost as well.
    """
    links = {}
    for index, way in enumerate(ways):
        made = networks.link(way["rate"], way["rtt"], queue=queue or (BUSY_QUEUE if background else QUEUE))
        if way.get("loss"):
            loss = {"loss": f"{100 * way['loss']:.6g} %"}
            made |= loss if both_ways else {"down": loss}
        if jitter:
            made["jitter"] = jitter
        links[f"p{index}"] = made
    start = "5 s" if background else "0 s"
    options: dict[str, Any] = {"direction": "down", "start": start}
    if buffer:
        options["receive_buffer"] = buffer
    if tcp:
        options["tcp"] = dict(tcp)
    sent = networks.connection(list(links), networks.file(kb * K), variants.form(name, linux=linux))
    connections: dict[str, Any] = {"file": {**sent, **options}}
    if background:
        for link in links:
            connections[f"reno-{link}"] = {
                "paths": [link],
                "protocol": "tcp",
                "count": background,
                "start": ["0 s", "1 s"],
            }
    return networks.scenario(links, connections, seconds)


def cases(points: Sequence[tuple[dict[str, Any], dict[str, Any]]], *, tcp: bool = False) -> list[Case]:
    """Every scheduler at every point: labels, and what `download` takes."""
    names: tuple[str | None, ...] = (*TESTBED, None) if tcp else TESTBED
    return [_case(name, labels, given) for labels, given in points for name in names]


def _case(name: str | None, labels: dict[str, Any], given: dict[str, Any]) -> Case:
    return {"scheme": name or "tcp", **labels}, lambda _: download(name, **given)


def only_file(found: Found) -> Found:
    """Without the flows in the background."""
    found.connections = found.connections.filter(pl.col("name") == "file")
    found.subflows = found.subflows.filter(pl.col("connection") == "file")
    return found


def retransmitted(found: Found, **labels: object) -> Mean:
    """Retransmissions on a subflow, %: what Wireshark, with which §6 counts, takes for one; not reinjections."""
    rows = found.rows("subflows", **labels)
    return by_seed(rows, 100 * pl.col("retransmissions").sum() / pl.col("segments_sent").sum())


def second_share(found: Found, **labels: object) -> Mean:
    """Part of the data by the second subflow, %."""
    rows = found.rows("subflows", **labels)
    second = pl.col("segments_sent").filter(pl.col("path") == "p1").sum()
    return by_seed(rows, 100 * second / pl.col("segments_sent").sum())


def by_name(values: Mapping[str, float], digits: int = 0) -> str:
    """The value of each scheduler, as text."""
    return ", ".join(f"{NAMES.get(name, name)} {value:.{digits}f}" for name, value in values.items())


def explain(
    context: Context,
    verdict: Check,
    point: Mapping[str, Any],
    value: Callable[[Found, str], float],
    reached: Callable[[float], Check],
    more: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    full: int = 10,
) -> str:
    """The cause of what does not hold as a whole, by experiments.

    The quick design, whose few seeds refute nothing, has none of 8 MB among other flows: they were half of its time.
    """
    if verdict.holds:
        return ""
    if context.quick and point.get("background") and point["kb"] > 1000:
        return "unknown: a whole repetition changes one thing at a time; the quick design does not."
    busy = variants.ALONE if point.get("background") else {}
    return variants.tried(
        context,
        download,
        point,
        value,
        reached,
        verdict,
        seeds=seeds(context, full, 1),
        keep=only_file,
        more={**busy, **(more or {})},
    )


def again_of(name: str, found: Found, variant: str) -> Mean:
    """Retransmissions of a scheduler, %, under a variant."""
    return retransmitted(found, scheme=name, variant=variant)


def ratio(slow: Sequence[str], fast: Sequence[str], found: Found, variant: str, *, least: bool = False) -> Mean:
    """Completion of the slowest of some over the fastest of others; `least`: of the fastest over the slowest."""
    above = [found.mean_ms(scheme=name, variant=variant) for name in slow]
    beneath = [found.mean_ms(scheme=name, variant=variant) for name in fast]
    return min(above) / max(beneath) if least else max(above) / min(beneath)
