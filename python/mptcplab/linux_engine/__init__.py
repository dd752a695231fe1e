"""The engine `linux`: the kernel's Multipath TCP in network namespaces, over emulated links (docs/engines/linux.md)."""

from mptcplab.linux_engine.engine import run
from mptcplab.linux_engine.refusals import unsupported

__all__ = ["run", "unsupported"]
