"""Packet captures: what they say about TCP and Multipath TCP (docs/analyze.md).

What needs data frames is loaded when it is asked for.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from mptcplab.capture.settings import Capture

if _TYPE_CHECKING:
    from mptcplab.capture.analysis import Analysis, CaptureError, analyze
    from mptcplab.capture.bulk import analyze_folder
else:
    from mptcplab.deferred import deferred as _deferred

    _HOMES = {
        "Analysis": "analysis",
        "CaptureError": "analysis",
        "analyze": "analysis",
        "analyze_folder": "bulk",
    }
    __getattr__ = _deferred(__name__, _HOMES)


__all__ = ["Analysis", "Capture", "CaptureError", "analyze", "analyze_folder"]
