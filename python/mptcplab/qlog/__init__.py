"""What the connections of a run decided, as `mptcplab run --trace` wrote it: reading it, and saying it in words."""

from mptcplab.qlog.reading import Event, Trace, TraceFileError, find, read

__all__ = ["Event", "Trace", "TraceFileError", "find", "read"]
