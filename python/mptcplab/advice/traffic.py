"""Kinds of traffic: what each is made of, and what is measured of it.

Each figure of merit is such that twice as much is twice as good: a goodput, or one over a time. The score of a run is
the logarithm of it, so that differences of scores are ratios, and a mean of scores is that of a geometric mean.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mptcplab.advice.paths import PathSpec

KINDS: Final[Mapping[str, str]] = {
    "web": "objects of 120 kB on average (Pareto, shape 1.5), each over a connection of its own, at random moments, "
    "up to four a second: typical time to load one (geometric mean)",
    "bulk": "one download of 15 s, its beginning included: goodput",
    "video": "segments of 2 s at 1, 2.5, 5, 8 or 16 Mbit/s, the most that 80 % of the best path carries, each over a "
    "connection of its own: mean time to load one",
    "calls": "a stream of 400 kbit/s that never pauses: mean delay from sender to receiver",
    "mix": "web, a download and a call at the same time: the geometric mean of the three",
}
"""What each kind is."""

_VIDEO_BPS: Final = (1e6, 2.5e6, 5e6, 8e6, 16e6)
_SEGMENT_S: Final = 2.0
_OBJECT_BYTES: Final = 120_000
_CALL_BPS: Final = 400_000


@dataclass(frozen=True, slots=True)
class Traffic:
    """The connections that are to be advised on: their applications by name, and when the run ends."""

    kind: str
    applications: Mapping[str, Mapping[str, Any]]
    """By the name of a connection, keys of its table that say what it carries."""
    duration_s: float

    def summary(self) -> str:
        """In words."""
        return KINDS.get(self.kind, "the traffic of the scenario")


def of_kind(kind: str, paths: Sequence[PathSpec], direction: str = "down") -> Traffic:
    """The traffic of a kind on these paths."""
    best_bps = max(path.down_bps if direction == "down" else path.up_bps for path in paths)
    made: dict[str, dict[str, Any]] = {}
    duration_s = 15.0
    if kind in ("web", "mix"):
        per_s = min(4.0, 0.2 * best_bps / (8 * _OBJECT_BYTES))
        made["web"] = {
            "application": {
                "kind": "flows",
                "size": {"distribution": "pareto", "mean": f"{_OBJECT_BYTES} B", "shape": 1.5},
                "arrivals": {"distribution": "poisson", "rate": f"{per_s:.6f} /s"},
            },
            "stop": "20 s" if kind == "web" else "12 s",
        }
        duration_s = 40.0 if kind == "web" else 18.0
    if kind in ("bulk", "mix"):
        made["bulk"] = {"application": "bulk"} | ({"stop": "12 s"} if kind == "mix" else {})
    if kind == "video":
        fitting = [bps for bps in _VIDEO_BPS if bps <= 0.8 * best_bps]
        size = (fitting[-1] if fitting else 0.8 * best_bps) * _SEGMENT_S / 8
        made["video"] = {
            "application": {
                "kind": "flows",
                "size": f"{max(1, round(size))} B",
                "arrivals": {"distribution": "periodic", "rate": f"{1 / _SEGMENT_S:g} /s"},
            },
            "stop": "20 s",
        }
        duration_s = 40.0
    if kind in ("calls", "mix"):
        bps = min(_CALL_BPS, round(0.3 * best_bps))
        made["call"] = {"application": {"kind": "rate", "rate": f"{bps} bit/s"}, "stop": "12 s"}
        duration_s = max(duration_s, 13.0)
    return Traffic(kind, made, duration_s)


@dataclass(frozen=True, slots=True)
class Figure:
    """What a run gave for one connection."""

    value: float
    unit: str
    """`bit/s` or `s`."""

    @property
    def merit(self) -> float:
        """Twice as much is twice as good."""
        return self.value if self.unit == "bit/s" else 1 / max(self.value, 1e-9)


def figure(description: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], duration_s: float) -> Figure:
    """Of one kind of connections: its description and the rows of the run's summary that belong to it."""
    application = description["application"]
    match application["kind"]:
        case "flows" if application["size"]["distribution"] != "constant":
            return Figure(_typical_time_s(rows, duration_s), "s")
        case "video":
            rates = [_played_bps(row["playback"], duration_s) for row in rows]
            return Figure(math.fsum(rates) / len(rates), "bit/s")
        case "flows" | "requests" | "ping" | "web" | "ftp":
            return Figure(_mean_time_s(rows, duration_s), "s")
        case "file":
            times = [_file_time_s(row, application["size_bytes"], duration_s) for row in rows]
            return Figure(math.fsum(times) / len(times), "s")
        case "rate":
            delays = [_delay_s(row, application["rate_bps"], description, duration_s) for row in rows]
            return Figure(math.fsum(delays) / len(delays), "s")
    return Figure(max(1.0, math.fsum(row["goodput_bps"] for row in rows)), "bit/s")


def _played_bps(playback: Mapping[str, Any], duration_s: float) -> float:
    """The mean bit rate of a video, less by the part of the run in which it did not play."""
    startup_s = duration_s if playback["startup_s"] is None else playback["startup_s"]
    played = max(0.01, 1 - (startup_s + playback["stalled_s"]) / duration_s)
    return float((playback["bitrate_mean_bps"] or 1.0) * played)


def _typical_time_s(rows: Sequence[Mapping[str, Any]], duration_s: float) -> float:
    """The geometric mean; one that did not end counts as long as the run.

    Where sizes differ this much (Pareto's variance is infinite with shape 1.5), the largest object of a run alone would
    decide an arithmetic mean.
    """
    times = [time for row in rows for time in row["transfers"]["completion_s"]]
    begun = sum(row["transfers"]["begun"] for row in rows)
    if begun == 0:
        return duration_s
    logarithms = math.fsum(map(math.log, times)) + (begun - len(times)) * math.log(duration_s)
    return math.exp(logarithms / begun)


def _mean_time_s(rows: Sequence[Mapping[str, Any]], duration_s: float) -> float:
    """Of all transfers that began; one that did not end counts as long as the run."""
    times = [time for row in rows for time in row["transfers"]["completion_s"]]
    begun = sum(row["transfers"]["begun"] for row in rows)
    if begun == 0:
        return duration_s
    return float((math.fsum(times) + (begun - len(times)) * duration_s) / begun)


def _file_time_s(row: Mapping[str, Any], size_bytes: int, duration_s: float) -> float:
    if row["completion_s"] is not None:
        return float(row["completion_s"])
    return float((duration_s - row["start_s"]) * size_bytes / max(1, row["bytes_delivered"]))


def _delay_s(row: Mapping[str, Any], rate_bps: int, description: Mapping[str, Any], duration_s: float) -> float:
    """Half the round trip of the path that carried a byte, and its wait for order; more where too little came through.

    The sender's own backlog is not seen, so what is missing at the end counts as if all had waited for it.
    """
    stop_s = duration_s if description["stop_ns"] is None else min(duration_s, description["stop_ns"] / 1e9)
    offered = rate_bps * max(0.0, stop_s - row["start_s"]) / 8
    way = math.fsum(subflow["share"] * (subflow["rtt_mean_s"] or 0.0) / 2 for subflow in row["subflows"])
    missing = max(0.0, 0.98 - row["bytes_delivered"] / offered) if offered else 0.0
    return max(1e-6, way + (row["out_of_order_delay_mean_s"] or 0.0) + missing * duration_s)
