"""The engine `stack`: our own transport at both ends, real packets over emulated links (docs/engines/stack.md)."""

from mptcplab.engines.stack.peer import unsupported

__all__ = ["unsupported"]
