"""Which settings sent the same packets: all that was measured of their runs is equal, to the last bit."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mptcplab.results.columns import MAX_MIN_SHARE

if TYPE_CHECKING:
    import polars as pl

_CHOSEN: Final = ("congestion", "scheduler", "cwnd_mean_segments", MAX_MIN_SHARE.name)
"""What a setting names, and the windows: a control's window may differ and not a packet with it. A share is of what
might be, not of what was measured.
"""


def alike(frames: "Mapping[str, pl.DataFrame]", settings: "Sequence[pl.Expr]") -> tuple[tuple[int, ...], ...]:
    """For each setting, an expression that picks its rows, the numbers of the others whose runs are the same.

    Compared are all columns of connections, subflows and links (counters, bytes, times of each transfer, queues, loads)
    in all runs. It is not a comparison packet by packet: `mptcplab compare --explain` makes that of two runs.
    """
    if not frames["subflows"].height:
        return ((),) * len(settings)
    runs = [[_measured(frame, of) for frame in frames.values()] for of in settings]
    groups: list[list[int]] = []
    for at, own in enumerate(runs):
        for group in groups:
            first = runs[group[0]]
            if all(one.equals(other) for one, other in zip(own, first, strict=True)):
                group.append(at)
                break
        else:
            groups.append([at])
    found: list[tuple[int, ...]] = [()] * len(settings)
    for group in groups:
        for at in group:
            found[at] = tuple(each for each in group if each != at)
    return tuple(found)


def _measured(frame: "pl.DataFrame", of: "pl.Expr") -> "pl.DataFrame":
    labels = frame.columns[: frame.columns.index("run") + 1]
    kept = [name for name in frame.columns if name not in (*labels, *_CHOSEN)]
    blocks = [name for name in ("point", "repeat") if name in labels]
    return frame.filter(of).select(*blocks, *kept)
