"""Packet captures: what they say about TCP and Multipath TCP (docs/analyze.md)."""

from mptcplab.capture.analysis import Analysis, CaptureError, analyze

__all__ = ["Analysis", "CaptureError", "analyze"]
