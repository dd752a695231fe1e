"""Packet captures: what they say about TCP and Multipath TCP (docs/analyze.md)."""

from typing import TYPE_CHECKING

from mptcplab.capture.settings import Capture

if TYPE_CHECKING:
    from mptcplab.capture.analysis import Analysis, CaptureError, analyze
    from mptcplab.capture.bulk import analyze_folder
else:

    def __getattr__(name: str) -> object:
        """What needs data frames is loaded when it is asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from mptcplab.capture import analysis, bulk

        return getattr(bulk if name == "analyze_folder" else analysis, name)


__all__ = ["Analysis", "Capture", "CaptureError", "analyze", "analyze_folder"]
