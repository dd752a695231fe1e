"""What a reader of a run's numbers should know and would not see in them.

That is a connection that never opened, one that stays far below what TCP would get on one of its paths, and seeds that
end in several stable states.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Row = Mapping[str, Any]

_HEADERS_BYTES: Final = 40
_TIMESTAMPS_BYTES: Final = 12
_FAR_BELOW: Final = 0.5
"""Of what TCP would get: a slow start or an oscillating window alone do not take so much."""
_ROUND_TRIPS: Final = 100
"""A connection that was measured for less may still be growing."""
_WAITED_S: Final = 1.0
_FEWEST_SEEDS: Final = 8
"""With fewer nothing is said about states, and what looks for them is not loaded."""
_LARGEST_WINDOW_BYTES: Final = 3 << 20
"""Of a receive buffer that grows by itself: half of its memory."""


def of(description: Mapping[str, Any], rows: Mapping[str, Sequence[Row]], notes: Sequence[str] = ()) -> list[str]:
    """The remarks on a run's rows (`connections` and `subflows`); `description` is the scenario's.

    On a connection that failed, which `notes` say, there are none.
    """
    kinds = {kind["name"]: kind for kind in description["connections"]}
    found: list[str] = []
    for row in rows["connections"]:
        # On the engine model nothing starts or fails.
        kind = kinds.get(row["name"]) if row["start_s"] is not None else None
        if kind is not None and not any(note.startswith(f"{row['name']} {row['index']} failed") for note in notes):
            found += _unopened(description, kind, row)
            used = {each["path"] for each in rows["subflows"] if each["connection"] == row["name"]}
            if len(used) > 1:
                found += _far_below(description, kind, row)
    return found


def of_seeds(rows: Sequence[Row]) -> Iterator[str]:
    """The remarks on the rows of `connections` of several runs, each with its `repeat`.

    For each kind of connections there is one value a run, their mean: the time of the transfer where all were whole,
    otherwise the goodput.
    """
    runs = sorted({row["repeat"] for row in rows})
    if len(runs) < _FEWEST_SEEDS:
        return
    import numpy as np

    from mptcplab.results import states

    kinds = list(dict.fromkeys(row["name"] for row in rows))
    words, values = [], []
    for kind in kinds:
        own = [row for row in rows if row["name"] == kind]
        whole = all(row["completion_s"] is not None for row in own)
        key, unit, times = ("completion_s", "s", 1.0) if whole else ("goodput_bps", "Mbit/s", 1e-6)
        told = [[row[key] for row in own if row["repeat"] == run and row[key] is not None] for run in runs]
        words.append((kind, "completion" if whole else "goodput", unit))
        values.append([times * sum(each) / len(each) if each else np.nan for each in told])
    for (kind, what, unit), found in zip(words, states.of_settings(np.array(values)), strict=True):
        if len(found) > 1:
            told_of = " and ".join(f"{each.mean:.3g} {unit} in {each.runs}" for each in found)
            yield f"{kind}: several stable states, {what} {told_of} seeds; the mean describes neither"


def _unopened(description: Mapping[str, Any], kind: Mapping[str, Any], row: Row) -> Iterator[str]:
    waited_s = description["duration_ns"] / 1e9 - row["start_s"]
    waits = kind["application"]["kind"] in ("bulk", "file", "rate") and row["bytes_delivered"] == 0
    if waits and row["establishment_s"] is None and row["completion_s"] is None and waited_s > _WAITED_S:
        yield f"{row['name']} {row['index']} did not open within {waited_s:.3g} s"


def _far_below(description: Mapping[str, Any], kind: Mapping[str, Any], row: Row) -> Iterator[str]:
    """Of a transfer of Multipath TCP that has links for itself which do not change."""
    if row["protocol"] != "mptcp" or row["goodput_bps"] is None or kind["application"]["kind"] not in ("bulk", "file"):
        return
    if kind["count"] > 1 or kind["stop_ns"] is not None or len(kind["paths"]) < 2 or description["events"]:
        return
    if "reading" in kind:
        return  # the receiver's application may set the rate
    best = max(((_alone(description, kind, path, row), path) for path in kind["paths"]), default=(0.0, 0))
    if row["goodput_bps"] < _FAR_BELOW * best[0]:
        name = description["paths"][best[1]]["name"]
        yield (
            f"{row['name']} got {row['goodput_bps'] / 1e6:.3g} Mbit/s over {len(kind['paths'])} paths, where TCP over "
            f"{name} alone has room for {best[0] / 1e6:.3g}; mptcplab advise FILE says which paths and settings to use"
        )


def _alone(description: Mapping[str, Any], kind: Mapping[str, Any], path: int, row: Row) -> float:
    """The goodput in bit/s that TCP would get on a path that nobody else uses; 0 where that is not known."""
    used = description["paths"][path]
    others = [each["paths"] for each in description["connections"] if each is not kind]
    crossed = {link for paths in others for other in paths for link in description["paths"][other]["links"]}
    if crossed.intersection(used["links"]):
        return 0.0
    rates, delay_ns = [], 0
    for number in used["links"]:
        link = description["links"][number]
        ways = ("down", "up")
        if link["medium"] is not None or link["middleboxes"] or any(_varies(link[way]) for way in ways):
            return 0.0
        delay_ns += sum(link[way]["delay_ns"] for way in ways)
        # A path may cross a link backwards.
        backwards = number in used["reversed"]
        rates.append(link[ways[(kind["direction"] == "up") != backwards]]["rate_bps"])
    measured_s = description["duration_ns"] / 1e9 - max(row["start_s"], description["warmup_ns"] / 1e9)
    if row["completion_s"] is not None:
        measured_s = min(measured_s, row["completion_s"])
    if not rates or measured_s < _ROUND_TRIPS * delay_ns / 1e9:
        return 0.0
    segment = kind["mss_bytes"] - _TIMESTAMPS_BYTES
    by_rate = min(rates) * segment / (kind["mss_bytes"] + _HEADERS_BYTES)
    window = kind["receive_buffer_bytes"] or _LARGEST_WINDOW_BYTES
    return float(min(by_rate, window * 8e9 / delay_ns if delay_ns else by_rate))


def _varies(direction: Mapping[str, Any]) -> bool:
    """Whether a link's direction has losses, a trace, a shaper or anything else that bounds TCP below its rate."""
    drop_tail = direction["queue"]["kind"] == "drop-tail"
    return (
        direction["trace"] is not None
        or direction["loss"]["kind"] != "none"
        or not drop_tail
        or "shaper" in direction
        or "disorder" in direction
    )
