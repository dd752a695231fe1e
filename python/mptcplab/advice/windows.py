"""Whether Linux's default receive buffer limits what the paths could carry, and which buffer would not."""

import math
from collections.abc import Mapping
from typing import Final

from mptcplab.advice.question import AUTO_WINDOW_BYTES, Question
from mptcplab.advice.subsets import Reach, goodput_bound_bps

_FACTOR: Final = 2.0
"""RFC 6182 §5.3: twice the rate of all paths over the longest round trip."""
_LARGEST: Final = 2**29
_BUSY: Final = ("bulk", "mix", "scenario")
_BINDS: Final = 0.98


def wanted(question: Question, known: Mapping[str, Reach] | None) -> int:
    """A receive window in bytes for all paths, a power of two; 0 where the default is enough, or a size was given."""
    sizes = [each["receive_buffer_bytes"] for each in question.told_connections() if each["name"] in question.targets]
    if known is None or any(size is not None for size in sizes) or question.traffic.kind not in _BUSY:
        return 0
    paths = list(known.values())
    if goodput_bound_bps(paths, AUTO_WINDOW_BYTES) >= _BINDS * goodput_bound_bps(paths, math.inf):
        return 0
    needed = _FACTOR * sum(path.rate_bps for path in paths) * max(path.rtt_s for path in paths) / 8
    return int(min(_LARGEST, 2 ** math.ceil(math.log2(needed))))
