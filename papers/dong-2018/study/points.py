"""The points of §6 that are also run with real packets, by item; items with the same points share their runs."""

from collections.abc import Mapping
from typing import Final

from .bundles import Bundle, Point
from .testbed import lossy
from .wireless import LINKS

_CLEAN: Final = Bundle(
    [
        Point(f"{kb} KB, 20 and {rtt} ms", {"kb": kb, "ways": ({"rate": 8, "rtt": 20}, {"rate": 8, "rtt": rtt})})
        for kb in (16, 256)
        for rtt in (20, 60, 100)
    ],
    spacing_s=3,
    seconds=5,
    seeds=3,
    quick=True,
)
_LOSSY: Final = Bundle(
    [
        Point(f"256 KB, {loss:.0%} lost", {"kb": 256, "ways": lossy(loss)}, lanes=4, transfers=5)
        for loss in (0.01, 0.03)
    ],
    spacing_s=3.5,
    seconds=21,
    seeds=2,
    quick=True,
)
_LONG: Final = Bundle(
    [Point(f"8 MB, {rate} Mbit/s", {"kb": 8192, "ways": lossy(0.03, rate)}, lanes=4) for rate in (2, 20)],
    spacing_s=1,
    seconds=75,
    seeds=1,
)
_BUSY: Final = Bundle(
    [
        Point(f"64 KB, {name}", {"kb": 64, "ways": LINKS[name], "background": 10}, transfers=10)
        for name in ("WLAN+3G", "3G+3G")
    ],
    spacing_s=3,
    seconds=38,
    seeds=1,
)

BUNDLES: Final[Mapping[str, Bundle]] = {
    "figure-27": _CLEAN,
    "figure-28": _LOSSY,
    "table-4": _LOSSY,
    "figure-29": _LONG,
    "figure-30": _LONG,
    "figure-31": _BUSY,
    "figure-32": _BUSY,
    "figure-33": _BUSY,
    "figure-34": _BUSY,
}
"""In all three minutes of real time; half a minute in a quick repetition."""
