"""What the programs' part of a run comes to, put beside what the core tells of the rest."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from mptcplab.engines.linux.programs.ledger import CLIENT, SERVER
from mptcplab.engines.linux.programs.play import Cast, Programs, ended, said

if TYPE_CHECKING:
    from mptcplab._core import Outcome

Counters = Mapping[str, Mapping[str, int]]

_FELL_BACK: Final = {
    "client": ("MPCapableFallbackSYNACK",),
    "server": ("MPCapableFallbackACK", "MPCapableDataFallback"),
}


@dataclass(frozen=True)
class Told:
    """The whole run, programs and the core's own."""

    outcome: "Outcome"
    records: list[dict[str, Any]]
    """Each program: what ran, how it ended, what it wrote."""
    notes: list[str]
    failures: list[str]


def tell(programs: Programs, outcome: "Outcome", kinds: Sequence[int], zero_ns: int, counters: Counters) -> Told:
    """`outcome` is the core's, whose connections have the places `kinds` among those of the scenario."""
    description = programs.description
    summary = json.loads(outcome["summary"])
    samples = outcome["subflow_samples"]
    assert samples is not None, "a run in real time has them, be they empty"
    rows = [(kinds[row["kind"]], number, {**row, "kind": kinds[row["kind"]]}) for number, row in _numbered(summary)]
    rows += [(each.kind, -1, _row(each, description, zero_ns, summary, counters)) for each in programs.casts]
    rows.sort(key=lambda item: item[0])
    summary["connections"] = [row for _, _, row in rows]
    place_of_core = {number: place for place, (_, number, _) in enumerate(rows) if number >= 0}
    place_of_kind = {kind: place for place, (kind, number, _) in enumerate(rows) if number < 0}
    merged = cast(
        "Outcome",
        {
            **outcome,
            "summary": json.dumps(summary),
            "subflow_samples": _samples(programs, samples, place_of_core, place_of_kind),
        },
    )
    told = Told(merged, [], [], [])
    for each in programs.casts:
        _report(each, zero_ns, counters, told)
    return told


def _numbered(summary: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(summary["connections"]))


def _row(
    each: Cast, description: Mapping[str, Any], zero_ns: int, summary: Mapping[str, Any], counters: Counters
) -> dict[str, Any]:
    client = each.processes.get(CLIENT)
    began_ns = each.start_ns if client is None else client.began_ns - zero_ns
    finished_ns = None if client is None else client.ended_ns()
    ended_ns = min(description["duration_ns"], each.stop_ns or description["duration_ns"])
    if finished_ns is not None:
        ended_ns = min(ended_ns, finished_ns - zero_ns)
    window_ns = ended_ns - max(began_ns, description["warmup_ns"])
    ledger = each.ledger
    measured = sum(count.arrived - count.warm_arrived for count in ledger.counts.values())
    good = client is not None and finished_ns is not None and client.outcome().status == 0
    return {
        "kind": each.kind,
        "index": 0,
        "start_s": began_ns / 1e9,
        "goodput_bps": measured * 8e9 / window_ns if window_ns > 0 and ledger.whole else None,
        "bytes_delivered": ledger.arrived if ledger.whole else None,
        "completion_s": (finished_ns - zero_ns - began_ns) / 1e9 if good and finished_ns is not None else None,
        "sender_completion_s": None,
        "establishment_s": None,
        "longest_silence_s": None,
        "notice_s": None,
        "out_of_order_delay_mean_s": None,
        "out_of_order_delay_p95_s": None,
        "fallback": each.pair.mptcp and _fell_back(each, counters),
        "transfers": None,
        "subflows": ledger.rows(window_ns, _lost(each, summary["flows"])),
        "failure": None,
    }


def _fell_back(each: Cast, counters: Counters) -> bool:
    return any(
        counters[f"{each.name} {end}"].get(name, 0) for end, names in _FELL_BACK.items() for name in names
    ) or not _spoke(each, counters)


def _spoke(each: Cast, counters: Counters) -> bool:
    return counters[f"{each.name} client"].get("MPCapableSYNACKRX", 0) > 0


def _lost(each: Cast, flows: Sequence[Mapping[str, Any]]) -> dict[int, tuple[int, int]]:
    """Data segments sent and lost after the warm-up by path, from the sender to the receiver."""
    paths = {
        str(address): each.pair.connection["paths"][number]
        for number, addresses in enumerate(each.pair.addresses)
        for address in addresses
    }
    server = str(IPv4Address(each.pair.server))
    counts: dict[int, tuple[int, int]] = {}
    for flow in flows:
        source, target = flow["key"]["source"][0], flow["key"]["destination"][0]
        client, other = (source, target) if each.ledger.sender == CLIENT else (target, source)
        if client in paths and other == server:
            sent, lost = counts.get(paths[client], (0, 0))
            counts[paths[client]] = (sent + flow["data_sent"], lost + flow["data_lost"])
    return counts


def _samples(
    programs: Programs, core: Mapping[str, Any], place_of_core: Mapping[int, int], place_of_kind: Mapping[int, int]
) -> dict[str, Any]:
    """The core's samples and the programs', by time, with the places that connections have in all."""
    moved = np.array([place_of_core[number] for number in sorted(place_of_core)], dtype=np.uint32)
    core_connections = np.asarray(core["connection"])
    columns = {name: [np.asarray(column)] for name, column in core.items() if name != "own"}
    columns["connection"] = [moved[core_connections] if len(moved) else core_connections]
    for each in programs.casts:
        samples = each.ledger.samples
        columns["connection"].append(np.full(len(samples.time_s), place_of_kind[each.kind], dtype=np.uint32))
        for name, column in columns.items():
            if name != "connection":
                column.append(np.asarray(getattr(samples, name), dtype=column[0].dtype))
    whole = {name: np.concatenate(parts) for name, parts in columns.items()}
    order = np.argsort(whole["time_s"], kind="stable")
    return {"own": {}, **{name: column[order] for name, column in whole.items()}}


def _report(each: Cast, zero_ns: int, counters: Counters, told: Told) -> None:
    """Its programs, and what went wrong with them."""
    for end, process in sorted(each.processes.items()):
        outcome = process.outcome()
        host = "server" if end == SERVER else "client"
        told.records.append(
            {
                "connection": each.name,
                "host": host,
                "command": list(process.command),
                "began_s": (outcome.began_ns - zero_ns) / 1e9,
                "ended_s": None if outcome.ended_ns is None else (outcome.ended_ns - zero_ns) / 1e9,
                "status": outcome.status,
                "signal": outcome.signal,
                "stdout": process.output("stdout"),
                "stderr": process.output("stderr"),
            }
        )
        if outcome.ended_ns is not None and outcome.status != 0:
            told.failures.append(f"{each.name}: the {host}'s {process.command[0]} {ended(process)}{said(process)}")
        elif end == CLIENT and outcome.ended_ns is None:
            told.notes.append(f"{each.name}: {process.command[0]} was stopped at the end of its time")
    if each.pair.mptcp and each.ledger.arrived and not _spoke(each, counters):
        told.failures.append(
            f"{each.name}: its programs spoke TCP, not Multipath TCP: mptcpize does not affect programs that are "
            "statically linked or make system calls directly; use the programs' own option and mptcpize = false"
        )
    asked = each.pair.connection["congestion"]["name"]
    if each.ledger.congestion - {asked}:
        others = ", ".join(sorted(each.ledger.congestion - {asked}))
        told.notes.append(f"{each.name}: its programs chose the congestion control {others} instead of {asked}")
    twice = counters[f"{each.name} {'server' if each.ledger.sender == CLIENT else 'client'}"].get("DuplicateData", 0)
    if twice:
        told.notes.append(
            f"{each.name}: {twice} segments of its data had already arrived on another subflow and are counted"
        )
    if not each.ledger.whole:
        told.notes.append(f"{each.name}: more sockets closed than the kernel could report: their bytes are not counted")
