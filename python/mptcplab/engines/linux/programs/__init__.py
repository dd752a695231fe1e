"""Installed programs (iperf3, curl, …), run on the hosts of the engine `linux` and measured from outside."""

from mptcplab.engines.linux.programs.outcome import Told, tell
from mptcplab.engines.linux.programs.play import Programs
from mptcplab.engines.linux.programs.process import CONTAINERS

__all__ = ["CONTAINERS", "Programs", "Told", "tell"]
