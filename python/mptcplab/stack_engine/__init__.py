"""The engine `stack`: our own transport at both ends, real packets over emulated links (docs/engines/stack.md)."""

from mptcplab.stack_engine.engine import run
from mptcplab.stack_engine.peer import NAMES, Peer
from mptcplab.stack_engine.refusals import unsupported

__all__ = ["NAMES", "Peer", "run", "unsupported"]
