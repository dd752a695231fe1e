"""The engine `linux`: the kernel's Multipath TCP in network namespaces, over emulated links (docs/engines/linux.md)."""

from mptcplab.engines.linux.refusals import unsupported

__all__ = ["unsupported"]
