"""Which subflows a scenario's hosts open, without its traffic: `mptcplab paths`."""

from mptcplab.paths.pasted import PastedError, pasted
from mptcplab.paths.play import Opened, play

__all__ = ["Opened", "PastedError", "pasted", "play"]
