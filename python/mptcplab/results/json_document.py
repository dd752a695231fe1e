"""The JSON document of a Result (docs/results.md): one run plain, several as a list with a summary."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mptcplab.results.result import Result, Run

NamedRows = list[dict[str, Any]]
"""Rows of a table by the names of the columns."""

_SUBFLOW_KEYS = (
    "path",
    "goodput_bps",
    "share",
    "segments_sent",
    "retransmissions",
    "timeouts",
    "reinjections",
    "loss_rate",
    "rtt_mean_s",
    "cwnd_mean_segments",
)


def build(result: "Result", *, samples_file: str | None) -> dict[str, Any]:
    """The whole document. `seed` is the first run's."""
    head = {
        "title": result.scenario.title,
        "engine": result.engine,
        "seed": result.provenance.seed,
        "duration_s": result.scenario.duration_ns / 1e9,
        "provenance": result.provenance.to_dict(),
        "notes": list(result.notes),
        "failures": list(result.failures),
    }
    tail = {"samples": samples_file}
    if result.provenance.repeat == 1:
        return head | _one(result.runs[0][1]) | tail
    runs = [
        {
            "repeat": number,
            "seed": run.seed,
            "notes": list(run.notes),
            "failures": list(run.failures),
            **_one(run),
        }
        for number, run in result.runs
    ]
    return head | {"runs": runs, "summary": _summary(result)} | tail


def _one(run: "Run") -> dict[str, Any]:
    subflows: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in run.rows("subflows"):
        subflow = {key: _plain(row[key]) for key in _SUBFLOW_KEYS}
        subflows.setdefault((row["connection"], row["index"]), []).append(subflow)
    connections = [
        {
            **{key: _plain(row[key]) for key in ("name", "index", "protocol", "congestion", "scheduler", "paths")},
            **{key: _plain(row[key]) for key in ("start_s", "goodput_bps", "bytes_delivered", "completion_s")},
            **{key: _plain(row[key]) for key in ("longest_silence_s", "notice_s", "packet_overhead")},
            "out_of_order_delay_s": {
                "mean": _plain(row["out_of_order_delay_mean_s"]),
                "p95": _plain(row["out_of_order_delay_p95_s"]),
            },
            "fallback": row["fallback"],
            "transfers": _transfers(row),
            "video": _video(row),
            "subflows": subflows.get((row["name"], row["index"]), []),
        }
        for row in run.rows("connections")
    ]
    links = [{key: _plain(value) for key, value in row.items()} for row in run.rows("links")]
    rows = {"connections": connections, "links": links}
    return rows if run.live is None else rows | {"live": run.live}


def _transfers(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Requests and flows together; each of them is in the frame."""
    if row["transfers_begun"] is None:
        return None
    counts = {"begun": row["transfers_begun"], "complete": row["transfers_complete"]}
    return counts | {key: _plain(row[f"transfer_{key}"]) for key in ("mean_s", "p50_s", "p95_s", "p99_s")}


def _video(row: Mapping[str, Any]) -> dict[str, Any] | None:
    if row["video_stalls"] is None:
        return None
    names = ("startup_s", "stalls", "stalled_s", "bitrate_mean_bps", "switches")
    return {name: _plain(row[f"video_{name}"]) for name in names}


def _summary(result: "Result") -> dict[str, Any]:
    return {
        "connections": _over_runs(result.rows("connections"), ["name", "index"], ["goodput_bps", "completion_s"]),
        "subflows": _over_runs(
            result.rows("subflows"),
            ["connection", "index", "subflow", "path"],
            ["goodput_bps", "share", "loss_rate", "rtt_mean_s"],
        ),
        "links": _over_runs(
            result.rows("links"), ["name", "direction"], ["utilization", "loss_rate", "queue_mean_packets"]
        ),
    }


def _over_runs(rows: NamedRows, keys: list[str], values: list[str]) -> list[dict[str, Any]]:
    """Mean and sample standard deviation over the runs, and how many runs had a value."""
    return [
        {
            **{key: row[key] for key in keys},
            **{
                value: {
                    "mean": _plain(row[f"{value}:mean"]),
                    "sd": _plain(row[f"{value}:sd"]),
                    "runs": row[f"{value}:runs"],
                }
                for value in values
            },
        }
        for row in over_runs(rows, keys, values)
    ]


def over_runs(rows: NamedRows, keys: Sequence[str], values: Sequence[str]) -> NamedRows:
    """Per group of `keys`: `value:mean`, `value:sd` (n − 1; null for one run) and `value:runs`, which count no null."""
    groups: dict[tuple[Any, ...], NamedRows] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = []
    for group in groups.values():
        of_group = {key: group[0][key] for key in keys}
        for value in values:
            given = [row[value] for row in group if row[value] is not None]
            mean = math.fsum(given) / len(given) if given else None
            spread = None if mean is None or len(given) < 2 else math.fsum((each - mean) ** 2 for each in given)
            of_group[f"{value}:mean"] = mean
            of_group[f"{value}:sd"] = None if spread is None else math.sqrt(spread / (len(given) - 1))
            of_group[f"{value}:runs"] = len(given)
        found.append(of_group)
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a data frame holds
    """JSON knows no NaN and no infinity: both are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
