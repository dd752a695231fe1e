"""Installed programs (iperf3, curl, …), run on the hosts of the engine `linux` and measured from outside.

Nothing is loaded before it is asked for: what is refused needs none of it.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from mptcplab.engines.linux.programs.outcome import Told, tell
    from mptcplab.engines.linux.programs.play import Programs
    from mptcplab.engines.linux.programs.process import CONTAINERS
else:
    from mptcplab.deferred import deferred as _deferred

    _HOMES = {"CONTAINERS": "process", "Programs": "play", "Told": "outcome", "tell": "outcome"}
    __getattr__ = _deferred(__name__, _HOMES)

__all__ = ["CONTAINERS", "Programs", "Told", "tell"]
