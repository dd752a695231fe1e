"""What a guest gives back: a JSON document, and behind it the samples as the bytes of arrays."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from mptcplab.engines.linux.hosts import Played

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FLOAT: Final = "<f8"
_INTEGER: Final = "<u4"
TYPES: Final[Mapping[str, Mapping[str, str]]] = {
    "subflow_samples": {
        "time_s": _FLOAT,
        "connection": _INTEGER,
        "subflow": _INTEGER,
        "goodput_bps": _FLOAT,
        "cwnd_segments": _FLOAT,
        "srtt_s": _FLOAT,
        "in_flight_segments": _INTEGER,
    },
    "link_samples": {
        "time_s": _FLOAT,
        "link": _INTEGER,
        "queue_packets": _INTEGER,
        "queue_bytes": "<u8",
        "utilization": _FLOAT,
        "drops": _INTEGER,
    },
}
"""The columns of each, in the order in which they are written."""


def pack(played: Played) -> bytes:
    """Everything of a run in one piece: a line of JSON, then the columns one after another."""
    parts = []
    lengths: dict[str, dict[str, int]] = {}
    assert not played.outcome["subflow_samples"].get("own"), "the kernel's controls declare no columns"
    for group, columns in TYPES.items():
        lengths[group] = {}
        for name in columns:
            column = played.outcome[group][name]
            data = column if isinstance(column, bytes) else column.tobytes()
            lengths[group][name] = len(data)
            parts.append(data)
    document = {**asdict(played), "outcome": {"summary": played.outcome["summary"]}, "lengths": lengths}
    return b"".join([json.dumps(document).encode(), b"\n", *parts])


def unpack(data: bytes) -> Played:
    """The same again, with arrays."""
    line, _, rest = data.partition(b"\n")
    document = json.loads(line)
    lengths = document.pop("lengths")
    outcome: dict[str, Any] = document.pop("outcome")
    at = 0
    for group, columns in TYPES.items():
        outcome[group] = {}
        for name, kind in columns.items():
            length = lengths[group][name]
            outcome[group][name] = _array(rest[at : at + length], kind)
            at += length
    outcome["subflow_samples"]["own"] = {}
    if at != len(rest):
        raise ValueError(f"{len(rest) - at} bytes more than the columns have")
    return Played(outcome=outcome, **document)


def _array(data: bytes, kind: str) -> "NDArray[np.generic]":
    import numpy as np  # not in a guest

    # A copy, which may be written to as those of the core.
    return np.frombuffer(data, dtype=kind).copy()
