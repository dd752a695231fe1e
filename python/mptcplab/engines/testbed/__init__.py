"""The engine `testbed`: a scenario between two real machines, on each of which `mptcplab agent` plays its end
(docs/engines/testbed.md)."""

from mptcplab.engines.testbed.refusals import unsupported

__all__ = ["unsupported"]
