"""The rows of a run's tables, made from what the core returns; `run_frames` makes data frames of them.

Whoever only writes rows down, as a worker of a sweep, need not load what makes data frames.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from mptcplab.results.columns import FRAMES, RUN_COLUMNS

Rows = list[list[object]]
"""Rows of a table; each value at the place of its column in mptcplab.results.columns, without `repeat` and `seed`."""
Named = list[dict[str, Any]]

_COLUMNS: Final = {name: tuple(column.name for column in FRAMES[name][RUN_COLUMNS:]) for name in FRAMES}
_PLAYBACK: Final = ("startup_s", "stalls", "stalled_s", "bitrate_mean_bps", "switches")
_NO_TRANSFERS: Final = {name: None for name in _COLUMNS["connections"] if name.startswith("transfer")}


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a scenario, which an outcome of the core refers to by number."""

    kinds: tuple[Mapping[str, Any], ...]
    """Of each kind of connections, the columns that say what it is."""
    paths: tuple[str, ...]
    links: tuple[str, ...]
    metered: tuple[Mapping[str, Any] | None, ...]
    """Of each link."""
    own_links: tuple[frozenset[int] | None, ...]
    """Of each kind of connections, the links on which its paths begin; None where it does not have them for itself."""

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Self:
        """Those of a complete description."""
        paths = tuple(path["name"] for path in description["paths"])
        kinds = tuple(
            {
                "name": kind["name"],
                "protocol": kind["protocol"],
                "congestion": _shown(kind["congestion"]),
                "scheduler": _shown(kind["scheduler"]) if kind["protocol"] == "mptcp" else None,
                "paths": [paths[path] for path in kind["paths"]],
            }
            for kind in description["connections"]
        )
        links = description["links"]
        return cls(
            kinds,
            paths,
            tuple(link["name"] for link in links),
            tuple(link.get("metered") for link in links),
            tuple(_own_links(description, number) for number in range(len(kinds))),
        )


def _own_links(description: Mapping[str, Any], number: int) -> frozenset[int] | None:
    """The links on which a kind's paths begin, if one connection has them for itself and each but once in a path."""
    crossed = [[description["paths"][path]["links"] for path in kind["paths"]] for kind in description["connections"]]
    begins = [links[0] for links in crossed[number] if links]
    others = {link for kind, of_kind in enumerate(crossed) if kind != number for links in of_kind for link in links} | {
        link for links in crossed[number] for link in links[1:]
    }
    alone = description["connections"][number]["count"] == 1 and not others.intersection(begins)
    return frozenset(begins) if alone and len(set(begins)) == len(begins) else None


def rows_of(name: str, names: Names, summary: Mapping[str, Any]) -> Rows:
    """The rows of one table: `connections`, `subflows` or `links`."""
    columns = _COLUMNS[name]
    return [[row[column] for column in columns] for row in _NAMED[name](names, summary)]


def named_rows(name: str, rows: Rows) -> Named:
    """Rows of a table by the names of its columns, with the types that its data frame has."""
    columns = FRAMES[name][RUN_COLUMNS:]
    return [
        {
            column.name: float(cell) if column.kind == "Float64" and isinstance(cell, int) else cell
            for column, cell in zip(columns, row, strict=True)
        }
        for row in rows
    ]


def rows_of_summary(names: Names, summary: Mapping[str, Any]) -> tuple[Rows, Rows, Rows]:
    """The rows of connections, subflows and links of one run."""
    connections, subflows, links = (rows_of(name, names, summary) for name in _NAMED)
    return connections, subflows, links


def _connections(names: Names, summary: Mapping[str, Any]) -> Named:
    return [
        {
            # What no program tells, nor a run of an earlier version.
            "notice_s": None,
            **names.kinds[row["kind"]],
            **row,
            **_transfers(row["transfers"], names.paths),
            **_playback(row.get("playback")),
            "packet_overhead": _overhead(names.own_links[row["kind"]], row["bytes_delivered"], summary["links"]),
        }
        for row in summary["connections"]
    ]


def _overhead(own: frozenset[int] | None, delivered: int | None, links: Sequence[Mapping[str, Any]]) -> float | None:
    """What all packets have beyond what was delivered, over that."""
    if own is None or not delivered or any(link.get("bytes_sent") is None for link in links):
        return None
    carried: int = sum(link["bytes_sent"] for link in links if link["link"] in own)
    return carried / delivered - 1


def _subflows(names: Names, summary: Mapping[str, Any]) -> Named:
    return [
        {
            **subflow,
            "connection": names.kinds[row["kind"]]["name"],
            "index": row["index"],
            "subflow": number,
            "path": names.paths[subflow["path"]],
        }
        for row in summary["connections"]
        for number, subflow in enumerate(row["subflows"])
    ]


def named_links(names: Names, summary: Mapping[str, Any]) -> Named:
    """What is known of each direction of each link."""
    both: dict[int, int] = {}
    for row in summary["links"]:
        both[row["link"]] = both.get(row["link"], 0) + (row.get("bytes_sent") or 0)
    return [
        {
            "bytes_sent": None,
            "dead_bytes": None,
            **row,
            **_cost(names.metered[row["link"]], row.get("bytes_sent"), both[row["link"]]),
            "name": names.links[row["link"]],
            "direction": "down" if row["down"] else "up",
        }
        for row in summary["links"]
    ]


def _cost(metered: Mapping[str, Any] | None, sent: int | None, both: int) -> dict[str, object]:
    """What one direction of a link costs; the cap is for both."""
    if metered is None or sent is None:
        return {"cost": None, "over_cap_bytes": None}
    cap = metered["cap_bytes"]
    return {
        "cost": metered["price_per_gb"] * sent / 1e9,
        "over_cap_bytes": None if cap is None else max(0, both - cap),
    }


_NAMED: Final[Mapping[str, Callable[[Names, Mapping[str, Any]], Named]]] = {
    "connections": _connections,
    "subflows": _subflows,
    "links": named_links,
}


def _transfers(transfers: Mapping[str, Any] | None, paths: Sequence[str]) -> Mapping[str, object]:
    """The columns of applications with parts, such as `requests`; null for any other."""
    if transfers is None:
        return _NO_TRANSFERS
    times = transfers["completion_s"]
    ordered = sorted(times)
    return {
        "transfers_begun": transfers["begun"],
        "transfers_complete": len(times),
        "transfer_mean_s": math.fsum(times) / len(times) if times else None,
        **{f"transfer_p{percent}_s": _percentile(ordered, percent) for percent in (50, 95, 99)},
        "transfer_times_s": times,
        "transfer_starts_s": transfers["start_s"],
        "transfer_sizes_bytes": transfers["size_bytes"],
        "transfer_sender_times_s": transfers["sender_completion_s"],
        "transfer_paths": [[paths[each["path"]] for each in used] for used in transfers["subflows"]],
        "transfer_path_bytes": [[each["bytes"] for each in used] for used in transfers["subflows"]],
        "transfer_path_segments": [[each["segments"] for each in used] for used in transfers["subflows"]],
        "transfer_timeout_times_s": [_timeout_times(used) for used in transfers["subflows"]],
    }


def _playback(playback: Mapping[str, Any] | None) -> Mapping[str, object]:
    """The columns of `video`; null for any other application."""
    return {f"video_{name}": None if playback is None else playback[name] for name in _PLAYBACK}


def _timeout_times(used: Sequence[Mapping[str, Any]]) -> list[float] | None:
    """Those of all subflows of a transfer; None where a sender does not tell."""
    if any(each["timeout_times_s"] is None for each in used):
        return None
    return sorted(time for each in used for time in each["timeout_times_s"])


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The least of the values that so many per cent of them do not exceed (nearest rank)."""
    return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else None


def _shown(named: Mapping[str, Any]) -> str:
    """An algorithm as the scenario calls it."""
    name: str = named.get("plugin", named["name"])
    return name
