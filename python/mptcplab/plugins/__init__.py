"""Algorithms of your own: classes in a file that a scenario names, or in an installed package (docs/plugins.md).

>>> from mptcplab.plugins import Rule, Subflows
>>> class Gentle(Rule):
...     def __init__(self, *, beta: float = 0.7) -> None:
...         self.beta = beta
...
...     def increase(self, subflows: Subflows, r: int) -> float:
...         return 1 / subflows[r].cwnd
...
...     def decrease(self, subflows: Subflows, r: int) -> float:
...         return self.beta * subflows[r].cwnd
"""

from mptcplab._core import Ack, Context, Counters, Demand, RttSample, Subflow, Subflows
from mptcplab.errors import PluginError, PluginLoadError
from mptcplab.plugins.base import (
    AddressAdded,
    AddressEchoed,
    AddressRemoved,
    Announce,
    Bind,
    Carried,
    Close,
    Column,
    CongestionControl,
    FullyEstablished,
    Join,
    LocalAddress,
    LocalAddressAdded,
    LocalAddressRemoved,
    Pass,
    PathAction,
    PathContext,
    PathEvent,
    PathManager,
    Penalise,
    Plugin,
    RemoteAddress,
    Repeat,
    Rule,
    Scheduler,
    Send,
    SetBackup,
    SubflowClosed,
    SubflowEstablished,
    Timer,
    Wait,
    WakeAt,
    Window,
    Withdraw,
)

__all__ = [
    "Ack",
    "AddressAdded",
    "AddressEchoed",
    "AddressRemoved",
    "Announce",
    "Bind",
    "Carried",
    "Close",
    "Column",
    "CongestionControl",
    "Context",
    "Counters",
    "Demand",
    "FullyEstablished",
    "Join",
    "LocalAddress",
    "LocalAddressAdded",
    "LocalAddressRemoved",
    "Pass",
    "PathAction",
    "PathContext",
    "PathEvent",
    "PathManager",
    "Penalise",
    "Plugin",
    "PluginError",
    "PluginLoadError",
    "RemoteAddress",
    "Repeat",
    "RttSample",
    "Rule",
    "Scheduler",
    "Send",
    "SetBackup",
    "Subflow",
    "SubflowClosed",
    "SubflowEstablished",
    "Subflows",
    "Timer",
    "Wait",
    "WakeAt",
    "Window",
    "Withdraw",
]
