"""One outcome from what the two ends of a run saw: what a sender counts is the sender's, what arrived the receiver's.

Where a receiver does not know a path, as behind a box that translates addresses, what its sender has had acknowledged
stands for what arrived.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mptcplab.engines.linux_virtual.columns import TYPES

if TYPE_CHECKING:
    from mptcplab._core import Outcome

End = Mapping[str, Any]

_OF_SENDER: Final = (
    "segments_sent", "retransmissions", "timeouts", "timeout_times_s", "reinjections", "rtt_mean_s",
    "cwnd_mean_segments",
)  # fmt: skip
_SAMPLED_BY_SENDER: Final = ("cwnd_segments", "srtt_s", "in_flight_segments")
_NEVER: Final = ("loss_rate", "waited_first_s", "waited_retransmission_s", "waited_timeout_s", "waited_reinjection_s")


def outcome(description: Mapping[str, Any], own: Sequence[int], client: End, server: End) -> "Outcome":
    """The whole, in the form of the core; `own` are the kinds of connections that the core played, others programs."""
    rows: list[dict[str, Any]] = []
    samples: list[dict[str, np.ndarray[Any, Any]]] = []
    if own:
        halves = [_numbered(each, own) for each in (client, server)]
        for of_client, of_server in zip(*halves, strict=True):
            rows.append(_row(of_client, of_server, _sends(description, of_client["kind"]) == "client"))
        places = {(row["kind"], row["index"]): number for number, row in enumerate(rows)}
        samples = [_samples(description, client, server, halves, rows, places)]
    for of_client, of_server in zip(client["programs"], server["programs"], strict=True):
        rows.append(_program(description, of_client, of_server))
        samples.append(_program_samples(description, of_client, of_server, rows[-1], len(rows) - 1))
    order = sorted(range(len(rows)), key=lambda number: (rows[number]["kind"], rows[number]["index"]))
    moved = np.array([order.index(number) for number in range(len(rows))], dtype=np.uint32)
    columns = {name: np.concatenate([part[name] for part in samples]) for name in TYPES["subflow_samples"]}
    columns["connection"] = moved[columns["connection"].astype(np.int64)]
    by_time = np.lexsort((columns["subflow"], columns["connection"], columns["time_s"]))
    links = [
        {"link": number, "down": down, **dict.fromkeys(_OF_LINKS)}
        for number in range(len(description["links"]))
        for down in (True, False)
    ]
    empty = {name: np.array([], dtype=kind) for name, kind in TYPES["link_samples"].items()}
    merged: Any = {
        "summary": json.dumps({"connections": [rows[number] for number in order], "links": links}),
        "subflow_samples": {**{name: column[by_time] for name, column in columns.items()}, "own": {}},
        "link_samples": empty,
    }
    return merged  # type: ignore[no-any-return]


_OF_LINKS: Final = ("utilization", "loss_rate", "drops", "queue_mean_packets", "queue_max_packets")


def _sends(description: Mapping[str, Any], kind: int) -> str:
    return "client" if description["connections"][kind]["direction"] == "up" else "server"


def _numbered(end: End, own: Sequence[int]) -> list[dict[str, Any]]:
    return [{**row, "kind": own[row["kind"]]} for row in end["summary"]["connections"]]


def _row(client: Mapping[str, Any], server: Mapping[str, Any], up: bool) -> dict[str, Any]:
    """The client's row, by whose clock times are, with what arrived at the server."""
    row = dict(client)
    if up:
        row |= {key: server[key] for key in ("goodput_bps", "bytes_delivered", "longest_silence_s")}
    sender, receiver = (client, server) if up else (server, client)
    row["fallback"] = client["fallback"] or server["fallback"]
    row["subflows"] = _subflows(sender["subflows"], receiver["subflows"])
    if row["transfers"] is not None:
        row["transfers"] = _transfers(row["transfers"], up)
    return row


def _subflows(sender: Iterable[Mapping[str, Any]], receiver: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Subflow by subflow in the order of opening; those over one path in the order in which each end saw them."""
    merged = []
    theirs = list(sender)
    for row in receiver:
        match = next((each for each in theirs if each["path"] == row["path"]), None)
        if match is not None:
            theirs.remove(match)
        counted = {key: None if match is None else match[key] for key in _OF_SENDER}
        merged.append({**row, **counted, **dict.fromkeys(_NEVER)})
    merged += [{**row, **dict.fromkeys(_NEVER)} for row in theirs]
    rates = [row["goodput_bps"] or 0.0 for row in merged]
    for row, rate in zip(merged, rates, strict=True):
        row["share"] = rate / sum(rates) if sum(rates) else None
    return merged


def _transfers(transfers: Mapping[str, Any], up: bool) -> dict[str, Any]:
    """Segments of single transfers are counted where the sender is the client, who keeps the list."""
    if up:
        return dict(transfers)
    carried = [[{**each, "segments": None} for each in used] for used in transfers["subflows"]]
    return {**transfers, "subflows": carried}


def columns(end: End) -> dict[str, np.ndarray[Any, Any]]:
    """The samples of an end as arrays. Raises ValueError for columns of unequal length."""
    given = end["samples"]
    found = {
        name: np.frombuffer(base64.b64decode(given[name]), dtype=kind)
        for name, kind in TYPES["subflow_samples"].items()
    }
    if len({len(column) for column in found.values()}) > 1:
        raise ValueError("columns of samples differ in length")
    return found


def _samples(
    description: Mapping[str, Any],
    client: End,
    server: End,
    halves: Sequence[Sequence[Mapping[str, Any]]],
    rows: Sequence[Mapping[str, Any]],
    places: Mapping[tuple[int, int], int],
) -> dict[str, np.ndarray[Any, Any]]:
    """Both ends sample at the same times, so rows meet by time, connection and path."""
    known: dict[tuple[int, int, int], dict[str, float]] = {}
    for name, end, half in (("client", client, halves[0]), ("server", server, halves[1])):
        of = columns(end)
        for at in range(len(of["time_s"])):
            row = half[int(of["connection"][at])]
            if int(of["subflow"][at]) >= len(row["subflows"]):
                continue  # seen only while it lasted
            place = places[row["kind"], row["index"]]
            path = row["subflows"][int(of["subflow"][at])]["path"]
            number = next(n for n, each in enumerate(rows[place]["subflows"]) if each["path"] == path)
            cell = known.setdefault((round(float(of["time_s"][at]) * 1e9), place, number), {})
            sends = _sends(description, row["kind"]) == name
            taken = _SAMPLED_BY_SENDER if sends else ("goodput_bps",)
            for column in taken:
                cell[column] = float(of[column][at])
            if sends:
                cell.setdefault("goodput_bps", float(of["goodput_bps"][at]))
    ordered = sorted(known.items())
    return _as_columns([(time_ns, place, number, cell) for (time_ns, place, number), cell in ordered])


def _as_columns(cells: Sequence[tuple[int, int, int, Mapping[str, float]]]) -> dict[str, np.ndarray[Any, Any]]:
    """Columns of the core's types; of what no end told the smoothed RTT is no number, the rest nothing."""
    values = {
        "time_s": [time_ns / 1e9 for time_ns, *_ in cells],
        "connection": [place for _, place, _, _ in cells],
        "subflow": [number for _, _, number, _ in cells],
        "goodput_bps": [cell.get("goodput_bps", 0.0) for *_, cell in cells],
        "cwnd_segments": [cell.get("cwnd_segments", float("nan")) for *_, cell in cells],
        "srtt_s": [cell.get("srtt_s", float("nan")) for *_, cell in cells],
        "in_flight_segments": [int(cell.get("in_flight_segments", 0)) for *_, cell in cells],
    }
    return {name: np.array(column, dtype=TYPES["subflow_samples"][name]) for name, column in values.items()}


def _program(description: Mapping[str, Any], client: End, server: End) -> dict[str, Any]:
    up = _sends(description, client["kind"]) == "client"
    sender, receiver = (client, server) if up else (server, client)
    seen = receiver if receiver["bytes"] or not sender["bytes"] else sender
    window_ns = client["window_ns"]
    finished_ns = client["finished_ns"]
    subflows = _subflows(sender["subflows"], receiver["subflows"])
    for row in subflows:
        # Rates over the time of the client's program, whichever end counted.
        row["goodput_bps"] = _scaled(row["goodput_bps"], receiver["window_ns"], window_ns)
    return {
        "kind": client["kind"],
        "index": 0,
        "start_s": client["began_ns"] / 1e9,
        "goodput_bps": seen["measured_bytes"] * 8e9 / window_ns if window_ns > 0 and seen["whole"] else None,
        "bytes_delivered": seen["bytes"] if seen["whole"] else None,
        "completion_s": (finished_ns - client["began_ns"]) / 1e9
        if finished_ns is not None and client["status"] == 0
        else None,
        "sender_completion_s": None,
        "establishment_s": None,
        "longest_silence_s": None,
        "out_of_order_delay_mean_s": None,
        "out_of_order_delay_p95_s": None,
        "fallback": False,
        "transfers": None,
        "subflows": subflows,
        "failure": None,
    }


def _scaled(rate: float | None, of_ns: int, to_ns: int) -> float | None:
    return rate * of_ns / to_ns if rate is not None and to_ns > 0 else None


def _program_samples(
    description: Mapping[str, Any], client: End, server: End, row: Mapping[str, Any], place: int
) -> dict[str, np.ndarray[Any, Any]]:
    known: dict[tuple[int, int], dict[str, float]] = {}
    for name, end in (("client", client), ("server", server)):
        of, paths = end["samples"], [each["path"] for each in end["subflows"]]
        sends = _sends(description, client["kind"]) == name
        for at, time_s in enumerate(of["time_s"]):
            number = next(n for n, each in enumerate(row["subflows"]) if each["path"] == paths[of["subflow"][at]])
            cell = known.setdefault((round(time_s * 1e9), number), {})
            for column in _SAMPLED_BY_SENDER if sends else ("goodput_bps",):
                value = of[column][at]
                cell[column] = float("nan") if value is None else float(value)
            if sends:
                cell.setdefault("goodput_bps", float(of["goodput_bps"][at]))
    return _as_columns([(time_ns, place, number, cell) for (time_ns, number), cell in sorted(known.items())])
