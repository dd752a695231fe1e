"""The engine `sim`: our own TCP and Multipath TCP in virtual time, packet by packet."""

from mptcplab.engines.sim.engine import run, unsupported

__all__ = ["run", "unsupported"]
