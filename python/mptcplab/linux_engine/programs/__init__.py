"""Programs that are there already (iperf3, curl, …), run on the hosts of the engine `linux`, measured from beside."""

from mptcplab.linux_engine.programs.outcome import Told, tell
from mptcplab.linux_engine.programs.play import Programs
from mptcplab.linux_engine.programs.process import CONTAINERS

__all__ = ["CONTAINERS", "Programs", "Told", "tell"]
