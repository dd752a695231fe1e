"""Kinds of traffic: what each is made of, and what is measured of it.

Each figure of merit is such that twice as much is twice as good: a goodput, or one over a time. The score of a run is
the logarithm of it, so that differences of scores are ratios, and a mean of scores is that of a geometric mean.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

KINDS: Final[Mapping[str, str]] = {
    "web": "three pages of 1.9 MB in 53 objects (a median page of 2024), over up to six connections at once: "
    "mean time to load a page",
    "bulk": "one transfer of 15 s, including its start: goodput",
    "video": "a video of 30 s at 1, 2.5, 5, 8 or 16 Mbit/s, which the player chooses by its buffer: mean bit rate, "
    "multiplied by the fraction of the time during which it plays",
    "calls": "1 kB every 20 ms (400 kbit/s), each answered by the same amount: mean time until the answer has arrived",
    "mix": "web, a download and a call at the same time: the geometric mean of the three",
}
"""What each kind is."""
DOWNLOADS: Final = ("web", "video", "calls", "mix")
"""Kinds in which the client asks and the server sends."""

_PAGE: Final[tuple[Mapping[str, Any], ...]] = (
    {"size": "18 kB"},
    {"size": "13 kB", "count": 6},
    {"size": "25.5 kB", "count": 24},
    {"size": "32.75 kB", "count": 4, "after": 1},
    {"size": "58.5 kB", "count": 18},
)
"""A document, 78 kB of style sheets, 612 kB of scripts, 131 kB of fonts that the first style sheet asks for, 1,053 kB
of images.

A median page for desktops in October 2024: HTTP Archive, Web Almanac 2024, chapter "Page Weight"; the chapter has the
numbers of scripts and images, those of style sheets and fonts are ours."""
PAGE_BYTES: Final = 18_000 + 6 * 13_000 + 24 * 25_500 + 4 * 32_750 + 18 * 58_500
_PAGES: Final = 3
_LADDER: Final = ("1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s", "8 Mbit/s", "16 Mbit/s")
VIDEO_BPS: Final = 16e6
"""The best quality of the video."""
MIX_RUNS_ON: Final = 1.5
"""A run of a mix, by how long anything new is asked for."""
_CALL_BPS: Final = 400_000
_CALL_EVERY_S: Final = 0.02


_MEASURED: Final[Mapping[str, str]] = {
    "video": "mean bit rate, multiplied by the fraction of the time during which it plays",
    "ping": "mean time until the answer has arrived",
    "requests": "mean time until the answer has arrived",
    "web": "mean time to load a page",
    "flows": "mean time of a transfer",
    "ftp": "mean time of a transfer",
    "file": "time of the transfer",
    "rate": "mean delay",
}
"""By application of a scenario file what is compared; goodput of the others."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """The connections that are to be advised on: their applications by name, and when the run ends."""

    kind: str
    applications: Mapping[str, Mapping[str, Any]]
    """By the name of a connection, keys of its table that say what it carries."""
    duration_s: float
    application: str = ""
    """Of the connection of a scenario file, its kind."""

    def summary(self) -> str:
        """In words: what is carried, and what is measured of it."""
        if self.kind in KINDS:
            return KINDS[self.kind]
        return f"{self.application} for {self.duration_s:g} s: {_MEASURED.get(self.application, 'goodput')}"

    @property
    def title(self) -> str:
        """Its kind, or the connection of a scenario file."""
        return self.kind if self.kind in KINDS else f"connection {next(iter(self.applications))}"


def of_kind(kind: str, rates_bps: tuple[float, float]) -> Traffic:
    """The traffic of a kind, by the fastest path's rate in the direction of the data and in the other.

    On slow paths a run takes three times as long as the pages need on the fastest.
    """
    best_bps = rates_bps[0]
    page_s = 8 * PAGE_BYTES / best_bps
    web: dict[str, Any] = {"kind": "web", "objects": [dict(each) for each in _PAGE]}
    call = {"application": _call(min(_CALL_BPS, 0.3 * min(rates_bps))), "stop": "12 s"}
    match kind:
        case "web":
            duration_s = max(30.0, math.ceil(3 * _PAGES * page_s))
            return Traffic(kind, {"web": {"application": {**web, "pages": _PAGES}}}, duration_s)
        case "bulk":
            return Traffic(kind, {"bulk": {"application": "bulk"}}, 15.0)
        case "video":
            video = {"kind": "video", "ladder": list(_LADDER), "segment": "2 s", "buffer": "20 s"}
            return Traffic(kind, {"video": {"application": video}}, 30.0)
        case "calls":
            return Traffic(kind, {"call": call}, 13.0)
    stop_s = max(12.0, math.ceil(2 * page_s))
    parts: dict[str, dict[str, Any]] = {"web": {"application": web}, "bulk": {"application": "bulk"}, "call": call}
    return Traffic(
        kind, {name: {**table, "stop": f"{stop_s:g} s"} for name, table in parts.items()}, MIX_RUNS_ON * stop_s
    )


def _call(bps: float) -> dict[str, Any]:
    """Messages of a call, which has as many bit/s each way."""
    size = max(1, round(bps * _CALL_EVERY_S / 8))
    return {"kind": "ping", "size": f"{size} B", "interval": f"{_CALL_EVERY_S * 1e3:g} ms"}


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
    end_s = duration_s if description["stop_ns"] is None else min(duration_s, description["stop_ns"] / 1e9)
    match application["kind"]:
        case "flows" if application["size"]["distribution"] != "constant":
            return Figure(_typical_time_s(rows, duration_s), "s")
        case "video":
            rates = [_played_bps(row["playback"], duration_s) for row in rows]
            return Figure(math.fsum(rates) / len(rates), "bit/s")
        case "ping":
            every_s = application["interval_ns"] / 1e9
            return Figure(_ongoing_time_s(rows, end_s, lambda last_s, _, place: last_s + place * every_s), "s")
        case "requests":
            return Figure(_ongoing_time_s(rows, end_s, lambda last_s, took_s, _: last_s + took_s), "s")
        case "web" if application["pages"] is None:
            pause_s = application["think_ns"] / 1e9
            return Figure(_ongoing_time_s(rows, end_s, lambda last_s, took_s, _: last_s + took_s + pause_s), "s")
        case "flows" | "web" | "ftp":
            return Figure(_mean_time_s(rows, duration_s), "s")
        case "file":
            times = [_file_time_s(row, application["size_bytes"], duration_s) for row in rows]
            return Figure(math.fsum(times) / len(times), "s")
        case "rate":
            delays = [_delay_s(row, application["rate_bps"], description, duration_s) for row in rows]
            return Figure(math.fsum(delays) / len(delays), "s")
    # Without a goodput a connection has not opened by the end.
    return Figure(max(1.0, math.fsum(row["goodput_bps"] or 0.0 for row in rows)), "bit/s")


def _played_bps(playback: Mapping[str, Any], duration_s: float) -> float:
    """The mean bit rate of a video, multiplied by the fraction of the run during which it played."""
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


def _ongoing_time_s(
    rows: Sequence[Mapping[str, Any]], end_s: float, begin_s: Callable[[float, float, int], float]
) -> float:
    """Of what is asked for until the end. What the end overtook counts what the others took, or what it has waited.

    Counted as long as the run, it would decide the mean by whether something happens to be under way at the end.
    `begin_s` says when a part began from when the last one that ended began, what that took, and the place after it.
    """
    times = []
    for row in rows:
        parts = row["transfers"]
        ended = parts["completion_s"]
        missing = parts["begun"] - len(ended)
        if not ended:
            times += [end_s] * missing
            continue
        usual_s = math.fsum(ended) / len(ended)
        last_s, took_s = max(zip(parts["start_s"], ended, strict=True))
        times += ended
        times += [max(usual_s, end_s - begin_s(last_s, took_s, place)) for place in range(1, missing + 1)]
    return math.fsum(times) / len(times) if times else end_s


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
