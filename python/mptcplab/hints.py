"""`; did you mean "rate"?`: the name that was probably meant. Nothing is loaded for it that loads slowly."""

import json
from collections.abc import Iterable
from typing import Final

_MEANT: Final = {
    "bandwidth": "rate",
    "capacity": "rate",
    "speed": "rate",
    "throughput": "rate",
    "latency": "delay",
    "propagation": "delay",
    "rtt": "delay",
    "buffer": "queue",
    "drop": "loss",
    "cc": "congestion",
    "congestion_control": "congestion",
    "algorithm": "congestion",
    "subflows": "paths",
    "links": "paths",
    "time": "duration",
    "interval": "sample",
}
"""What others call a key."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean "rate"?` when a known name is near, else nothing."""
    lowered = {candidate.lower().replace("_", "-"): candidate for candidate in names}
    meant = _MEANT.get(name.lower().replace("-", "_"))
    if meant is not None and meant in lowered:
        return f"; did you mean {json.dumps(meant)}?"
    import difflib

    near = difflib.get_close_matches(name.lower().replace("_", "-"), lowered, n=1, cutoff=0.6)
    return f"; did you mean {json.dumps(lowered[near[0]], ensure_ascii=False)}?" if near else ""
