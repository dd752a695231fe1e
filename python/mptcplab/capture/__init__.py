"""Packet captures: what they say about TCP and Multipath TCP (docs/analyze.md)."""

from mptcplab.capture.analysis import Analysis, CaptureError, analyze
from mptcplab.capture.settings import Capture

__all__ = ["Analysis", "Capture", "CaptureError", "analyze"]
