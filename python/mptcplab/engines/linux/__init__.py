"""The engine `linux`: the kernel's Multipath TCP in network namespaces, over emulated links (docs/engines/linux.md)."""

from mptcplab.engines.linux.engine import run
from mptcplab.engines.linux.refusals import unsupported

__all__ = ["run", "unsupported"]
